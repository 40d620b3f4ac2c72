//! What do sessions of the mirror cost?

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use data_encoding::BASE64;
use serde_json::json;
use wharf::flow::Outbound;
use wharf::mirror::{About, Batch, Mirror, Pumped, Surface, Surfaces, Ticket};
use wharf::terminal::{GridSize, Terminal};
use wharf::wire::mirror_frames::{Encoded, Queued, ToMirror, Writer, parse_mirror};

struct Shells(Vec<(String, Terminal, Batch)>);

impl Surfaces for Shells {
    fn surface(&mut self, number: usize) -> Option<Surface<'_>> {
        let (id, terminal, batch) = self.0.get_mut(number)?;
        Some(Surface { id, terminal, batch })
    }
}

struct Rig {
    mirror: Mirror,
    shells: Shells,
    encoded: Encoded,
    sessions: Vec<(Ticket, Outbound, Queued)>,
    now: Instant,
}

impl Rig {
    fn new(shells: usize, sessions: usize) -> Rig {
        let shell = |number| {
            let size = GridSize::new(80, 24).expect("a size");
            (format!("{number:032x}"), Terminal::new(size, 2 << 20, 1000, false), Batch::default())
        };
        let mut rig = Rig {
            mirror: Mirror::default(),
            shells: Shells((0..shells).map(shell).collect()),
            encoded: Encoded::default(),
            sessions: Vec::new(),
            now: Instant::now(),
        };
        for socket in 0..sessions {
            let opened = rig.mirror.open(None, socket, &mut rig.shells, rig.now);
            rig.sessions.push((opened.ticket, Outbound::default(), Queued::default()));
        }
        rig.pump();
        rig
    }

    /// Every session is served, and every socket takes all of it. Returns the bytes.
    fn pump(&mut self) -> usize {
        self.now += Duration::from_millis(20);
        let mut bytes = 0;
        let live: Vec<usize> = (0..self.shells.0.len()).collect();
        for (ticket, queue, queued) in &mut self.sessions {
            loop {
                let mut out = Writer { queue, queued, encoded: &mut self.encoded };
                let pumped = self.mirror.pump(*ticket, &mut self.shells, &mut out, self.now);
                if pumped == Pumped::NeedsHello {
                    self.mirror.greet(*ticket, "f".repeat(32), &live, ("{}", "{}"), &mut out);
                } else if queue.is_empty() {
                    break;
                } else {
                    bytes += queue.waiting().len();
                    queue.take(queue.waiting().len());
                }
            }
        }
        bytes
    }
}

fn what_do_many_sessions_cost(criterion: &mut Criterion) {
    for (name, text) in
        [("a key", "l".to_owned()), ("64 KiB", "-rw-r--r-- 1 root root Cargo.lock\r\n".repeat(1872))]
    {
        let mut group = criterion.benchmark_group(format!("what does {name} of output cost with"));
        for sessions in [1, 8, 32] {
            let mut rig = Rig::new(1, sessions);
            group.throughput(Throughput::Elements(sessions as u64));
            group.bench_function(format!("{sessions} sessions"), |bencher| {
                bencher.iter_custom(|rounds| {
                    let mut took = Duration::ZERO;
                    for _ in 0..rounds {
                        // The terminal's own work is not the mirror's.
                        let now = rig.now;
                        rig.shells.0[0].1.feed(text.as_bytes(), now);
                        let start = Instant::now();
                        assert!(black_box(rig.pump()) > 0);
                        took += start.elapsed();
                    }
                    took
                });
            });
        }
    }
}

fn what_does_news_cost(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("what does a notification cost with");
    for sessions in [1, 8, 32] {
        let mut rig = Rig::new(20, sessions);
        group.throughput(Throughput::Elements(sessions as u64));
        group.bench_function(format!("{sessions} sessions"), |bencher| {
            bencher.iter(|| {
                let json = r#"{"id":1,"title":"done","body":"tests pass","level":"info"}"#;
                let body = ToMirror::NotificationCreate { notification_json: json }.body();
                rig.mirror.tell(About::State, body);
                rig.pump()
            });
        });
    }
}

fn what_does_it_cost_to_resume(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("what does it cost to resume");
    for frames in [10u64, 15_000] {
        let mut rig = Rig::new(1, 1);
        for _ in 0..20_000 {
            let now = rig.now;
            rig.shells.0[0].1.feed(b"x", now);
            rig.pump();
        }
        group.throughput(Throughput::Elements(frames));
        group.bench_function(format!("{frames} frames ago"), |bencher| {
            bencher.iter(|| {
                let seq = rig.mirror.sessions().next().expect("the session").seq() - frames;
                let id = "f".repeat(32);
                rig.sessions[0].0 = rig.mirror.open(Some((&id, seq)), 1, &mut rig.shells, rig.now).ticket;
                assert!(rig.pump() as u64 > frames * 80);
            });
        });
    }
}

fn what_does_a_frame_of_a_client_cost(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("what does a frame of a mirror client cost");
    for (name, bytes) in [("a key", vec![b'l']), ("a paste of 64 KiB", vec![b'x'; 64 << 10])] {
        let frame =
            json!({ "type": "surfaceStdin", "surfaceId": "f".repeat(32), "bytes": BASE64.encode(&bytes) });
        let text = frame.to_string();
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_batched(|| (), |()| parse_mirror(black_box(&text)), BatchSize::SmallInput);
        });
    }
}

criterion_group!(
    benches,
    what_do_many_sessions_cost,
    what_does_news_cost,
    what_does_it_cost_to_resume,
    what_does_a_frame_of_a_client_cost
);
criterion_main!(benches);
