//! `cargo xtask test`: every check a change has to pass, cheapest first, stopping at the first failure.

use std::time::Instant;

use anyhow::Result;

use crate::place::{PEERS_VARIABLE, Place};
use crate::postgres::{self, Postgres};
use crate::{process, setup};

/// One cargo command of the checks.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    /// Variables that only this command needs.
    environment: &'static [(&'static str, &'static str)],
    /// Whether a PostgreSQL runs while it does.
    has_postgres: bool,
    /// What a person does when it fails.
    remedy: &'static str,
}

const STEPS: &[Step] = &[
    Step {
        name: "format",
        arguments: &["fmt", "--all", "--check"],
        environment: &[],
        has_postgres: false,
        remedy: "Run `cargo fmt --all`",
    },
    Step {
        name: "lints",
        arguments: &[
            "clippy",
            "--workspace",
            "--all-features",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ],
        environment: &[],
        has_postgres: false,
        remedy: "Change the code as the lints above say",
    },
    Step {
        name: "documentation",
        arguments: &[
            "doc",
            "--all-features",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ],
        environment: &[("RUSTDOCFLAGS", "-D warnings")],
        has_postgres: false,
        remedy: "Correct the doc comments named above",
    },
    // The product tests start the program itself. The whole workspace is built, because the features that cargo then
    // settles on are those of the test build and nothing is compiled twice.
    Step {
        name: "build",
        arguments: &["build", "--workspace", "--all-features", "--bins"],
        environment: &[],
        has_postgres: false,
        remedy: "Correct the errors above",
    },
    Step {
        name: "tests",
        arguments: &["test", "--workspace", "--all-features"],
        environment: &[],
        has_postgres: true,
        remedy: "Run the failed test alone with the command cargo prints above",
    },
];

pub(crate) fn run_all() -> Result<()> {
    let place = Place::find()?;
    let started = Instant::now();
    announced("set-up", || setup::run(&place))?;
    for step in STEPS {
        announced(step.name, || run_step(step, &place))?;
    }
    println!(
        "==> all checks passed in {:.1} s",
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn run_step(step: &Step, place: &Place) -> Result<()> {
    let mut command = process::cargo(&place.root);
    command
        .args(step.arguments)
        .env(PEERS_VARIABLE, &place.peers)
        .envs(step.environment.iter().copied());
    // Stopped at the end of this function, whatever comes of the step.
    let postgres = step
        .has_postgres
        .then(|| Postgres::start(place))
        .transpose()?;
    if let Some(postgres) = &postgres {
        command.env(postgres::VARIABLE, postgres.url());
    }
    let meaning = format!("the step `{}` failed", step.name);
    process::explain(process::run(&mut command), &meaning, step.remedy)
}

fn announced(name: &str, step: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("==> {name}");
    let started = Instant::now();
    let outcome = step();
    let word = if outcome.is_ok() { "done" } else { "failed" };
    println!(
        "<== {name}: {word} after {:.1} s",
        started.elapsed().as_secs_f64()
    );
    outcome
}
