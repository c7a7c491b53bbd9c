//! What the disk itself takes: one block written and flushed, nothing else.
//!
//! The yardstick for everything durable, measured in turns with it. Must never leave a flush out.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::stats::Samples;

/// What is written at a time.
const BLOCK: [u8; 4096] = [0x5a; 4096];
/// The length of the file that is written over, in blocks.
const BLOCKS: u64 = 256;

/// Two files on the measured disk.
#[derive(Debug)]
pub(crate) struct Disk {
    growing: File,
    blocks: u64,
    fixed: File,
    next: u64,
    times: Flushes,
}

/// Nanoseconds of each write with its flush.
#[derive(Debug, Default)]
struct Flushes {
    appended: Vec<u64>,
    overwritten: Vec<u64>,
}

/// How long one write with its flush took, in two ways.
#[derive(Debug)]
pub(crate) struct Flush {
    /// At the end of a file, which then is longer: what a new log does.
    pub(crate) appended: Samples,
    /// Over blocks that are already there: what a log does that uses its file again, as SQLite's.
    pub(crate) overwritten: Samples,
}

impl Disk {
    /// Makes the files.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let open = |name| {
            OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .open(folder.join(name))
        };
        let fixed = open("fixed")?;
        for block in 0..BLOCKS {
            fixed.write_all_at(&BLOCK, block * block_length())?;
        }
        fixed.sync_all()?;
        Ok(Self {
            growing: open("growing")?,
            blocks: 0,
            fixed,
            next: 0,
            times: Flushes::default(),
        })
    }

    /// Writes and flushes for so long, in both ways by turns.
    pub(crate) fn slice(&mut self, length: Duration) -> io::Result<()> {
        let until = Instant::now() + length;
        while Instant::now() < until {
            let time = flush(&self.growing, self.blocks * block_length())?;
            self.times.appended.push(time);
            self.blocks += 1;
            let time = flush(&self.fixed, self.next * block_length())?;
            self.times.overwritten.push(time);
            self.next = (self.next + 1) % BLOCKS;
        }
        Ok(())
    }

    /// What was measured since the last time this was asked.
    pub(crate) fn take(&mut self) -> Flush {
        let times = std::mem::take(&mut self.times);
        Flush {
            appended: Samples::new(times.appended),
            overwritten: Samples::new(times.overwritten),
        }
    }
}

fn flush(file: &File, position: u64) -> io::Result<u64> {
    let began = Instant::now();
    file.write_all_at(&BLOCK, position)?;
    file.sync_data()?;
    Ok(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))
}

fn block_length() -> u64 {
    u64::try_from(BLOCK.len()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::P50;

    #[test]
    fn one_file_grows_and_the_other_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = Disk::new(folder.path()).unwrap();
        assert!(disk.take().appended.percentile(P50).is_none());
        disk.slice(Duration::from_millis(1)).unwrap();
        let flush = disk.take();
        assert!(flush.appended.percentile(P50).is_some());
        assert!(flush.overwritten.percentile(P50).is_some());
        let length = |file: &File| file.metadata().unwrap().len();
        assert_eq!(length(&disk.growing), disk.blocks * 4096);
        assert_eq!(length(&disk.fixed), BLOCKS * 4096);
    }
}
