//! Where the output of runs is kept, by its own digest.

use crate::domain::digest::Digest;

/// A store of byte strings, each under its digest. What is loaded is what was stored, or an error.
pub trait Artifacts {
    /// Keeps `bytes` durably before it returns. Storing the same bytes again changes nothing and costs a read.
    fn store(&self, bytes: &[u8]) -> Result<Digest, ArtifactError>;

    /// The bytes with this digest, if they are at most `max_bytes` long.
    fn load(&self, digest: &Digest, max_bytes: u64) -> Result<Vec<u8>, ArtifactError>;
}

#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// Pruned, or never stored here: another clone may have it.
    #[error("there is no artifact `{0}` here")]
    Missing(Digest),
    /// The file is there and is not what was stored. It is left for a person to look at.
    #[error("the artifact `{digest}` is damaged: {why}")]
    Corrupt { digest: Digest, why: String },
    #[error("the artifact `{digest}` has {bytes} bytes and the limit is {max_bytes}")]
    TooLarge { digest: Digest, bytes: u64, max_bytes: u64 },
    /// The file system said no: full, read-only, not permitted.
    #[error("the artifact store failed at `{path}`: {why}")]
    Storage { path: String, why: String },
}
