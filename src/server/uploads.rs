//! Files that clients send to where a terminal stands. They come in pieces, each in one request, and are
//! written as they come. One that stops coming is taken away again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use log::debug;

use super::hosted::Hosted;
use super::routes::{Answered, json, no_content, not_allowed, not_found};
use super::source::Key;
use super::{Server, routes};
use crate::limits::{UPLOAD_PATIENCE, UPLOAD_PIECE_BYTES_MAX, UPLOADS_MAX};
use crate::os::new_file::{self, NewFile};
use crate::os::proc;
use crate::wire::files::{names, parse_announcement, upload_json};
use crate::wire::http::{Method, Reject, Request};

/// The files that are on their way.
#[derive(Default)]
pub(super) struct Uploads(Vec<Upload>);

struct Upload {
    id: String,
    terminal: Key,
    path: String,
    /// What was announced, and what has come.
    bytes: u64,
    offset: u64,
    /// `None` once it is complete. Such a one is remembered for a client that did not get the answer.
    file: Option<NewFile>,
    until: Instant,
}

impl Upload {
    fn json(&self, status: u16) -> Answered {
        json(status, &upload_json(&self.id, &self.path, self.offset, self.bytes))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            debug!("{} never came whole and is gone", self.path);
            file.discard();
        }
    }
}

impl Uploads {
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|upload| upload.until).min()
    }

    /// Forgets those that nobody has sent a piece of for too long.
    pub(super) fn expire(&mut self, now: Instant) {
        self.0.retain(|upload| upload.until > now);
    }

    /// The terminal is gone, and with it the way to send the rest.
    pub(super) fn leave(&mut self, terminal: Key) {
        self.0.retain(|upload| upload.terminal != terminal);
    }

    /// The server ends: what is not whole goes.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Makes room for one more, at the cost of one that is complete.
    fn make_room(&mut self) -> Result<(), Reject> {
        if self.0.len() < UPLOADS_MAX {
            return Ok(());
        }
        match self.0.iter().position(|upload| upload.file.is_none()) {
            Some(complete) => drop(self.0.remove(complete)),
            None => return Err(Reject::new(429, "too many files are on their way; wait for some to arrive")),
        }
        Ok(())
    }
}

impl Server {
    /// `/v1/terminals/{id}/files...`
    pub(super) fn file_route(
        &mut self,
        request: &Request,
        key: Key,
        rest: &[&str],
        now: Instant,
    ) -> Answered {
        match (rest, request.method) {
            ([], Method::Post) => self.announce_file(request, key, now),
            ([], _) => Err(not_allowed("POST")),
            ([id], method) => {
                let uploads = &mut self.uploads.0;
                let found = uploads.iter().position(|upload| upload.id == *id && upload.terminal == key);
                let at = found.ok_or_else(not_found)?;
                match method {
                    Method::Get | Method::Head => uploads[at].json(200),
                    Method::Put => self.take_piece(request, at, now),
                    Method::Delete if uploads[at].file.is_none() => {
                        Err(Reject::new(409, "the file is complete; it stays"))
                    }
                    Method::Delete => {
                        uploads.remove(at);
                        no_content()
                    }
                    _ => Err(not_allowed("GET, HEAD, PUT, DELETE")),
                }
            }
            _ => Err(not_found()),
        }
    }

    fn announce_file(&mut self, request: &Request, key: Key, now: Instant) -> Answered {
        let (name, bytes) = parse_announcement(&request.body)?;
        let bytes_max = self.config.upload_bytes;
        if bytes_max == 0 {
            return Err(Reject::new(403, "this server takes no files (--upload-bytes is 0)"));
        }
        if bytes > bytes_max {
            let message = format!("a file may have at most {bytes_max} bytes here (--upload-bytes)");
            return Err(Reject::new(413, message));
        }
        self.uploads.make_room()?;
        let id = self.new_id().map_err(|error| Reject::new(503, format!("no random bytes: {error}")))?;
        let Some(hosted) = self.terminals.get(key) else { return Err(not_found()) };
        if hosted.terminal.exited().is_some() {
            return Err(Reject::new(409, "the terminal has exited"));
        }
        let file = make(hosted, &name)?;
        let path = file.path().to_owned();
        let file = (bytes > 0).then_some(file);
        let upload = Upload { id, terminal: key, path, bytes, offset: 0, file, until: now + UPLOAD_PATIENCE };
        let answer = upload.json(201);
        self.uploads.0.push(upload);
        self.ask_chores();
        answer
    }

