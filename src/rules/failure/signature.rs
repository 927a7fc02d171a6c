//! One digest for a set of failures.

use std::collections::BTreeSet;

use crate::domain::digest::Digest;
use crate::domain::failure::Item;

/// Digests the sorted distinct identities: the order of items and repeats do not matter.
pub fn signature(items: &[Item]) -> String {
    let identities: BTreeSet<String> = items.iter().map(Item::identity).collect();
    let mut bytes = Vec::new();
    for identity in &identities {
        bytes.extend_from_slice(identity.as_bytes());
        bytes.push(0x1e);
    }
    Digest::of(&bytes).hex().to_owned()
}

/// Digests one text, for names that would be too long.
pub(super) fn digest(text: &str) -> String {
    Digest::of(text.as_bytes()).hex().to_owned()
}
