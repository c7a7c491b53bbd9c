//! The record of what agents did.
