//! What the transcripts are written with: a real server, and clients that check every frame they get.

pub mod client;
pub mod http;
pub mod processes;
pub mod proxy;
pub mod server;
pub mod websocket;

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

pub use client::{Client, Frame};
pub use http::{Answer, Http, Stream};
pub use serde_json::{Value, json};
pub use server::{Launch, Program, Server, Terminal, python, sh};
pub use websocket::WebSocket;

/// Long enough that only a hang reaches it, also on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Tests that load the machine run one at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Asks again until the answer is yes; a hang is a failure that says what was waited for.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Small random numbers whose seed is printed, and can be given as `WHARF_SEED`.
pub struct Dice(u64);

impl Dice {
    pub fn new() -> Dice {
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
        let seed = std::env::var("WHARF_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(now | 1);
        println!("WHARF_SEED={seed}");
        Dice(seed)
    }

    /// A number in `0..bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// FNV-1a over bytes that come in pieces of any size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash {
    pub bytes: u64,
    state: u64,
}

impl Hash {
    pub fn new() -> Hash {
        Hash { bytes: 0, state: 0xcbf2_9ce4_8422_2325 }
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for byte in bytes {
            self.state = (self.state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn of(bytes: &[u8]) -> Hash {
        let mut hash = Hash::new();
        hash.feed(bytes);
        hash
    }
}

/// The lines that `seq first last` prints to a terminal that adds carriage returns.
pub fn lines(first: u64, last: u64) -> String {
    (first..=last).map(|n| format!("{n}\r\n")).collect()
}

/// Position of a byte sequence in another.
pub fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}
