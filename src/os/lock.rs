//! One server at one place.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::proc;

/// Holds `path` for this process: a lock on `path.lock`, which the kernel lets go with the process and which a
/// killed one leaves behind unlocked (flock(2)). Keep the file; `option` chooses another place.
///
/// # Errors
/// One line that says what to do: it is held by a running server, or the lock is no file of ours.
pub fn hold(path: &Path, option: &str) -> Result<File, String> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let shown = Path::new(&lock_path).display();
    let failed = |error: io::Error| format!("cannot lock {shown}: {error}");
    let mut options = File::options();
    // Not blocking: somebody might have put a FIFO there.
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let mut file = options.open(&lock_path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if !meta.is_file() || meta.uid() != proc::own_uid() {
        return Err(format!("{shown} is not a file of ours; remove it or choose another directory"));
    }
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let mut pid = String::new();
            // A holder that has not written yet is named without its number.
            let _ = file.take(16).read_to_string(&mut pid);
            let holder = if pid.trim().is_empty() { String::new() } else { format!(" (pid {})", pid.trim()) };
            let path = path.display();
            return Err(format!(
                "{path} is held by a running wharf{holder}; stop it or choose another {option}"
            ));
        }
        Err(errno) => return Err(failed(errno.into())),
    }
    file.set_len(0).map_err(failed)?;
    writeln!(file, "{}", std::process::id()).map_err(failed)?;
    Ok(file)
}
