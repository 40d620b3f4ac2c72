//! What the model shows, and what it must survive. Whether it shows what the client shows is decided in
//! `tests/fidelity`.

use proptest::prelude::*;

use super::*;

fn blank(cols: u64, rows: u64) -> Screen {
    Screen::new(GridSize::new(cols, rows).unwrap(), 100)
}

fn fed(cols: u64, rows: u64, bytes: &str) -> Screen {
    let mut screen = blank(cols, rows);
    screen.feed(bytes.as_bytes(), None);
    screen
}

fn text(cols: u64, rows: u64, bytes: &str) -> String {
    fed(cols, rows, bytes).text(usize::MAX)
}

fn reset(screen: &mut Screen) -> String {
    let mut out = Vec::new();
    screen.put_reset(&mut out);
    String::from_utf8(out).unwrap()
}

fn answers(bytes: &str) -> String {
    let mut replies = Vec::new();
    blank(80, 24).feed(bytes.as_bytes(), Some(&mut replies));
    String::from_utf8(replies).unwrap().replace('\x1b', "^")
}

#[test]
fn text_joins_wrapped_rows_and_trims_blanks() {
    assert_eq!(text(10, 3, "one\r\n0123456789abc\r\n\r\nlast   "), "one\n0123456789abc\n\nlast");
    assert_eq!(text(10, 3, ""), "");
    assert_eq!(text(4, 2, "漢字漢字漢"), "漢字漢字漢");
    assert_eq!(text(5, 2, "漢字漢\r\n\x1b[31me\u{301}\x1b[m❤\u{fe0f}"), "漢字漢\ne\u{301}❤\u{fe0f}");
}

#[test]
fn text_keeps_as_many_lines_of_scrollback_as_asked() {
    let mut screen = fed(10, 2, "1\r\n2\r\n3\r\n4");
    assert_eq!(screen.scrollback_lines(), 2);
    assert_eq!(screen.text(1), "2\n3\n4");
    assert_eq!(screen.text(0), "3\n4");
}

#[test]
fn the_alternate_screen_has_no_scrollback_and_gives_the_normal_one_back() {
    let mut screen = fed(10, 2, "1\r\n2\r\n3\x1b[?1049hA\r\nB\r\nC");
    assert!(screen.alternate());
    assert_eq!(screen.text(0), "B\nC".replace("B", "     B".trim_start()));
    screen.feed(b"\x1b[?1049l", None);
    assert!(!screen.alternate());
    assert_eq!(screen.text(usize::MAX), "1\n2\n3");
}

#[test]
fn titles_and_directories_are_told() {
    let mut screen = fed(10, 2, "\x1b]0;first\x07\x1b[22t\x1b]2;se\u{1b}\\");
    assert_eq!(screen.title(), "se");
    screen.feed(b"\x1b[23t", None);
    assert_eq!(screen.title(), "first");
    assert_eq!(screen.told_cwd(), None);
    screen.feed(b"\x1b]7;file://host/srv/a%20b\x1b\\", None);
    assert_eq!(screen.told_cwd(), Some("/srv/a b"));
}

#[test]
fn a_full_row_keeps_the_cursor_in_its_last_column() {
    let mut screen = fed(10, 4, "0123456789");
    assert_eq!(screen.cursor(), (0, 9));
    screen.feed(b"X", None);
    assert_eq!(screen.cursor(), (1, 1));
}

#[test]
fn queries_are_answered_with_the_state_at_that_point() {
    assert_eq!(answers("\x1b[c\x1b[>c\x1b[5n"), "^[?1;2c^[>0;276;0c^[0n");
    assert_eq!(answers("ab\x1b[6n\r\n\x1b[6n\x1b[?6n"), "^[1;3R^[2;1R^[?2;1R");
    assert_eq!(answers("\x1b[?2026$p\x1b[?2004h\x1b[?2004$p\x1b[4$p"), "^[?2026;2$y^[?2004;1$y^[4;2$y");
    assert_eq!(answers("\x1b[?9999$p"), "^[?9999;0$y");
    assert_eq!(
        answers("\x1b]11;?\x07\x1b]11;#102030\x07\x1b]11;?\x1b\\"),
        "^]11;rgb:0000/0000/0000^\\^]11;rgb:1010/2020/3030^\\"
    );
    assert_eq!(answers("\x1b[3;9r\x1bP$qr\x1b\\\x1bP$qz\x1b\\"), "^P1$r3;9r^\\^P0$r^\\");
    assert_eq!(answers("\x1b[>q"), "^P>|xterm.js(6.0.0)^\\");
    assert_eq!(answers("\x1b[1c\x1b[?u\x1b[14t\x1b[21t"), "", "what xterm.js does not answer");
}

