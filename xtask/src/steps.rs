//! `cargo xtask test`: every check a change has to pass, cheapest first.
//!
//! A check that fails does not keep the others from running: what failed and what did not run is listed at the end.

use std::time::Instant;

use anyhow::{Result, bail};

use crate::place::{PEERS_VARIABLE, Place};
use crate::postgres::{self, Postgres};
use crate::report::TestReport;
use crate::{dependencies, process, setup};

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
    // The program as people build it, without what only tests switch on.
    Step {
        name: "lints of the program",
        arguments: &["clippy", "--", "-D", "warnings"],
        environment: &[],
        has_postgres: false,
        remedy: "Change the code as the lints above say",
    },
    Step {
        name: "lints of the program without search by meaning",
        arguments: &[
            "clippy",
            "--no-default-features",
            "--features",
            "demo",
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
            "--keep-going",
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
        // What is marked to be ignored needs what there is here.
        arguments: &[
            "test",
            "--workspace",
            "--all-features",
            "--no-fail-fast",
            "--",
            "--include-ignored",
        ],
        environment: &[],
        has_postgres: true,
        remedy: "Run a failed test alone with the command of its program and its name behind it",
    },
];

/// What came of the checks.
#[derive(Debug, Default)]
struct Summary {
    failed: Vec<String>,
    not_run: Vec<String>,
}

impl Summary {
    /// Announces a check, runs it and notes its failure; whether it passed.
    fn check(&mut self, name: &str, check: impl FnOnce(&mut Self) -> Result<()>) -> bool {
        println!("==> {name}");
        let started = Instant::now();
        let outcome = check(self);
        let word = if outcome.is_ok() { "done" } else { "failed" };
        println!(
            "<== {name}: {word} after {:.1} s",
            started.elapsed().as_secs_f64()
        );
        if let Err(error) = &outcome {
            self.failed.push(format!("{name}: {error:#}"));
        }
        outcome.is_ok()
    }

    fn print(&self) {
        for (title, lines) in [("did not run", &self.not_run), ("failed", &self.failed)] {
            if !lines.is_empty() {
                println!("==> {title}:\n    {}", lines.join("\n    "));
            }
        }
    }
}

pub(crate) fn run_all() -> Result<()> {
    let place = Place::find()?;
    let started = Instant::now();
    let mut summary = Summary::default();
    let has_peers = summary.check("set-up", |_| setup::run(&place));
    summary.check("dependencies", |summary| {
        summary.not_run.extend(dependencies::check(&place)?);
        Ok(())
    });
    for step in STEPS {
        let passed = summary.check(step.name, |summary| {
            run_step(step, &place, has_peers, summary)
        });
        if step.name == "build" && !passed {
            summary.not_run.push("tests: the build failed".to_owned());
            break;
        }
    }
    summary.print();
    let seconds = started.elapsed().as_secs_f64();
    if !summary.failed.is_empty() {
        bail!("not everything passed, after {seconds:.1} s; see the list above");
    }
    println!("==> all checks passed in {seconds:.1} s");
    Ok(())
}

fn run_step(step: &Step, place: &Place, has_peers: bool, summary: &mut Summary) -> Result<()> {
    let mut command = process::cargo(&place.root);
    command
        .args(step.arguments)
        .envs(step.environment.iter().copied())
        .env_remove(PEERS_VARIABLE);
    // Without them, tests that need them say that they were not run.
    if has_peers {
        command.env(PEERS_VARIABLE, &place.peers);
    }
    // Stopped at the end of this function, whatever comes of the step.
    let postgres = step
        .has_postgres
        .then(|| Postgres::start(place))
        .transpose()?;
    if let Some(postgres) = &postgres {
        command.env(postgres::VARIABLE, postgres.url());
    }
    let mut report = TestReport::default();
    let outcome = if step.name == "tests" {
        process::run_read(&mut command, |line| report.read(line))
    } else {
        process::run(&mut command)
    };
    summary.failed.append(&mut report.failed);
    summary.not_run.append(&mut report.not_run);
    let meaning = format!("the step `{}` failed", step.name);
    process::explain(outcome, &meaning, step.remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_check_is_listed_and_the_next_one_runs() {
        let mut summary = Summary::default();
        assert!(!summary.check("first", |_| bail!("wrong. Do better")));
        assert!(summary.check("second", |summary| {
            summary.not_run.push("part of it".to_owned());
            Ok(())
        }));
        assert_eq!(summary.failed, ["first: wrong. Do better"]);
        assert_eq!(summary.not_run, ["part of it"]);
    }
}