    fn take_piece(&mut self, request: &Request, at: usize, now: Instant) -> Answered {
        let offset = routes::number(request, "offset")?;
        let upload = &mut self.uploads.0[at];
        let piece = &request.body;
        if offset != Some(upload.offset) || upload.file.is_none() {
            let message = format!("offset must be {}, where the file ends now", upload.offset);
            return Err(Reject::new(409, message));
        }
        if piece.len() > UPLOAD_PIECE_BYTES_MAX {
            let message = format!("a piece may have at most {UPLOAD_PIECE_BYTES_MAX} bytes");
            return Err(Reject::new(413, message));
        }
        let end = upload.offset + piece.len() as u64;
        if end > upload.bytes {
            return Err(Reject::new(400, format!("the file was announced with {} bytes", upload.bytes)));
        }
        if let Some(file) = &upload.file
            && let Err(error) = file.write_at(upload.offset, piece)
        {
            let reject = refusal(&error, Path::new(&upload.path));
            self.uploads.0.remove(at);
            return Err(reject);
        }
        upload.offset = end;
        upload.until = now + UPLOAD_PATIENCE;
        if end == upload.bytes {
            upload.file = None;
        }
        upload.json(200)
    }
}

/// The new file: where the program in the foreground stands, or, when nothing can be written there, in the
/// spare directory.
fn make(hosted: &Hosted, name: &str) -> Result<NewFile, Reject> {
    for place in standing(hosted) {
        match NewFile::create(&place, names(name)) {
            Ok(file) => return Ok(file),
            Err(error) if is_about_room(&error) || error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(refusal(&error, &place.join(name)));
            }
            Err(error) => debug!("{}: no file can be made there: {error}", place.display()),
        }
    }
    let spare = new_file::spare_directory().map_err(|error| Reject::new(500, error))?;
    NewFile::create(&spare, names(name)).map_err(|error| refusal(&error, &spare.join(name)))
}

/// Links to the working directories of the foreground program and of the shell, which may be another user's.
fn standing(hosted: &Hosted) -> Vec<PathBuf> {
    let Some(shell) = hosted.pid() else { return Vec::new() };
    let foreground = proc::stat(shell).map(|stat| stat.foreground_group).filter(|group| *group > 0);
    let link = |pid: i32| PathBuf::from(format!("/proc/{pid}/cwd"));
    foreground.into_iter().chain([shell]).map(link).collect()
}

fn is_about_room(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn refusal(error: &io::Error, path: &Path) -> Reject {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Reject::new(409, format!("{shown} is there already, and so are its numbered names; rename it"))
        }
        _ if is_about_room(error) => {
            let message = format!("there is no room for {shown}: free some on its disk, then send it again");
            Reject::new(507, message)
        }
        _ => Reject::new(500, format!("{shown} cannot be written: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stops_coming_is_taken_away_and_what_is_complete_stays() {
        let directory = std::env::temp_dir().join(format!("wharf-uploads-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let now = Instant::now();
        let mut uploads = Uploads::default();
        for (name, complete) in [("whole", true), ("part", false)] {
            let file = NewFile::create(&directory, names(name)).unwrap();
            file.write_at(0, b"abc").unwrap();
            uploads.0.push(Upload {
                id: name.to_owned(),
                terminal: Key { slot: 0, life: 0 },
                path: file.path().to_owned(),
                bytes: if complete { 3 } else { 5 },
                offset: 3,
                file: (!complete).then_some(file),
                until: now + UPLOAD_PATIENCE,
            });
        }
        uploads.expire(now + UPLOAD_PATIENCE / 2);
        assert!(directory.join("part").exists());
        assert_eq!(uploads.deadline(), Some(now + UPLOAD_PATIENCE));
        uploads.expire(now + UPLOAD_PATIENCE);
        assert_eq!(uploads.deadline(), None);
        assert!(!directory.join("part").exists());
        assert_eq!(std::fs::read(directory.join("whole")).unwrap(), b"abc");
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