#[test]
fn nothing_is_answered_unless_asked_for() {
    let mut screen = fed(80, 24, "\x1b[c\x1b[6n");
    let mut replies = Vec::new();
    screen.feed(b"x", Some(&mut replies));
    assert_eq!(replies, b"");
}

#[test]
fn a_reset_has_no_query_and_nothing_of_the_program_that_acts() {
    let bell_in_link = "\x1b]8;;http://x/\u{7f}31m\u{202e}y\x1b\\link\x1b]8;;\x1b\\";
    let title = "\x1b]2;a\u{202e}b\u{7f}c\x07\x1b]7;file:///x%07%1b]y\x07";
    let mut screen =
        fed(40, 4, &format!("{bell_in_link}{title}\x1b[?2026h\x1b[c\x1b[6n\x1b]11;?\x07\x1b]4;1;?\x07"));
    let told = reset(&mut screen);
    assert!(told.starts_with("\x1bc"), "{told:?}");
    for part in ["2026", "\x1b[c", "6n", "?\x07", ";?", "\u{7f}", "\u{202e}", "\x07"] {
        assert!(!told.contains(part), "{part:?} in {told:?}");
    }
    assert!(told.contains("http://x/31my") && told.contains("\x1b]2;abc\x1b\\"), "{told:?}");
}

#[test]
fn a_reset_inside_a_sequence_ends_with_its_start() {
    for start in
        ["\x1b", "\x1b[", "\x1b[38;5", "\x1b[?104", "\x1b(", "\x1b]2;ti", "\x1bPq#0;2;0;0;0#0~", "\x1b_"]
    {
        let mut screen = fed(20, 3, start);
        assert!(!screen.at_ground());
        assert!(reset(&mut screen).ends_with(start), "{start:?}");
    }
    let mut screen = fed(20, 3, "\x1b[3\n1");
    assert!(reset(&mut screen).ends_with("\x1b[31"), "a control in it was executed already");
}

#[test]
fn what_continues_a_string_too_long_to_keep_is_swallowed() {
    for (start, end) in [("\x1b]52;c;", "\x07"), ("\x1bPq", "\x1b\\"), ("\x1b_G", "\x1b\\"), ("\x1b[", "m")] {
        let filling = if start == "\x1b[" { "1;" } else { "AA" };
        let mut screen = blank(20, 3);
        screen.feed(start.as_bytes(), None);
        for _ in 0..100 {
            screen.feed(filling.repeat(1000).as_bytes(), None);
        }
        let told = reset(&mut screen);
        assert!(told.len() < 1000, "{start:?}: {} bytes", told.len());
        let mut late = blank(20, 3);
        late.feed(told.as_bytes(), None);
        late.feed(format!("{filling}{end}next").as_bytes(), None);
        assert_eq!(late.text(0), "next", "{start:?}");
    }
}

#[test]
fn feed_to_ground_stops_between_two_sequences() {
    let mut screen = fed(20, 3, "\x1b[3");
    assert_eq!(screen.feed_to_ground(b"1mred"), 2);
    assert!(screen.at_ground());
    assert_eq!(screen.feed_to_ground(b"red"), 0);
    let mut screen = blank(20, 3);
    screen.feed(&"é".as_bytes()[..1], None);
    assert!(!screen.at_ground());
    assert_eq!(screen.feed_to_ground(&"é!".as_bytes()[1..]), 1);
    assert_eq!(screen.text(0), "é");
    let mut screen = fed(20, 3, "\x1b]2;");
    assert_eq!(screen.feed_to_ground(b"abc"), 3);
}

#[test]
fn wide_characters_at_edges_and_in_one_column_harm_nothing() {
    let mut screen = fed(4, 2, "ab你");
    screen.resize(GridSize::new(3, 2).unwrap());
    screen.feed("\x1b[Kx\x1b[1;2Hy".as_bytes(), None);
    reset(&mut screen);
    for bytes in ["你好", "👨\u{200d}👩", "a\u{301}\u{301}", "\u{301}", "\x1b[4h你", "\x1b[?7l你你"]
    {
        let mut screen = fed(1, 3, bytes);
        reset(&mut screen);
        screen.resize(GridSize::new(2, 1).unwrap());
        screen.resize(GridSize::new(1, 1).unwrap());
        reset(&mut screen);
    }
}

