//! The log as the gateway uses it, on both engines: nothing lost, nothing altered unseen.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

/// The named tests of a module, each on a fresh place of every engine.
macro_rules! engine_trials {
    ($($test:ident),+ $(,)?) => {
        pub(crate) fn engine_trials() -> Vec<mcpproxy_tests::Trial> {
            vec![$(
                mcpproxy_tests::trial(module_path!(), concat!(stringify!($test), "::sqlite"), async || {
                    $test($crate::support::Place::sqlite()).await;
                }),
                mcpproxy_tests::trial(module_path!(), concat!(stringify!($test), "::postgres"), async || {
                    $test($crate::support::Place::postgres().await).await;
                }),
            )+]
        }
    };
}

mod failing;
mod following;
mod migrating;
mod recording;
mod retention;
mod support;
mod tampering;

fn main() {
    mcpproxy_tests::run([
        failing::trials(),
        tampering::trials(),
        following::engine_trials(),
        migrating::engine_trials(),
        recording::engine_trials(),
        retention::engine_trials(),
        tampering::engine_trials(),
    ]);
}
