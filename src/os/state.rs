//! One file that is whole at any moment, whatever ends the process or the machine.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::limits::STATE_BYTES_MAX;

/// Replaces the file: after a crash at any moment it has the bytes from before, or these. Only its owner may
/// read it. The caller must be the only writer.
///
/// It waits for the disk (`fsync`): a loop takes the three steps below instead.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put_beside(path, bytes)?;
    fs::File::open(beside(path, "new"))?.sync_all()?;
    put_in_place(path)?;
    // The new name is in the directory, which has its own place on the disk.
    fs::File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

/// First step: the bytes stand beside the file, for now in the system's memory.
pub fn put_beside(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a crash left there is overwritten.
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(beside(path, "new"))?;
    file.write_all(bytes)
}

/// Second step: starts sync(1), which waits for the disk in our place; it is reaped like every other child of the
/// server. Gives its id. When it has ended with 0, the bytes are on the disk.
///
/// # Errors
/// Whatever the system says; `NotFound` where there is no such program.
pub fn start_sync(path: &Path) -> io::Result<i32> {
    let mut command = Command::new("sync");
    command.arg(beside(path, "new")).env_remove("WHARF_TOKEN");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().map(|child| child.id().cast_signed())
}

/// Third step: they take the file's place.
pub fn put_in_place(path: &Path) -> io::Result<()> {
    fs::rename(beside(path, "new"), path)
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

    #[test]
    fn a_child_waits_for_the_disk_and_the_file_is_replaced_afterwards() {
        let directory = directory("steps");
        let path = directory.join("state.json");
        write_whole(&path, b"before").unwrap();
        put_beside(&path, b"after").unwrap();
        let pid = rustix::process::Pid::from_raw(start_sync(&path).unwrap());
        assert_eq!(read_whole(&path).unwrap().as_deref(), Some(b"before".as_slice()));
        let (_, status) =
            rustix::process::waitpid(pid, rustix::process::WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.exit_status(), Some(0));
        put_in_place(&path).unwrap();
        assert_eq!(read_whole(&path).unwrap().as_deref(), Some(b"after".as_slice()));
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
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