#[test]
fn memory_is_bounded_against_any_program() {
    let mut screen = blank(20, 3);
    for _ in 0..1000 {
        screen.feed("\u{301}".repeat(1000).as_bytes(), None);
    }
    screen.feed(b"a", None);
    for _ in 0..1000 {
        screen.feed("\u{301}".repeat(1000).as_bytes(), None);
    }
    // Wide characters that are lost at the edge, and what joins the cell that is there in their place.
    for lost in ["\u{1f44d}\u{301}", "z\u{1f44d}\u{301}", "\u{301}\u{1f44d}", "\u{1f44d}\u{301}\x1b[9b"] {
        for before in ["\x1b[?7l", "\x1b[?7l\x1b[4h", "\x1b[?7l\x1b[19G漢", "\x1b[?7l\x1b[19Gyz\x1b[20G"] {
            let mut screen = blank(20, 3);
            screen.feed([before, &lost.repeat(1000)].concat().as_bytes(), None);
            assert!(reset(&mut screen).len() < 1000, "{before:?} {lost:?}");
        }
    }
    for i in 0..100_000 {
        screen
            .feed(format!("\x1b[22t\x1b[>1u\x1b]8;;http://x/{i}{}\x07y\r", "z".repeat(100)).as_bytes(), None);
    }
    assert!(reset(&mut screen).len() < 20_000, "{}", reset(&mut screen).len());
    assert!(screen.links.end() < 5000, "{}", screen.links.end());
    for i in 0..300_000u32 {
        let [_, r, g, b] = i.to_be_bytes();
        screen.feed(format!("\x1b[1;3H\x1b[38;2;{r};{g};{b}mx").as_bytes(), None);
    }
    assert!(!screen.paint.is_crowded(60));
    assert_eq!(screen.text(0).lines().count(), 1);
}

#[test]
fn huge_counts_take_no_time() {
    for count in ["0", "65535", "65536", "2147483647", "99999999999999999999"] {
        let mut screen = blank(80, 24);
        for last in "@ABCDEFGHILMPSTXZ`abdefgr".chars() {
            screen.feed(format!("x\x1b[{count}{last}\x1b[{count};{count}{last}").as_bytes(), None);
        }
        reset(&mut screen);
    }
}

/// Pieces of output, from harmless to hostile.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        "[ -~]{1,30}",
        "[ -~]{80,200}",
        Just("漢字かな한글".to_owned()),
        Just("e\u{301}❤\u{fe0f}👍\u{1f3fd}\u{200b}".to_owned()),
        Just("─│┌┐\u{fffd}\u{85}\u{9b}3m".to_owned()),
        Just("\r\n".to_owned()),
        "[\r\n\t\u{8}\u{b}\u{e}\u{f}]",
    ];
    let number = || prop_oneof![0..4u32, 0..100u32, Just(999), Just(65_535), Just(u32::MAX)];
    let csi =
        (prop::sample::select(vec!["", "?", ">", "=", "<"]), prop::collection::vec(number(), 0..4), "[@-~]")
            .prop_map(|(prefix, numbers, last)| {
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                format!("\x1b[{prefix}{}{last}", numbers.join(";"))
            });
    let mode = (
        prop::sample::select(vec![1, 6, 7, 25, 45, 47, 66, 1000, 1004, 1006, 1047, 1048, 1049, 2004]),
        "[hl]",
    )
        .prop_map(|(mode, last)| format!("\x1b[?{mode}{last}"));
    let sgr =
        prop::collection::vec(prop_oneof![0..110u32, Just(38), Just(48), Just(58), Just(5), Just(2)], 0..6)
            .prop_map(|numbers| {
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                format!("\x1b[{}m", numbers.join(";"))
            });
    let other = prop::sample::select(vec![
        "\x1b7",
        "\x1b8",
        "\x1bD",
        "\x1bE",
        "\x1bH",
        "\x1bM",
        "\x1bc",
        "\x1b(0",
        "\x1b(B",
        "\x1b)0",
        "\x1bn",
        "\x1bo",
        "\x1b#8",
        "\x1b[4h",
        "\x1b[4l",
        "\x1b[20h",
        "\x1b[!p",
        "\x1b[1\"q",
        "\x1b]8;;http://x/1\x07",
        "\x1b]8;;\x1b\\",
        "\x1b]2;t\x07",
        "\x1b]4;1;#123;2;?\x07",
        "\x1b[2;5r",
        "\x1b[r",
        "\x1bPq~\x1b\\",
        "\x1b_Gx\x1b\\",
        "\x1b[3\n4",
        "\x1b]2;",
        "\x1bP",
        "\x1b[",
    ])
    .prop_map(str::to_owned);
    prop_oneof![
        4 => text.prop_map(String::into_bytes),
        3 => csi.prop_map(String::into_bytes),
        2 => sgr.prop_map(String::into_bytes),
        2 => mode.prop_map(String::into_bytes),
        2 => other.prop_map(String::into_bytes),
        1 => prop::collection::vec(any::<u8>(), 0..20),
    ]
}

