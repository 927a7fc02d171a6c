//! `kctl init` and `kctl uninstall` on real repositories: plans made from what git says, carried out on the disk, and
//! judged by what a real `git push` does.
#![expect(clippy::disallowed_methods, reason = "a test arranges and inspects the real world")]

mod in_place;
mod redirected;
mod tools;
mod whole;
mod world;
