//! File of vectors: what was computed once is not computed again.
//!
//! ```text
//! head    the model's name and a line break
//! entry   key (16 bytes: hash of the text), vector, check (4 bytes: hash of the two)
//! ```
//!
//! Entries are only ever added, each in one write. The file is a convenience: what of it cannot be read is computed
//! again, and a file that is none of ours is replaced. Nothing of it is believed without its check.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use mcpproxy_embed::{MODEL, Vector};
use rustix::fs::OFlags;
use sha2::{Digest, Sha256};

const KEY: usize = 16;
const CHECK: usize = 4;
const ENTRY: usize = KEY + Vector::BYTES + CHECK;

/// Size from which on a file is written anew with what is in use: about 160,000 vectors.
const SIZE_LIMIT: u64 = 64 * 1024 * 1024;

/// Key of a text: texts with the same key are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct TextKey([u8; KEY]);

/// File of vectors, to which others are added.
#[derive(Debug)]
pub(super) struct VectorsFile {
    path: PathBuf,
    file: File,
}

// === impl TextKey ===

impl TextKey {
    pub(super) fn of(text: &str) -> Self {
        let hash = Sha256::digest(text.as_bytes());
        let mut key = [0; KEY];
        key.copy_from_slice(&hash[..KEY]);
        Self(key)
    }
}

// === impl VectorsFile ===

impl VectorsFile {
    /// Opens the file, or makes it, and reads the vectors that are wanted. A file that is too large keeps those alone that
    /// are in use.
    pub(super) fn open(
        path: &Path,
        wanted: &HashSet<TextKey>,
        in_use: impl FnOnce() -> HashSet<TextKey>,
    ) -> io::Result<(Self, HashMap<TextKey, Vector>)> {
        Self::open_within(SIZE_LIMIT, path, wanted, in_use)
    }

    fn open_within(
        limit: u64,
        path: &Path,
        wanted: &HashSet<TextKey>,
        in_use: impl FnOnce() -> HashSet<TextKey>,
    ) -> io::Result<(Self, HashMap<TextKey, Vector>)> {
        let mut opened = Self {
            file: open(path)?,
            path: path.to_owned(),
        };
        let size = opened.file.metadata()?.len();
        let known = opened.read(wanted)?;
        let Some(known) = known else {
            if size > 0 {
                tracing::warn!(
                    "vectors.db is broken or of another version: the vectors of all tools are computed again"
                );
            }
            opened.begin_anew()?;
            return Ok((opened, HashMap::new()));
        };
        if size > limit {
            opened.file.rewind()?;
            let kept = opened.read(&in_use())?.unwrap_or_default();
            opened.begin_anew()?;
            for (key, vector) in &kept {
                opened.add(*key, vector)?;
            }
        }
        Ok((opened, known))
    }

    /// Adds a vector.
    pub(super) fn add(&mut self, key: TextKey, vector: &Vector) -> io::Result<()> {
        self.file.write_all(&entry(key, vector))
    }

    /// Vectors of the file that are wanted; nothing if it is none of ours. An entry that was not written to its end is
    /// cut off, so that the next one begins where it has to.
    fn read(&mut self, wanted: &HashSet<TextKey>) -> io::Result<Option<HashMap<TextKey, Vector>>> {
        let head = head();
        let mut reader = BufReader::new(&self.file);
        let mut found = vec![0; head.len()];
        if reader.read_exact(&mut found).is_err() || found != head {
            return Ok(None);
        }
        let mut known = HashMap::new();
        let mut bytes = [0; ENTRY];
        let mut length = head.len() as u64;
        while reader.read_exact(&mut bytes).is_ok() {
            length += ENTRY as u64;
            // Most are not wanted, and looking at the rest of an entry takes longer.
            let key = key_of(&bytes);
            if wanted.contains(&key)
                && let Some(vector) = read_entry(key, &bytes)
            {
                known.insert(key, vector);
            }
        }
        if self.file.metadata()?.len() != length {
            self.file.set_len(length)?;
        }
        Ok(Some(known))
    }

    /// Empties the file. Another process that has it open goes on adding to the one that was there.
    fn begin_anew(&mut self) -> io::Result<()> {
        if self.file.metadata()?.len() > 0 {
            std::fs::remove_file(&self.path)?;
            self.file = open(&self.path)?;
        }
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&head())
    }
}

/// Opens a file of the data folder for its owner alone, and nothing that a link leads to.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a regular file",
    ))
}