/// A piece of output, and the size the terminal gets after it.
type Step = (Vec<u8>, Option<(u64, u64)>);

/// A stream, with resizes between its pieces.
fn stream() -> impl Strategy<Value = Vec<Step>> {
    let size = prop::option::weighted(0.1, (1..100u64, 1..30u64));
    prop::collection::vec((piece(), size), 1..60)
}

fn play(stream: &[Step], cut: usize) -> Screen {
    let mut screen = blank(20, 5);
    for (bytes, size) in stream {
        for part in bytes.chunks(cut) {
            screen.feed(part, None);
        }
        if let Some((cols, rows)) = size {
            screen.resize(GridSize::new(*cols, *rows).unwrap());
        }
    }
    screen
}

fn valid(bytes: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(bytes).into_owned().into_bytes()
}

/// As [`play`], as a terminal does it, with little scrollback.
fn foreseen(stream: &[Step]) -> Screen {
    let mut screen = Screen::new(GridSize::new(20, 5).unwrap(), 6);
    for (bytes, size) in stream {
        let text = valid(bytes);
        screen.foresee(&text);
        screen.feed(&text, None);
        if let Some((cols, rows)) = size {
            screen.resize(GridSize::new(*cols, *rows).unwrap());
        }
    }
    screen
}

/// Frames: rows painted again and again, mostly as a whole.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let go = prop_oneof![
        10 => (0..7u32).prop_map(|row| format!("\x1b[{row};1H")),
        2 => (0..7u32, 0..25u32).prop_map(|(row, col)| format!("\x1b[{row};{col}H")),
        1 => prop::sample::select(vec![
            "\x1b[H", "\x1b[H\x1b[2J", "\x1b[H\x1b[J", "\x1b[3;1H\x1b[J", "\x1b[J", "\x1b[2J", "\x1b[3d", "\r", "\x1b[G", "\x1b[9`",
        ]).prop_map(str::to_owned),
    ];
    let text = prop_oneof![
        6 => "[ -~]{0,6}",
        2 => (0..110u32).prop_map(|n| format!("\x1b[{n}m")),
        1 => prop::sample::select(vec![
            "漢字", "e\u{301}", "\u{301}", "❤\u{fe0f}", "\t", "\x1b[C", "\x1b[2D", "\x1b[m", "\x1b[0m", "\x1b[?25l", "\x1b[?25h", "\x1b[K",
            "\x1b[1K", "\x1b[2K", "\x1b[3X", "\x1b[P", "\x1b[@", "\x1b]2;t\x07", "\x1b]8;;http://x/1\x07", "\x1b]8;;\x07",
            "\x1b\u{feff}[A",
        ]).prop_map(str::to_owned),
    ];
    let end =
        prop_oneof![10 => Just("\x1b[K"), 5 => Just("\x1b[m\x1b[K"), 5 => Just("\x1b[K\r\n"), 1 => Just("")];
    let row = (go, prop::collection::vec(text, 0..4), end)
        .prop_map(|(go, text, end)| (go + &text.concat() + end).into_bytes());
    prop::collection::vec(prop_oneof![100 => row, 1 => piece()], 0..80).prop_map(|rows| rows.concat())
}

