//! A directory with programs of ours, at the end of every shell's `PATH`: nothing of the user's is shadowed.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// Makes `runtime_dir/bin/NAME` a link to a program, and gives that directory. A former link is replaced at once.
///
/// # Errors
/// Whatever the file system says; the message names no path.
pub fn link(runtime_dir: &Path, name: &str, program: &Path) -> io::Result<PathBuf> {
    let dir = std::path::absolute(runtime_dir)?.join("bin");
    DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
    let (path, temporary) = (dir.join(name), dir.join(format!(".{name}.{}", std::process::id())));
    let _ = fs::remove_file(&temporary);
    symlink(program, &temporary)?;
    fs::rename(&temporary, &path)?;
    Ok(dir)
}

/// Appends the directory to `PATH`, and says where it is as `WHARF_BIN`: startup files may set `PATH` anew, and
/// our shell integration appends it again. One with a colon cannot be part of a `PATH`.
pub fn append_to_path(env: &mut Vec<(OsString, OsString)>, dir: &Path) {
    if dir.as_os_str().as_bytes().contains(&b':') {
        return;
    }
    if let Some((_, path)) = env.iter_mut().find(|(name, _)| name == "PATH") {
        // An empty entry would be the working directory.
        if !path.is_empty() {
            path.push(":");
        }
        path.push(dir);
    }
    env.retain(|(name, _)| name != "WHARF_BIN");
    env.push(("WHARF_BIN".into(), dir.into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_replaced_and_its_directory_stands_last() {
        let root = std::env::temp_dir().join(format!("wharf-programs-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        for program in ["/bin/sh", "/bin/cat"] {
            let dir = link(&root, "ht", Path::new(program)).unwrap();
            assert_eq!(fs::read_link(dir.join("ht")).unwrap(), Path::new(program));
            assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        }
        fs::remove_dir_all(&root).unwrap();
        let mut env = vec![("PATH".into(), "/bin".into()), ("WHARF_BIN".into(), "/old".into())];
        append_to_path(&mut env, Path::new("/run/a:b"));
        assert_eq!(env[0].1, "/bin");
        append_to_path(&mut env, Path::new("/run/w/bin"));
        assert_eq!(
            env,
            [("PATH".into(), "/bin:/run/w/bin".into()), ("WHARF_BIN".into(), "/run/w/bin".into())]
        );
    }
}
