//! Chain files: how far each chain goes, beside the database.
//!
//! Whoever removes the newest records leaves a chain that is whole, only shorter; this file
//! tells. It is written after each commit, so it is never ahead of the database, and a process
//! that writes a chain holds a lock on its file, so no two ever write the same one.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::ChainHead;
use crate::record::Hash;

/// The folder of the files, in the data directory.
const FOLDER: &str = "chains";

const SUFFIX: &str = ".head";

/// Most bytes of a file that are looked at.
const MOST_BYTES: usize = 1_000;

/// Times that a line is read which is not whole, and the pause before each but the first.
const READ_ATTEMPTS: usize = 20;
const READ_PAUSE: Duration = Duration::from_millis(2);

/// The role of a chain that turned out not to match the database; nobody continues it.
const SET_ASIDE: &str = "broken";

/// Role of whoever writes a chain: each has chain files of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogRole {
    /// The daemon.
    Daemon,
    /// A command that runs a gateway of its own.
    #[default]
    Command,
}

/// Chain files of a data directory.
#[derive(Debug, Clone)]
pub(crate) struct ChainFiles {
    folder: PathBuf,
}

/// Content of a chain file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChainFileContent {
    /// The chain.
    pub(crate) chain: Uuid,
    /// Last link of the chain.
    pub(crate) head: ChainHead,
    /// Whether its writer stopped in order, so that nothing can have come after.
    pub(crate) is_closed: bool,
    /// Whether the file could be read.
    pub(crate) is_readable: bool,
}

/// Chain that this process alone writes.
#[derive(Debug)]
pub(crate) struct ClaimedChain {
    file: File,
    path: PathBuf,
    /// Content of the file when the chain was claimed, or as it was last saved.
    pub(crate) content: ChainFileContent,
}

// === impl LogRole ===

impl LogRole {
    fn as_str(self) -> &'static str {
        match self {
            Self::Daemon => "serve",
            Self::Command => "command",
        }
    }
}

// === impl ChainFiles ===

impl ChainFiles {
    /// The files of a data directory.
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self {
            folder: data_dir.join(FOLDER),
        }
    }

    /// Takes a chain of that role that nobody writes, or begins one.
    pub(crate) fn claim(&self, role: LogRole) -> io::Result<ClaimedChain> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        for (path, chain) in self.files(Some(role))? {
            let file = not_through_links().write(true).open(&path)?;
            if file.try_lock().is_ok() {
                let content = read(&file, chain);
                return Ok(ClaimedChain {
                    file,
                    path,
                    content,
                });
            }
        }
        self.begin(role)
    }

    /// Begins a chain.
    pub(crate) fn begin(&self, role: LogRole) -> io::Result<ClaimedChain> {
        let chain = Uuid::now_v7();
        let path = self
            .folder
            .join(format!("{}-{chain}{SUFFIX}", role.as_str()));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.try_lock().map_err(io::Error::other)?;
        let content = ChainFileContent {
            chain,
            head: ChainHead::EMPTY,
            is_closed: false,
            is_readable: true,
        };
        let mut claim = ClaimedChain {
            file,
            path,
            content,
        };
        // Written at once: later only bytes that are there change, which needs no space.
        claim.save(ChainHead::EMPTY)?;
        Ok(claim)
    }

    /// Contents of all files.
    pub(crate) fn read_all(&self) -> io::Result<Vec<ChainFileContent>> {
        let files = self.files(None)?.into_iter();
        files
            .map(|(path, chain)| Ok(read(&not_through_links().open(path)?, chain)))
            .collect()
    }

    /// Files of a role, or of all, with their chains in the order of their names: of one role, the
    /// oldest chain first.
    fn files(&self, role: Option<LogRole>) -> io::Result<Vec<(PathBuf, Uuid)>> {
        if self.folder.is_symlink() {
            let message = format!("{FOLDER} in the data directory is a symbolic link");
            return Err(io::Error::other(message));
        }
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if let Some((found, chain)) = name_of(&path)
                && role.is_none_or(|role| role.as_str() == found)
            {
                files.push((path, chain));
            }
        }
        files.sort_unstable();
        Ok(files)
    }
}

/// Options to read a file that is there itself, and no link to another one.
fn not_through_links() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    options
}

/// The role and the chain that the name of a file says.
fn name_of(path: &Path) -> Option<(&str, Uuid)> {
    let name = path.file_name()?.to_str()?.strip_suffix(SUFFIX)?;
    let (role, chain) = name.split_once('-')?;
    Some((role, Uuid::try_parse(chain).ok()?))
}

/// Reads a file, once more where its line was being written just then.
fn read(file: &File, chain: Uuid) -> ChainFileContent {
    let parsed = (0..READ_ATTEMPTS).find_map(|attempt| {
        if attempt > 0 {
            std::thread::sleep(READ_PAUSE);
        }
        let mut line = [0; MOST_BYTES];
        let length = file.read_at(&mut line, 0).ok()?;
        parse(std::str::from_utf8(&line[..length]).ok()?)
    });
    let (head, is_closed) = parsed.unwrap_or((ChainHead::EMPTY, false));
    ChainFileContent {
        chain,
        head,
        is_closed,
        is_readable: parsed.is_some(),
    }
}

