//! How fast does the screen model follow a terminal's output, by kind of text, beside vt100 alone; and how
//! long does a reset take?

use std::fmt::Write as _;
use std::hint::black_box;
use std::num::NonZeroU16;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wharf::terminal::GridSize;
use wharf::terminal::screen::Screen;

const BYTES: usize = 4 << 20;
const SLICE_BYTES: usize = 64 << 10;

fn numbers() -> impl FnMut(usize) -> usize {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    }
}

fn filled(mut line: impl FnMut(&mut String)) -> Vec<u8> {
    let mut text = String::with_capacity(BYTES + 8192);
    while text.len() < BYTES {
        line(&mut text);
    }
    text.into_bytes()
}

/// A server's log, 60 to 130 columns.
fn log() -> Vec<u8> {
    let mut next = numbers();
    let mut n = 0;
    filled(|text| {
        n += 1;
        let path = "abcdefghijklmnopqrstuvwxyz/abcdefghijklmnopqrstuvwxyz/index.html";
        let path = &path[..next(path.len())];
        let _ = write!(
            text,
            "2026-11-30T12:00:{:02}.{:06} INFO request {n} GET /{path} 200 {}us\r\n",
            n % 60,
            next(1_000_000),
            next(90_000)
        );
    })
}

/// `ls --color`, compilers, test runners: several SGR a line.
fn coloured() -> Vec<u8> {
    let mut next = numbers();
    filled(|text| {
        for _ in 0..1 + next(8) {
            let _ = write!(text, "\x1b[{};{}mword{}\x1b[0m ", next(2), 30 + next(8), next(1000));
        }
        let _ = write!(
            text,
            "\x1b[38;5;{}mpalette\x1b[38;2;{};{};{}mtrue\x1b[m\r\n",
            next(256),
            next(256),
            next(256),
            next(256)
        );
    })
}

fn cjk() -> Vec<u8> {
    let mut next = numbers();
    filled(|text| {
        for _ in 0..10 + next(30) {
            text.push(char::from_u32(0x4e00 + next(0x5000) as u32).unwrap_or('漢'));
        }
        text.push_str(if next(4) == 0 { "😀 한글\r\n" } else { " かな\r\n" });
    })
}

/// A full-screen program that paints all cells again and again.
fn redraws() -> Vec<u8> {
    let mut next = numbers();
    filled(|text| {
        text.push_str("\x1b[H");
        for row in 1..=36 {
            let _ = write!(text, "\x1b[{row};1H\x1b[7m{:>6}\x1b[27m ", next(100_000));
            for _ in 0..10 {
                let _ = write!(text, "\x1b[3{}m{:<10}", next(8), next(1_000_000));
            }
            text.push_str("\x1b[m");
        }
    })
}

fn size() -> GridSize {
    GridSize::new(120, 36).unwrap_or_else(|| unreachable!())
}

fn follow(c: &mut Criterion) {
    let mut group = c.benchmark_group("follow");
    group.sample_size(10).throughput(Throughput::Bytes(BYTES as u64));
    for (name, text) in [("log", log()), ("coloured", coloured()), ("cjk", cjk()), ("redraws", redraws())] {
        group.bench_function(format!("{name}/screen"), |b| {
            b.iter(|| {
                let mut screen = Screen::new(size(), 1000);
                text.chunks(SLICE_BYTES).for_each(|slice| screen.feed(slice, None));
                black_box(screen.cursor())
            });
        });
        group.bench_function(format!("{name}/vt100"), |b| {
            b.iter(|| {
                let side = |n| NonZeroU16::new(n).unwrap_or(NonZeroU16::MIN);
                let mut parser = vt100::Parser::new(side(36), side(120), 1000);
                text.chunks(SLICE_BYTES).for_each(|slice| parser.process(slice));
                black_box(parser.screen().cursor_position())
            });
        });
    }
    group.finish();
}

fn reset(c: &mut Criterion) {
    let mut group = c.benchmark_group("reset");
    for (name, text) in [("log", log()), ("coloured", coloured()), ("cjk", cjk()), ("redraws", redraws())] {
        let mut screen = Screen::new(GridSize::new(200, 50).unwrap_or_else(|| unreachable!()), 1000);
        screen.feed(&text, None);
        group.bench_function(format!("{name}/200x50+1000"), |b| {
            b.iter(|| {
                let mut out = Vec::new();
                screen.put_reset(&mut out);
                black_box(out.len())
            });
        });
    }
    group.finish();
}

criterion_group!(benches, follow, reset);
criterion_main!(benches);
