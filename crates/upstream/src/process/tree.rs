//! Processes of this machine, who started whom, and how long each has computed (Linux).

use std::collections::HashMap;
use std::fs;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::lock;

/// Process that can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeenProcess {
    pub(super) pid: i32,
    parent: i32,
    /// Processor time of it and of the children that it has outlived, in ticks of the system.
    ticks: u64,
}

/// Table of all processes, read anew when it is too old: servers that start at the same time share it.
#[derive(Debug, Default)]
pub(crate) struct ProcessTable(Mutex<Option<(Instant, Vec<SeenProcess>)>>);

impl ProcessTable {
    /// Processor time of a process and of all below it, from a table of at most this age. Reads `/proc`, so it blocks.
    pub(crate) fn processor_time(&self, ancestor: u32, oldest: Duration) -> Option<u64> {
        let ancestor = i32::try_from(ancestor).ok()?;
        let mut table = lock(&self.0);
        let known = table.take();
        let (read, processes) = known
            .filter(|(read, _)| read.elapsed() < oldest)
            .unwrap_or_else(|| (Instant::now(), processes()));
        let ticks = processes.iter().find(|one| one.pid == ancestor)?.ticks;
        let below = below(&processes, ancestor);
        let ticks = below
            .iter()
            .fold(ticks, |sum, one| sum.wrapping_add(one.ticks));
        *table = Some((read, processes));
        Some(ticks)
    }
}

/// Every process below one of them, parents before children.
pub(super) fn below(processes: &[SeenProcess], ancestor: i32) -> Vec<SeenProcess> {
    let mut children: HashMap<i32, Vec<SeenProcess>> = HashMap::new();
    for process in processes {
        children.entry(process.parent).or_default().push(*process);
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        if let Some(below) = children.remove(&process.pid) {
            found.extend(below);
        }
        next += 1;
    }
    found
}

/// Every process that can be seen.
pub(super) fn processes() -> Vec<SeenProcess> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            SeenProcess::parse(pid, &stat)
        })
        .collect()
}

impl SeenProcess {
    /// Process that its line of `/proc/PID/stat` describes.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        // The name in parentheses may contain anything, so what counts comes after the last one: state, parent, and
        // at places 11 to 14 the times of its own and of its children, each in user and in system mode.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let times = fields.skip(9).take(4).map_while(|time| time.parse().ok());
        let ticks = times.fold(0, u64::wrapping_add);
        Some(Self { pid, parent, ticks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parent_and_times_are_found_behind_any_name() {
        let stat = "7 (a) b) (c) S 3 7 7 0 -1 4194560 90 12 0 0 100 20 3 4 20 0 1 0 555 1000 2\n";
        let expected = SeenProcess {
            pid: 7,
            parent: 3,
            ticks: 127,
        };
        assert_eq!(SeenProcess::parse(7, stat), Some(expected));
        assert_eq!(SeenProcess::parse(7, "7 (x"), None);
        assert_eq!(SeenProcess::parse(7, ""), None);
    }

    #[test]
    fn processes_below_one_are_found_parents_first() {
        let process = |pid, parent| SeenProcess {
            pid,
            parent,
            ticks: 1,
        };
        let all = [
            process(4, 3),
            process(3, 2),
            process(9, 8),
            process(2, 1),
            process(5, 2),
        ];
        let below: Vec<i32> = below(&all, 2).iter().map(|one| one.pid).collect();
        assert_eq!(below, [3, 5, 4]);
    }

    #[test]
    fn a_process_that_computes_is_seen_to_do_so() {
        let table = ProcessTable::default();
        let own = std::process::id();
        let before = table.processor_time(own, Duration::ZERO).expect("it runs");
        let mut sum = 0_u64;
        // Ticks are long, so this goes on until one is over.
        while table.processor_time(own, Duration::ZERO) == Some(before) {
            sum = (0..1_000_000_u64).fold(sum, |sum, one| sum ^ one.wrapping_mul(sum | 1));
        }
        assert_eq!(table.processor_time(0, Duration::ZERO), None, "{sum}");
    }
}