fn head() -> Vec<u8> {
    format!("{MODEL}\n").into_bytes()
}

fn entry(key: TextKey, vector: &Vector) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENTRY);
    bytes.extend(key.0);
    bytes.extend(vector.to_bytes());
    let check = Sha256::digest(&bytes);
    bytes.extend(&check[..CHECK]);
    bytes
}

fn key_of(entry: &[u8; ENTRY]) -> TextKey {
    let mut key = [0; KEY];
    key.copy_from_slice(&entry[..KEY]);
    TextKey(key)
}

fn read_entry(key: TextKey, bytes: &[u8; ENTRY]) -> Option<Vector> {
    let vector = Vector::from_bytes(&bytes[KEY..][..Vector::BYTES])?;
    (entry(key, &vector) == bytes).then_some(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(number: u16) -> Vector {
        let mut numbers = [0.0; mcpproxy_embed::DIMENSIONS];
        numbers[usize::from(number)] = 1.0;
        numbers[0] += 0.5;
        Vector::of(&numbers)
    }

    fn keys(texts: &[&str]) -> HashSet<TextKey> {
        texts.iter().map(|text| TextKey::of(text)).collect()
    }

    fn known(path: &Path, texts: &[&str]) -> HashMap<TextKey, Vector> {
        open(path, texts).1
    }

    fn open(path: &Path, texts: &[&str]) -> (VectorsFile, HashMap<TextKey, Vector>) {
        VectorsFile::open(path, &keys(texts), HashSet::new).unwrap()
    }

    fn written(path: &Path) {
        let (mut file, known) = open(path, &["a", "b"]);
        assert!(known.is_empty());
        file.add(TextKey::of("a"), &vector(1)).unwrap();
        file.add(TextKey::of("b"), &vector(2)).unwrap();
    }

    #[test]
    fn vectors_are_kept_and_only_those_that_are_wanted_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.db");
        written(&path);
        assert_eq!(
            known(&path, &["b", "c"]),
            HashMap::from([(TextKey::of("b"), vector(2))])
        );
        assert_eq!(known(&path, &["a", "b"]).len(), 2);
    }

    #[test]
    fn what_is_broken_is_left_out_and_what_comes_after_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.db");
        written(&path);
        let whole = std::fs::read(&path).unwrap();
        // Cut off in the middle of an entry, as by a crash: the next one is written where it belongs.
        std::fs::write(&path, &whole[..whole.len() - 7]).unwrap();
        let (mut file, found) = open(&path, &["a", "b"]);
        assert_eq!(found.len(), 1);
        file.add(TextKey::of("b"), &vector(2)).unwrap();
        assert_eq!(known(&path, &["a", "b"]).len(), 2);
        // A bit of an entry changed: it is not believed.
        for place in [head().len() + 3, head().len() + KEY + 9, whole.len() - 1] {
            let mut changed = whole.clone();
            changed[place] ^= 4;
            std::fs::write(&path, &changed).unwrap();
            assert_eq!(known(&path, &["a", "b"]).len(), 1, "{place}");
        }
    }

    #[test]
    fn a_file_of_others_is_replaced_and_a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.db");
        for content in ["", "x", "another model\nand its vectors", "all-MiniLM"] {
            std::fs::write(&path, content).unwrap();
            written(&path);
            assert_eq!(known(&path, &["a", "b"]).len(), 2, "{content}");
        }
        let target = folder.path().join("elsewhere");
        std::fs::write(&target, "kept").unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(VectorsFile::open(&link, &HashSet::new(), HashSet::new).is_err());
        assert_eq!(std::fs::read_to_string(&target).unwrap(), "kept");
        assert!(VectorsFile::open(folder.path(), &HashSet::new(), HashSet::new).is_err());
    }

    #[test]
    fn a_file_that_is_too_large_keeps_what_is_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vectors.db");
        written(&path);
        let (mut file, _) = open(&path, &[]);
        file.add(TextKey::of("c"), &vector(3)).unwrap();
        let in_use = || keys(&["a", "c"]);
        let limited = VectorsFile::open_within(1_000, &path, &keys(&["b"]), in_use);
        let (mut file, found) = limited.unwrap();
        assert_eq!(found.len(), 1, "what is wanted now is known all the same");
        file.add(TextKey::of("d"), &vector(4)).unwrap();
        assert_eq!(known(&path, &["a", "b", "c", "d"]).len(), 3);
        assert!(known(&path, &["b"]).is_empty());
    }
}
