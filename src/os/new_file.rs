//! A file that comes into being piece by piece. It never takes the place of another, and follows no symlink.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::proc;

/// A file that was made, and is being written.
#[derive(Debug)]
pub struct NewFile {
    /// Held open: its path may name another directory by now.
    directory: OwnedFd,
    name: String,
    path: String,
    file: File,
    /// Device and inode: what stands there under its name may be another file by now.
    identity: (u64, u64),
}

impl NewFile {
    /// Makes the file under the first of these names that nothing has yet, with the mode that the umask leaves.
    ///
    /// # Errors
    /// `AlreadyExists` when all of them are taken; `InvalidFilename` when the directory's path is not UTF-8.
    pub fn create(directory: &Path, names: impl Iterator<Item = String>) -> io::Result<NewFile> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::open(directory, flags, Mode::empty())?;
        // Through a link (/proc/PID/cwd is one) the kernel knows where it led.
        let real = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()));
        let real = real.unwrap_or_else(|_| directory.to_path_buf());
        let real = real.to_str().ok_or(io::ErrorKind::InvalidFilename)?.trim_end_matches('/');
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        for name in names {
            let file = match rustix::fs::openat(&opened, &name, flags, Mode::from_raw_mode(0o666)) {
                Err(Errno::EXIST) => continue,
                file => File::from(file?),
            };
            let meta = file.metadata()?;
            let path = format!("{real}/{name}");
            return Ok(NewFile { directory: opened, name, path, file, identity: (meta.dev(), meta.ino()) });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// Where it is.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Writes a piece. It is with the kernel then, not yet on the disk.
    ///
    /// # Errors
    /// A full disk or quota is `StorageFull` or `QuotaExceeded`.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    /// Takes it away, unless something else has its name by now.
    pub fn discard(self) {
        let found = rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| (found.st_dev, found.st_ino) == self.identity) {
            let _ = rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty());
        }
    }
}

/// A directory of this user's for files that have no better place.
///
/// # Errors
/// One line that says what to do.
pub fn spare_directory() -> Result<PathBuf, String> {
    let path = std::env::temp_dir().join(format!("wharf-files-{}", proc::own_uid()));
    proc::private_dir(&path).map(|()| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_made_beside_what_is_there_and_only_it_is_taken_away() {
        let directory = std::env::temp_dir().join(format!("wharf-new-file-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("a"), "old").unwrap();
        std::os::unix::fs::symlink("/nonexistent/elsewhere", directory.join("b")).unwrap();
        let names = || ["a", "b", "c", "d"].into_iter().map(str::to_owned);
        let first = NewFile::create(&directory, names()).unwrap();
        assert!(first.path().ends_with("/c"), "{}", first.path());
        first.write_at(0, b"on").unwrap();
        first.write_at(2, b"e").unwrap();
        assert_eq!(fs::read(directory.join("c")).unwrap(), b"one");
        let second = NewFile::create(&directory, names()).unwrap();
        assert_eq!(NewFile::create(&directory, names()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        first.discard();
        assert!(!directory.join("c").exists());
        fs::remove_file(directory.join("d")).unwrap();
        fs::write(directory.join("d"), "another").unwrap();
        second.discard();
        assert_eq!(fs::read(directory.join("d")).unwrap(), b"another");
        assert_eq!(fs::read(directory.join("a")).unwrap(), b"old");
        fs::remove_dir_all(&directory).unwrap();
    }
}
