//! Stacks of panics, for the log.
//!
//! A panic is caught after its stack is gone. So the stack is taken by a hook, which goes on to the hook that was there
//! before.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::panic::{set_hook, take_hook};
use std::sync::Once;

use crate::ToolError;

thread_local! {
    /// Stack of the last panic of this thread.
    static STACK: Cell<Option<Backtrace>> = const { Cell::new(None) };
}

/// Has every panic of the process leave its stack from now on.
pub(super) fn keep_stacks() {
    static ONCE: Once = Once::new();
    // A thread that panics cannot change the hook; the next service does.
    if std::thread::panicking() {
        return;
    }
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            STACK.set(Some(Backtrace::force_capture()));
            before(panic);
        }));
    });
}

/// Panic of this thread as an error: its message and its stack go to the log.
pub(super) fn panicked(panic: &(dyn std::any::Any + Send)) -> ToolError {
    let said = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let error = ToolError::internal(format!("the tool panicked: {said}"));
    match STACK.take() {
        Some(stack) => error.with_backtrace(stack),
        None => error,
    }
}
