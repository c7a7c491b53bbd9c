//! Protection from others: users of the network, and users of this machine.

pub(super) mod exposure;
pub(super) mod private_files;
pub mod secret_files;
