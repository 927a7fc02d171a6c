//! The `kctl` program: its doors are not built yet.

fn main() {}
