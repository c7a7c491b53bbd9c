//! HTTP and stdio faces of the gateway.
