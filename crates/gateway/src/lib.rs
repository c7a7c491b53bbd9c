//! The gateway: settings, one call in a straight line, and the tools of its menu.

pub mod settings;
