//! What do the wire formats cost per frame?

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use wharf::limits::{MESSAGE_BYTES_MAX, OUTPUT_FRAME_BYTES_MAX};
use wharf::terminal::{Act, ClientFrame};
use wharf::wire::http::RequestReader;
use wharf::wire::terminal_frames::{Protocol, client_frame_json, parse_client, put_output};
use wharf::wire::websocket::{Codec, Opcode, put_masked};

fn keystroke() -> String {
    let act = Act::Input { data: "l".to_owned(), claim: true };
    client_frame_json(&ClientFrame { client_id: "8f14e45f-ceea-467f".to_owned(), client_seq: 4711, act })
}

fn masked(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    put_masked(opcode, payload, [0x12, 0x34, 0x56, 0x78], &mut frame);
    frame
}

/// Full frames of what terminals print: lines of text, and cells that each have a colour.
fn what_does_a_full_output_frame_cost(criterion: &mut Criterion) {
    let full = |line: &str| line.repeat(OUTPUT_FRAME_BYTES_MAX / line.len()).into_bytes();
    let text = full("-rw-r--r-- 1 root root 21312 Nov 30 21:24 Cargo.lock\r\n");
    let colours = full("\u{1b}[38;5;196m\u{2588}\u{1b}[0m \u{1b}[1m\u{2500}");
    let mut group = criterion.benchmark_group("what does a full output frame cost");
    let mut out = Vec::new();
    for (content, bytes) in [("text", &text), ("colours", &colours)] {
        group.throughput(Throughput::Bytes(bytes.len() as u64));
        for (name, protocol) in [("protocol 1", Protocol::One), ("protocol 2", Protocol::Two)] {
            let (front, back) = bytes.split_at(1000);
            group.bench_function(format!("{name}, {content}"), |bencher| {
                bencher.iter(|| {
                    out.clear();
                    put_output(protocol, 123_456_789, false, [black_box(front), back], &mut out);
                });
            });
        }
    }
}

fn what_does_a_keystroke_cost(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("what does a keystroke cost");
    let text = keystroke();
    group.bench_function("to parse", |bencher| {
        bencher.iter(|| parse_client(black_box(&text), Protocol::Two));
    });
    let frame = masked(Opcode::Text, text.as_bytes());
    let (mut codec, mut input, mut out) = (Codec::server(MESSAGE_BYTES_MAX), Vec::new(), Vec::new());
    group.bench_function("to read from its websocket", |bencher| {
        bencher.iter(|| {
            input.extend_from_slice(black_box(&frame));
            assert!(matches!(codec.read(&mut input, &mut out), Ok(Some(_))));
            assert!(matches!(codec.read(&mut input, &mut out), Ok(None)));
        });
    });
}

fn what_does_a_flood_cost(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("what does 64 KiB of one peer cost");
    let floods = [
        ("keystrokes", masked(Opcode::Text, keystroke().as_bytes())),
        ("empty frames", masked(Opcode::Binary, b"")),
        ("a paste", masked(Opcode::Binary, &[b'x'; 65_000])),
    ];
    for (name, frame) in floods {
        let flood = frame.repeat((65_536 / frame.len()).max(1));
        group.throughput(Throughput::Bytes(flood.len() as u64));
        let (mut codec, mut out) = (Codec::server(MESSAGE_BYTES_MAX), Vec::new());
        group.bench_function(name, |bencher| {
            let read = |mut input: Vec<u8>| while let Ok(Some(_)) = codec.read(&mut input, &mut out) {};
            bencher.iter_batched(|| flood.clone(), read, BatchSize::LargeInput);
        });
    }
    let request = b"GET /v1/terminals HTTP/1.1\r\nHost: localhost:3000\r\nAccept: */*\r\n\r\n";
    let flood = request.repeat(65_536 / request.len());
    group.throughput(Throughput::Bytes(flood.len() as u64));
    group.bench_function("pipelined requests", |bencher| {
        let read = |mut input: Vec<u8>| {
            let mut reader = RequestReader::new();
            while let Ok(Some(_)) = reader.next(&mut input) {}
        };
        bencher.iter_batched(|| flood.clone(), read, BatchSize::LargeInput);
    });
}

criterion_group!(
    benches,
    what_does_a_full_output_frame_cost,
    what_does_a_keystroke_cost,
    what_does_a_flood_cost
);
criterion_main!(benches);
