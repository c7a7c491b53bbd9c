//! What a process has used, as the kernel counts it under `/proc`.
//!
//! Reading only. Must never guess: a value that cannot be read is an error or absent, not zero.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;

/// Processor time and memory of one process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessUse {
    /// User and system time of all its threads.
    pub(crate) processor: Duration,
    /// Its memory.
    pub(crate) memory: Memory,
}

/// Memory of one process, in kibibytes as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    /// All pages in memory, shared ones counted in full (`VmRSS`).
    pub(crate) resident: u64,
    /// The same with shared pages divided among those who share them (`Pss`), where the kernel lets us read it.
    pub(crate) proportional: Option<u64>,
}

impl ProcessUse {
    /// Reads the use of the process with this id.
    pub(crate) fn read(id: u32) -> anyhow::Result<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat"))?;
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        // Not every kernel and container lets this one be read.
        let rollup = fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok();
        let ticks = processor_ticks(&stat).context("No processor time in /proc/<pid>/stat")?;
        Ok(Self {
            processor: ticks_to_time(ticks, rustix::param::clock_ticks_per_second()),
            memory: Memory {
                resident: kibibytes(&status, "VmRSS:").context("No VmRSS in /proc/<pid>/status")?,
                proportional: rollup.and_then(|rollup| kibibytes(&rollup, "Pss:")),
            },
        })
    }
}

/// `utime` plus `stime`, the 14th and 15th field.
fn processor_ticks(stat: &str) -> Option<u64> {
    // The second field is the name in parentheses and may itself contain spaces and parentheses.
    let (_, after_name) = stat.rsplit_once(") ")?;
    // The first field after the name is the third of the line.
    let mut fields = after_name.split(' ').skip(14 - 3);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    user.checked_add(system)
}

fn ticks_to_time(ticks: u64, per_second: u64) -> Duration {
    let nanoseconds = ticks.saturating_mul(1_000_000_000) / per_second.max(1);
    Duration::from_nanos(nanoseconds)
}

fn kibibytes(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(name))?
        .trim()
        .strip_suffix("kB")?
        .trim_end()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_found_behind_any_name() {
        for name in ["mcpproxy", "a b", "x) R 1 (y"] {
            let line = format!("42 ({name}) S 1 2 3 4 5 6 7 8 9 10 700 55 0 0 20 0");
            assert_eq!(processor_ticks(&line), Some(755), "{line}");
        }
        assert_eq!(processor_ticks("42 (short) S 1 2"), None);
        assert_eq!(processor_ticks(""), None);
    }

    #[test]
    fn ticks_become_time() {
        assert_eq!(ticks_to_time(755, 100), Duration::from_millis(7_550));
        assert_eq!(ticks_to_time(1, 250), Duration::from_millis(4));
    }

    #[test]
    fn memory_lines_are_read_by_their_whole_name() {
        let rollup = "00400000-7ffd [rollup]\nRss:   900 kB\nPss_Anon:  1 kB\nPss:        512 kB\n";
        assert_eq!(kibibytes(rollup, "Pss:"), Some(512));
        assert_eq!(kibibytes(rollup, "VmRSS:"), None);
        assert_eq!(kibibytes("VmRSS:\t   12 MB\n", "VmRSS:"), None);
    }

    #[test]
    fn own_process_can_be_read() {
        let usage = ProcessUse::read(std::process::id()).unwrap();
        assert!(usage.memory.resident > 0);
    }
}
