//! Tests of programs that report what could not run.
//!
//! A test that finds that this machine lacks what it needs calls [`not_run`] and is listed as ignored, with the reason;
//! the harness of the language would count it as passed. A module names its tests with `trials!`, and the `main` of its
//! program hands the lists of all modules to [`run`]. A test that is in no list is dead code, which the lints refuse.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use libtest_mimic::{Arguments, Completion, Failed};

/// One test, to be run or to be found impossible.
pub type Trial = libtest_mimic::Trial;

/// Payload of the unwinding that ends a test which cannot run.
struct NotRun(String);

thread_local! {
    static IS_TRIAL: Cell<bool> = const { Cell::new(false) };
}

/// The list `trials()` of the named tests of a module.
#[macro_export]
macro_rules! trials {
    ($($test:ident),+ $(,)?) => {
        pub(crate) fn trials() -> Vec<$crate::Trial> {
            vec![$($crate::trial(module_path!(), stringify!($test), $test)),+]
        }
    };
}

/// Test of this name, below its module as the harness of the language would name it.
pub fn trial<T: Future<Output = ()>>(
    module: &str,
    name: &str,
    test: impl FnOnce() -> T + Send + 'static,
) -> Trial {
    let full = format!("{module}::{name}");
    let below = full.split_once("::").map_or("", |(_, below)| below);
    Trial::ignorable_test(below, move || completed(test))
}

/// Runs the tests that the command line chooses; what a test program with trials does and no more.
pub fn run(modules: impl IntoIterator<Item = Vec<Trial>>) {
    let trials = modules.into_iter().flatten().collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Ends the current test, which needs what is not there. Outside of a trial it fails.
pub(crate) fn not_run(needs: &str) -> ! {
    assert!(IS_TRIAL.get(), "this needs {needs}");
    resume_unwind(Box::new(NotRun(format!("needs {needs}"))));
}

fn completed<T: Future<Output = ()>>(test: impl FnOnce() -> T) -> Result<Completion, Failed> {
    IS_TRIAL.set(true);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(test())));
    let Err(payload) = outcome else {
        return Ok(Completion::Completed);
    };
    match payload.downcast::<NotRun>() {
        Ok(reason) => Ok(Completion::ignored_with(reason.0)),
        Err(panic) => resume_unwind(panic),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_without_what_it_needs_is_ignored_and_says_why() {
        let outcome = completed(async || not_run("a database"));
        let reason = match outcome {
            Ok(Completion::Ignored { reason }) => reason,
            _ => None,
        };
        assert_eq!(reason.as_deref(), Some("needs a database"));
        assert!(matches!(completed(async || {}), Ok(Completion::Completed)));
    }

    #[test]
    fn a_test_that_fails_fails() {
        let failed = catch_unwind(|| completed(async || resume_unwind(Box::new("wrong"))));
        let payload = failed.err().expect("it unwinds");
        assert_eq!(payload.downcast_ref(), Some(&"wrong"));
    }

    #[test]
    fn names_are_those_of_the_modules() {
        let named = trial("storage::disk::full", "is_told", async || {});
        assert_eq!(named.name(), "disk::full::is_told");
        assert_eq!(trial("log", "is_told", async || {}).name(), "is_told");
    }
}
