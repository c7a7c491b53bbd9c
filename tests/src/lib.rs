//! Tests of the whole product over real sockets and processes.
