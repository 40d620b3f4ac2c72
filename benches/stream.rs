//! What does output cost between the PTY and the queues? The ring that keeps it, the followers that read
//! it, and the terminal that does both and keeps a screen as well.

use std::hint::black_box;
use std::time::Instant;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wharf::flow::{Follower, Step, Stream};
use wharf::limits::{OUTPUT_FRAME_BYTES_MAX, PTY_BITE_BYTES, REPLAY_BYTES};
use wharf::terminal::{GridSize, Terminal};

/// One bite of a PTY: plain lines, or characters of three bytes that every read cuts somewhere.
fn bite(line: &str) -> Vec<u8> {
    line.as_bytes().iter().copied().cycle().take(PTY_BITE_BYTES).collect()
}

fn what_does_a_bite_cost(c: &mut Criterion) {
    let mut group = c.benchmark_group("what does a bite of 64 KiB cost");
    group.throughput(Throughput::Bytes(PTY_BITE_BYTES as u64));
    let (log, cjk) = (bite("GET /index.html 200 1234 bytes in 12 ms\r\n"), bite("端末の出力を読む\r\n"));
    let now = Instant::now();

    let mut stream = Stream::new(REPLAY_BYTES);
    group.bench_function("kept for replay", |b| b.iter(|| stream.append(black_box(&log))));

    let mut follower = Follower::new(stream.head());
    group.bench_function("kept, and followed by one reader", |b| {
        b.iter(|| {
            stream.append(black_box(&log));
            while let Step::Output { seq, parts } = follower.step(&stream, OUTPUT_FRAME_BYTES_MAX, now) {
                black_box(parts);
                follower.advance(seq);
            }
        })
    });

    for (name, text) in [("log", &log), ("CJK", &cjk)] {
        let size = GridSize::new(120, 36).expect("a size");
        let mut terminal = Terminal::new(size, REPLAY_BYTES, 1000, true);
        group.bench_function(format!("a terminal with its screen, {name}"), |b| {
            b.iter(|| {
                terminal.feed(black_box(text), now);
                while terminal.follow_screen(now) {}
            })
        });
    }
    group.finish();
}

criterion_group!(benches, what_does_a_bite_cost);
criterion_main!(benches);
