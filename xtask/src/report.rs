//! What `cargo test` printed, read for the tests that failed and the tests that did not run.

/// Tests that failed or did not run, of all test programs.
#[derive(Debug, Default)]
pub(crate) struct TestReport {
    /// Failed tests with their program, and programs that cargo calls failed.
    pub(crate) failed: Vec<String>,
    /// Tests that did not run with their program, and why.
    pub(crate) not_run: Vec<String>,
    program: String,
    list: List,
}

/// List that the following indented lines belong to.
#[derive(Debug, Default)]
enum List {
    #[default]
    None,
    /// The failures of a program: once with what they printed, then by name alone.
    Failures(Vec<String>),
    /// The failed programs, at the end of all.
    Programs,
}

impl TestReport {
    /// Reads one more line.
    pub(crate) fn read(&mut self, line: &str) {
        if let Some(program) = program(line) {
            self.program = program;
        } else if line == "failures:" {
            self.list = List::Failures(Vec::new());
        } else if line.starts_with("test result:") {
            if let List::Failures(names) = std::mem::take(&mut self.list) {
                let names = names.iter().map(|name| format!("{} {name}", self.program));
                self.failed.extend(names);
            }
        } else if line.starts_with("error: ") && line.ends_with(" failed:") {
            self.list = List::Programs;
        } else if let Some(entry) = line.strip_prefix("    ") {
            match &mut self.list {
                List::Failures(names) => names.push(entry.trim().to_owned()),
                List::Programs => self
                    .failed
                    .push(format!("cargo test {}", entry.trim().trim_matches('`'))),
                List::None => {}
            }
        } else if let Some((name, reason)) = not_run(line) {
            self.not_run
                .push(format!("{} {name}: {reason}", self.program));
        }
    }
}

/// Name of the test program that cargo is about to run.
fn program(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(package) = line.strip_prefix("Doc-tests ") {
        return Some(format!("{package} (documentation)"));
    }
    let (_, path) = line.strip_prefix("Running ")?.rsplit_once('(')?;
    let file = path.trim_end_matches(')').rsplit('/').next()?;
    Some(
        file.rsplit_once('-')
            .map_or(file, |(name, _)| name)
            .to_owned(),
    )
}

/// Name of a test that was not run, and why: `ignored, reason` is what the harness of the language prints, `ignored
/// (reason)` what that of the other test programs does.
fn not_run(line: &str) -> Option<(&str, &str)> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ignored")?;
    let reason = outcome.trim_start_matches([',', ' ', '(']);
    Some((name.trim_end(), reason.trim_end_matches(')')))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r"
   Compiling mcpproxy v0.1.0
     Running unittests src/lib.rs (target/debug/deps/mcpproxy_activity-806fd5e7727af4a8)

running 2 tests
test postgres::tests::indexes ... ignored, needs PostgreSQL
test other ... ok

test result: ok. 1 passed; 0 failed; 1 ignored

     Running tests/peers/main.rs (/somewhere/debug/deps/peers-7d49e37d7aefa737)

test cards::alone   ... ignored (needs the peers)
test cards::gateway ... FAILED
test menu           ... FAILED

failures:

---- cards::gateway ----
    indented output of the test
test panicked: wrong

failures:
    cards::gateway
    menu

test result: FAILED. 0 passed; 2 failed; 1 ignored

   Doc-tests mcpproxy_contract

failures:

failures:
    crates/contract/src/lib.rs - (line 3)

test result: FAILED. 0 passed; 1 failed

error: 2 targets failed:
    `-p mcpproxy-tests --test peers`
    `-p mcpproxy-contract --doc`
";

    #[test]
    fn all_failures_and_all_that_did_not_run_are_found() {
        let mut report = TestReport::default();
        OUTPUT.lines().for_each(|line| report.read(line));
        assert_eq!(
            report.failed,
            [
                "peers cards::gateway",
                "peers menu",
                "mcpproxy_contract (documentation) crates/contract/src/lib.rs - (line 3)",
                "cargo test -p mcpproxy-tests --test peers",
                "cargo test -p mcpproxy-contract --doc",
            ]
        );
        assert_eq!(
            report.not_run,
            [
                "mcpproxy_activity postgres::tests::indexes: needs PostgreSQL",
                "peers cards::alone: needs the peers",
            ]
        );
    }

    #[test]
    fn a_program_that_died_without_a_word_is_found() {
        let mut report = TestReport::default();
        for line in [
            "     Running tests/cli/main.rs (target/debug/deps/cli-0)",
            "test one ... ok",
            "error: 1 target failed:",
            "    `-p mcpproxy-tests --test cli`",
        ] {
            report.read(line);
        }
        assert_eq!(report.failed, ["cargo test -p mcpproxy-tests --test cli"]);
    }
}