#[test]
fn frames_that_were_painted_over_are_passed_over() {
    let frame = |row_end: &str| {
        (1..=5)
            .map(|row| format!("\x1b[{row};1H\x1b[7mrow {row}\x1b[m{row_end}"))
            .collect::<String>()
            .into_bytes()
    };
    let passed = |before: &[u8], text: &[u8]| {
        let mut screen = foreseen(&[(before.to_vec(), None)]);
        screen.foresee(text);
        screen.pass_over([text, &[]], None)
    };
    let whole = [b"\x1b[?25l\x1b[H".to_vec(), frame("\x1b[K"), b"\x1b[?25h".to_vec()].concat();
    let home = b"\x1b[1;1H".len() + b"\x1b[?25l\x1b[H".len();
    for before in ["\x1b[H", "\x1b[?1049h\x1b[H"] {
        assert_eq!(passed(before.as_bytes(), &whole.repeat(10)), whole.len() * 9 + home);
    }
    assert_eq!(passed(b"\x1b[H", &frame("").repeat(10)), 0, "the rest of each row may be older");
    assert_eq!(passed(b"\x1b[H", &frame("and more than fits\x1b[K").repeat(10)), 0, "it wraps");
    assert_eq!(passed(b"\x1b[?6h\x1b[H", &whole.repeat(10)), 0, "rows count from the region");
    assert_eq!(passed(b"\x1b[2;4r\x1b[H", &whole.repeat(10)), 0);
    for odd in [
        "\x1b[5;1H\n",
        "\x1b[A",
        "\x1b[L",
        "\x1b7",
        "\x1bM",
        "\x1b[?1049h",
        "\x1b(0",
        "\x1b[6n",
        "\x1b\u{feff}[A",
    ] {
        assert_eq!(passed(b"\x1b[H", &[&whole, odd.as_bytes(), &whole].concat()), 0, "{odd:?}");
    }
}

#[test]
fn a_flood_of_lines_is_passed_over_but_for_the_last_ones() {
    let lines = |n: usize| "\x1b[31mcoloured\x1b[m line\r\n".repeat(n).into_bytes();
    let passed = |before: &[u8], text: &[u8]| {
        let mut screen = foreseen(&[(before.to_vec(), None)]);
        screen.foresee(text);
        screen.pass_over([text, &[]], None)
    };
    let (all, last) = (lines(1000).len(), lines(6 + 5).len());
    assert_eq!(passed(b"", &lines(1000)), all - last);
    assert_eq!(passed(b"", &lines(6 + 5)), 0, "all of them can still be seen");
    assert_eq!(passed(b"\x1b[2;3r", &lines(1000)), 0, "the last row does not scroll");
    assert_eq!(passed(b"\x1b[?1049h", &lines(1000)), 0);
    assert_eq!(passed(b"\x1b[3", &lines(1000)), all - last, "a sequence that was begun is ended first");
    for odd in [
        "\x1b[A",
        "\x1b[H",
        "\x1b[6n",
        "\u{9b}A",
        "\u{9b}31m",
        "\u{9b}?25l",
        "\u{9d}2;title\u{7}",
        "\x0e",
        "\x1b7",
        "\x1b_x\x1b\\",
        "\x1b]2;\n\x07",
        "\x1b[\n1m",
    ] {
        assert_eq!(passed(b"", &[&lines(500), odd.as_bytes(), &lines(500)].concat()), 0, "{odd:?}");
    }
    let mut screen = foreseen(&[]);
    let text =
        [b"\x1b]2;title\x07\x1b[?25l\x1b[4m".to_vec(), lines(100), b"\x1b[7m".repeat(2), lines(20)].concat();
    screen.foresee(&text);
    screen.pass_over([&text, &[]], None);
    assert_eq!((screen.title(), screen.cursor_visible(), screen.cursor()), ("title", false, (4, 0)));
}

