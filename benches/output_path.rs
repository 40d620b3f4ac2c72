//! How many instructions does a byte of output cost, from the PTY's bytes to a client's frames, with the screen
//! that follows? `scripts/count` runs this under callgrind, which counts the same on every machine.

#[path = "end_to_end/text.rs"]
mod text;

use std::hint::black_box;
use std::time::Instant;

use text::Kind;
use wharf::flow::{Follower, Step};
use wharf::limits::{
    OUTPUT_FRAME_BYTES_MAX, PTY_BITE_BYTES, PTY_PIECE_BYTES, REPLAY_BYTES, SCROLLBACK_LINES,
};
use wharf::terminal::{GridSize, Terminal};
use wharf::wire::terminal_frames::{Protocol, put_output};

/// Everything that is counted: all of `text` through one terminal, to one reader of each protocol asked for.
#[inline(never)]
fn counted_path(terminal: &mut Terminal, text: &[u8], protocol: Protocol, now: Instant) -> usize {
    let (mut follower, mut out, mut bytes) = (Follower::new(0), Vec::new(), 0);
    for (i, bite) in text.chunks(PTY_BITE_BYTES).enumerate() {
        while terminal.must_wait_for_screen(bite.len()) {
            terminal.follow_screen(now);
        }
        terminal.feed(bite, now);
        if i % (PTY_PIECE_BYTES / PTY_BITE_BYTES) != 0 {
            continue;
        }
        while let Step::Output { seq, parts } = follower.step(terminal.stream(), OUTPUT_FRAME_BYTES_MAX, now)
        {
            out.clear();
            put_output(protocol, seq, false, parts, &mut out);
            bytes += black_box(&out).len();
            follower.advance(seq);
        }
    }
    while terminal.follow_screen(now) {}
    bytes
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let (Some(name), Some(mib)) = (args.next(), args.next().and_then(|mib| mib.parse::<usize>().ok())) else {
        return; // run by `cargo bench` or `cargo test` of all targets
    };
    let protocol = if args.next().as_deref() == Some("1") { Protocol::One } else { Protocol::Two };
    let kind = Kind::ALL.into_iter().find(|kind| kind.name() == name).expect("a kind of text");
    let text = kind.text(mib << 20);
    let size = GridSize::new(120, 36).expect("a size");
    let mut terminal = Terminal::new(size, REPLAY_BYTES, SCROLLBACK_LINES, true);
    let started = Instant::now();
    let bytes = counted_path(&mut terminal, &text, protocol, started);
    let seconds = started.elapsed().as_secs_f64();
    println!("{} bytes in, {bytes} bytes out, {:.2} s per GB", text.len(), seconds * 1e9 / text.len() as f64);
}
