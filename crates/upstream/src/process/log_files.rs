//! Files that keep what servers print: `logs/NAME.log` in the folder of the state, and `logs/NAME.log.1` with what was
//! there before.

use std::path::{Path, PathBuf};

/// Folder of the files, in the folder of the state.
const FOLDER: &str = "logs";
/// Longest name of a server that a file is made for. Names in settings are shorter.
const LONGEST_NAME: usize = 128;

/// File with the newest lines of a server; nothing for a name that settings do not admit.
///
/// On a file system that does not tell cases apart, servers whose names differ in case alone share a file.
pub fn current(data_dir: &Path, server: &str) -> Option<PathBuf> {
    file(data_dir, server, "log")
}

/// File with the lines of a server that are older than those of [`current`].
pub fn older(data_dir: &Path, server: &str) -> Option<PathBuf> {
    file(data_dir, server, "log.1")
}

fn file(data_dir: &Path, server: &str, ending: &str) -> Option<PathBuf> {
    let is_usual = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let is_usable = !server.is_empty() && server.len() <= LONGEST_NAME;
    // With its ending, a name of dots is that of a file like any other, and no way out of the folder.
    let is_usable = is_usable && server.bytes().all(is_usual);
    is_usable.then(|| data_dir.join(FOLDER).join(format!("{server}.{ending}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_files_of_its_own_in_the_folder() {
        let data = Path::new("/data");
        for name in ["github", "a.b_c-D", "..", ".", "x.log", "x.log.1", "-rf"] {
            let files = [current(data, name), older(data, name)].map(Option::unwrap);
            assert_eq!(files[0], data.join(format!("logs/{name}.log")));
            assert_eq!(files[1], data.join(format!("logs/{name}.log.1")));
            assert!(
                files
                    .iter()
                    .all(|file| file.parent() == Some(&data.join("logs")))
            );
        }
        for name in [
            "",
            "a/b",
            "../x",
            "a\\b",
            "a\0",
            "ä",
            &"x".repeat(LONGEST_NAME + 1),
        ] {
            assert_eq!(
                (current(data, name), older(data, name)),
                (None, None),
                "{name}"
            );
        }
    }
}