/// Floods: mostly lines, of anything that may stand in one, cut off at any place.
fn flood() -> impl Strategy<Value = Vec<u8>> {
    let inline = prop_oneof![
        4 => "[ -~]{0,30}",
        1 => Just("漢字かな한글".to_owned()),
        1 => Just("e\u{301}❤\u{fe0f}👍\u{1f3fd}\u{200b}\u{a0}«é».\u{7f}".to_owned()),
        1 => "[\t\r\u{7}\u{8}]",
        2 => (0..110u32).prop_map(|n| format!("\x1b[{n}m")),
        1 => prop::sample::select(vec![
            "\x1b[m", "\x1b[0m", "\x1b[1;31;4:3m", "\x1b[48;5;7m", "\x1b[K", "\x1b[1K", "\x1b[5G", "\x1b[3C", "\x1b[2D",
            "\x1b[2P", "\x1b[2@", "\x1b[4X", "\x1b[?25l", "\x1b[?25h", "\x1b[?2026l", "\x1b[?2004h", "\x1b]2;tïtle\x1b\\",
            "\x1b]8;;http://x/1\x07", "\x1b]8;id=2;http://x/2\x1b\\", "\x1b]8;;\x1b\\", "\x1b]133;A\x07", "\x1b]11;?\x07",
            "\u{9b}31m", "\u{9b}?25l", "\u{9d}2;t\u{9c}",
        ]).prop_map(str::to_owned),
    ];
    let end = prop_oneof![20 => Just("\r\n"), 1 => Just("\n"), 1 => Just("\x1b[m\r\n")];
    let line = (prop::collection::vec(inline, 0..5), end)
        .prop_map(|(parts, end)| (parts.concat() + end).into_bytes());
    let lines = prop::collection::vec(prop_oneof![60 => line, 1 => piece()], 0..120);
    lines.prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn how_the_stream_is_cut_changes_nothing(stream in stream()) {
        let mut whole = play(&stream, usize::MAX);
        let mut bytes = play(&stream, 1);
        prop_assert_eq!(reset(&mut whole), reset(&mut bytes));
        prop_assert_eq!(whole.text(usize::MAX), bytes.text(usize::MAX));
        prop_assert_eq!(whole.at_ground(), bytes.at_ground());
    }

    #[test]
    fn passing_over_changes_nothing(before in stream(), floods in prop::collection::vec((prop_oneof![flood(), frames()], 0..100u8, 0..100u8), 1..4),
                                    after in stream()) {
        let (mut whole, mut passing) = (foreseen(&before), foreseen(&before));
        let mut answers = [Vec::new(), Vec::new()];
        for (text, seam, fed) in floods {
            let text = valid(&text);
            let percent = |n: u8| text.len() * usize::from(n) / 100;
            whole.feed(&text, Some(&mut answers[0]));
            passing.foresee(&text);
            let fed = percent(fed / 2);
            passing.feed(&text[..fed], Some(&mut answers[1]));
            let seam = percent(seam).max(fed);
            let passed = passing.pass_over([&text[fed..seam], &text[seam..]], Some(&mut answers[1]));
            passing.feed(&text[fed + passed..], Some(&mut answers[1]));
            prop_assert_eq!(reset(&mut whole), reset(&mut passing));
        }
        prop_assert_eq!(&answers[0], &answers[1]);
        for cursor in 0..=whole.fed {
            prop_assert_eq!(whole.is_inside_string(cursor), passing.is_inside_string(cursor));
        }
        for (bytes, _) in &after {
            whole.feed(bytes, None);
            passing.feed(bytes, None);
        }
        prop_assert_eq!(reset(&mut whole), reset(&mut passing));
        prop_assert_eq!(whole.text(usize::MAX), passing.text(usize::MAX));
    }

    #[test]
    fn resting_changes_nothing(stream in stream(), more in stream()) {
        let mut rested = play(&stream, usize::MAX);
        let mut restless = play(&stream, usize::MAX);
        rested.rest();
        prop_assert_eq!(reset(&mut rested), reset(&mut restless));
        for (bytes, _) in &more {
            rested.feed(bytes, None);
            rested.rest();
            restless.feed(bytes, None);
        }
        prop_assert_eq!(reset(&mut rested), reset(&mut restless));
    }

    #[test]
    fn a_late_screen_shows_the_same_text(stream in stream()) {
        let mut early = play(&stream, usize::MAX);
        // With one row there is no row above to mend after wrapping; xterm.js has no single column.
        prop_assume!(early.rows > 1 && early.cols > 1);
        // In origin mode no control takes the cursor out of the region; only the other screen's return does.
        let active = early.active();
        prop_assume!(!early.modes.origin || (active.top..=active.bottom).contains(&active.y));
        let mut late = Screen::new(early.size(), 100);
        late.feed(reset(&mut early).as_bytes(), None);
        prop_assert_eq!(early.alternate(), late.alternate());
        prop_assert_eq!(early.cursor(), late.cursor());
        prop_assert_eq!(early.cursor_visible(), late.cursor_visible());
        // An empty cell that shows a line or a link is told as a blank, so blanks do not count.
        let told = |screen: &mut Screen| screen.text(usize::MAX).replace(' ', "");
        prop_assert_eq!(told(&mut early), told(&mut late));
    }
}