/// Content of a line; nothing if it is not whole.
fn parse(line: &str) -> Option<(ChainHead, bool)> {
    let mut words = line.split_whitespace();
    let head = ChainHead {
        seq: words.next()?.parse().ok()?,
        hash: Hash::from_hex(words.next()?)?,
    };
    let state = words.next()?;
    let is_closed = match state {
        "open" => false,
        "closed" => true,
        _ => return None,
    };
    // Lines of earlier versions have no check.
    let is_whole = words
        .next()
        .is_none_or(|check| check == check_of(head, state));
    is_whole.then_some((head, is_closed))
}

/// Check of a line: a read beside a write may find the beginning of one line and the end of another.
fn check_of(head: ChainHead, state: &str) -> String {
    let digest = Sha256::digest(format!("{} {} {state}", head.seq, head.hash));
    data_encoding::HEXLOWER.encode(&digest[..4])
}

// === impl ClaimedChain ===

impl ClaimedChain {
    /// Saves how far the chain goes.
    pub(crate) fn save(&mut self, head: ChainHead) -> io::Result<()> {
        self.write(head, "open")?;
        self.content.head = head;
        self.content.is_closed = false;
        Ok(())
    }

    /// Saves that nothing comes after.
    pub(crate) fn close(self) -> io::Result<()> {
        self.write(self.content.head, "closed")?;
        self.file.sync_all()
    }

    /// Leaves the file as it is, for a person to look at, and the chain to nobody.
    pub(crate) fn set_aside(self) -> io::Result<()> {
        let name = format!("{SET_ASIDE}-{}{SUFFIX}", self.content.chain);
        std::fs::rename(&self.path, self.path.with_file_name(name))
    }

    /// Writes the end in place and in one length, so that a crash leaves the old line or the new one.
    fn write(&self, head: ChainHead, state: &str) -> io::Result<()> {
        let check = check_of(head, state);
        let line = format!("{:020} {} {state:<6} {check}\n", head.seq, head.hash);
        self.file.write_all_at(line.as_bytes(), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_one_writer_and_its_file_tells_how_far_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let files = ChainFiles::new(folder.path());
        let mut first = files.claim(LogRole::Daemon).unwrap();
        let second = files.claim(LogRole::Daemon).unwrap();
        let other = files.claim(LogRole::Command).unwrap();
        assert_ne!(first.content.chain, second.content.chain);
        let head = ChainHead {
            seq: 7,
            hash: Hash([7; 32]),
        };
        first.save(head).unwrap();
        let chain = first.content.chain;
        first.close().unwrap();
        let again = files.claim(LogRole::Daemon).unwrap();
        assert_eq!(again.content.chain, chain);
        assert_eq!(again.content.head, head);
        assert!(again.content.is_closed);
        again.set_aside().unwrap();
        assert_ne!(files.claim(LogRole::Daemon).unwrap().content.chain, chain);
        let all = files.read_all().unwrap();
        assert!(
            all.iter()
                .any(|file| file.chain == chain && file.head == head)
        );
        drop(other);
    }

    #[test]
    fn a_line_that_is_half_of_another_one_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let files = ChainFiles::new(folder.path());
        let mut claim = files.claim(LogRole::Daemon).unwrap();
        let head = |number: u8| ChainHead {
            seq: number.into(),
            hash: Hash([number; 32]),
        };
        claim.save(head(1)).unwrap();
        let old = std::fs::read(&claim.path).unwrap();
        claim.save(head(2)).unwrap();
        let new = std::fs::read(&claim.path).unwrap();
        for cut in [20, 60, 86] {
            let torn = [&new[..cut], &old[cut..]].concat();
            std::fs::write(&claim.path, torn).unwrap();
            let content = files.read_all().unwrap()[0];
            assert!(!content.is_readable, "cut at {cut}: {content:?}");
        }
        claim.save(head(2)).unwrap();
        assert_eq!(files.read_all().unwrap()[0].head, head(2));
    }

    #[test]
    fn links_in_the_place_of_chain_files_were_followed() {
        let folder = tempfile::tempdir().unwrap();
        let files = ChainFiles::new(folder.path());
        let claim = files.claim(LogRole::Daemon).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(&claim.path, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &claim.path).unwrap();
        drop(claim);
        assert!(files.claim(LogRole::Daemon).is_err());
        assert!(files.read_all().is_err());
        std::fs::remove_dir_all(&files.folder).unwrap();
        std::fs::create_dir(folder.path().join("others")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("others"), &files.folder).unwrap();
        assert!(files.claim(LogRole::Daemon).is_err());
        assert!(files.read_all().is_err());
    }

    #[test]
    fn a_line_of_an_earlier_version_is_read() {
        let hash = Hash([9; 32]);
        let parsed = parse(&format!("{:020} {hash} {:<6}\n", 9, "closed"));
        assert_eq!(parsed, Some((ChainHead { seq: 9, hash }, true)));
    }

    #[test]
    fn a_file_that_says_nothing_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let files = ChainFiles::new(folder.path());
        let claim = files.claim(LogRole::Daemon).unwrap();
        std::fs::write(&claim.path, "what").unwrap();
        assert!(!files.read_all().unwrap()[0].is_readable);
    }
}
