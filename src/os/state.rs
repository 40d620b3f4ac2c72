//! One file that is whole at any moment, whatever ends the process or the machine.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::limits::STATE_BYTES_MAX;

/// Replaces the file: after a crash at any moment it has the bytes from before, or these. Only its owner may
/// read it. The caller must be the only writer.
///
/// It waits for the disk (`fsync`), so it is not for every keystroke.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = beside(path, "new");
    // What a crash left there is overwritten.
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    // The new name is in the directory, which has its own place on the disk.
    fs::File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// The file's bytes; `None` when there is no such file.
///
/// # Errors
/// Also when it is no regular file, or over [`STATE_BYTES_MAX`].
pub fn read_whole(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let file = match fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > STATE_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no regular file, or too large"));
    }
    let mut bytes = Vec::new();
    file.take(STATE_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Gives a damaged file another name, which is returned: `NAME.damaged`. One that stood there is gone.
pub fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = beside(path, "damaged");
    fs::rename(path, &aside)?;
    Ok(aside)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::process::{Command, Stdio};

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("wharf-state-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// A document that shows whether it is whole: its length, and so many copies of its number.
    fn document(number: u64) -> Vec<u8> {
        let copies = 1 + (number * 7919 % 20_000) as usize;
        format!("{copies}\n{}", format!("{number}\n").repeat(copies)).into_bytes()
    }

    fn number_of(bytes: &[u8]) -> u64 {
        let text = std::str::from_utf8(bytes).unwrap();
        let number = text.lines().nth(1).unwrap().parse().unwrap();
        assert_eq!(document(number), bytes);
        number
    }

    #[test]
    fn a_file_is_replaced_and_only_its_owner_may_read_it() {
        let directory = directory("replace");
        let path = directory.join("state.json");
        assert_eq!(read_whole(&path).unwrap(), None);
        for bytes in [b"one".as_slice(), b"another", b""] {
            write_whole(&path, bytes).unwrap();
            assert_eq!(read_whole(&path).unwrap().as_deref(), Some(bytes));
        }
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(set_aside(&path).unwrap(), directory.join("state.json.damaged"));
        assert_eq!(read_whole(&path).unwrap(), None);
        assert!(read_whole(&directory).is_err());
        assert!(write_whole(&directory.join("nowhere/state.json"), b"x").is_err());
        fs::remove_dir_all(&directory).unwrap();
    }

    /// The writer of the test below, in a process of its own.
    #[test]
    #[ignore = "is run by the_document_is_whole_after_the_writer_was_killed"]
    fn writes_for_ever() {
        let path = PathBuf::from(std::env::var_os("WHARF_TEST_STATE").unwrap());
        let first = read_whole(&path).unwrap().map_or(0, |bytes| number_of(&bytes));
        for number in first + 1.. {
            write_whole(&path, &document(number)).unwrap();
        }
    }

    #[test]
    fn the_document_is_whole_after_the_writer_was_killed() {
        let directory = directory("kill");
        let path = directory.join("state.json");
        let mut last = 0;
        for round in 0..40u64 {
            let mut writer = Command::new(std::env::current_exe().unwrap())
                .args(["--ignored", "--exact", "os::state::tests::writes_for_ever"])
                .env("WHARF_TEST_STATE", &path)
                .stdout(Stdio::null())
                .spawn()
                .unwrap();
            // It is killed some moments after it has written once more.
            loop {
                let number = read_whole(&path).unwrap().map_or(0, |bytes| number_of(&bytes));
                if number > last {
                    break;
                }
                std::thread::yield_now();
            }
            for _ in 0..round * 997 % 5000 {
                std::thread::yield_now();
            }
            writer.kill().unwrap();
            writer.wait().unwrap();
            let number = number_of(&read_whole(&path).unwrap().unwrap());
            assert!(number > last);
            last = number;
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
