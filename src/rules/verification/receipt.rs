//! Receipts: statements of others that a criterion holds, signed by a key that the accepted base names (I7).
//!
//! The signature is OpenSSH's (`ssh-keygen -Y sign -n kctl`), so that teams use the keys and the file of allowed signers
//! that git's own signing uses.

use serde::Deserialize;
use ssh_key::{PublicKey, SshSig};

use crate::domain::contract::CriterionId;
use crate::domain::digest::Digest;
use crate::domain::id::Oid;
use crate::domain::run::{Candidate, Verdict};

use super::proofs::Finding;

/// Where the base lists who may sign, one a line: names, options, key.
pub const SIGNERS_PATH: &str = ".decapod/allowed_signers";
/// What a signature is made for; one that was made for something else counts for nothing.
pub const NAMESPACE: &str = "kctl";

/// What is signed, as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    criterion: CriterionId,
    /// Digest of the contract that the signer had before them.
    contract: Digest,
    /// The commit that it is about.
    commit: Oid,
    verdict: Verdict,
    #[serde(default)]
    says: Option<String>,
}

/// What a receipt has to be about.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub criterion: &'a CriterionId,
    pub contract: &'a Digest,
    pub candidate: &'a Candidate,
    /// The signer that the criterion names.
    pub signer: Option<&'a str>,
}

/// Verifies `statement` and says who signed it and what it finds.
///
/// # Errors
/// The field that is wrong, and why.
pub fn verify(
    statement: &str,
    signature: &str,
    signers: &str,
    about: About<'_>,
) -> Result<(String, Finding), (&'static str, String)> {
    let signature =
        SshSig::from_pem(signature.trim()).map_err(|why| ("signature", format!("it cannot be read: {why}")))?;
    let signer = signer(statement, &signature, signers)?;
    if let Some(named) = about.signer.filter(|named| !signer.iter().any(|name| name == named)) {
        let words = format!("`{}` signed it, and the criterion asks for `{named}`", signer.join(","));
        return Err(("signature", words));
    }
    let said: Statement =
        serde_json::from_str(statement).map_err(|why| ("statement", format!("it is no statement: {why}")))?;
    if said.criterion != *about.criterion {
        return Err(("statement", format!("it is about `{}`, not `{}`", said.criterion, about.criterion)));
    }
    if said.contract != *about.contract {
        return Err(("statement", "it is about another contract: the digest differs".to_owned()));
    }
    if about.candidate.head.as_ref() != Some(&said.commit) || !about.candidate.clean {
        let words = format!("it is about commit {}, and that is not exactly what lies here", said.commit.short());
        return Err(("statement", words));
    }
    let reasons = said.says.into_iter().collect();
    Ok((signer.join(","), Finding { verdict: said.verdict, reasons }))
}

/// The names of the key that made `signature`, if the base lists it.
fn signer(statement: &str, signature: &SshSig, signers: &str) -> Result<Vec<String>, (&'static str, String)> {
    let unknown = || ("signature", format!("its key is not among the base's signers in `{SIGNERS_PATH}`"));
    let (names, key) = signers
        .lines()
        .filter_map(listed)
        .find(|(_, key)| key.key_data() == signature.public_key())
        .ok_or_else(unknown)?;
    match key.verify(NAMESPACE, statement.as_bytes(), signature) {
        Ok(()) => Ok(names),
        Err(why) => Err(("signature", format!("it does not fit the statement: {why}"))),
    }
}

/// One line of allowed signers. A line that cannot be read lists nobody, and so does one with options: what they would
/// narrow is not judged here.
fn listed(line: &str) -> Option<(Vec<String>, PublicKey)> {
    let line = line.trim();
    if line.starts_with('#') {
        return None;
    }
    let (names, key) = line.split_once(char::is_whitespace)?;
    Some((names.split(',').map(str::to_owned).collect(), PublicKey::from_openssh(key.trim()).ok()?))
}
