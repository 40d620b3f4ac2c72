//! Takes the queries out of output that is history.
//!
//! Replayed output can hold terminal queries that were answered long ago. The outer terminal would answer
//! them again, and the answers would be typed into the prompt. They are dropped before it sees them; what
//! else stands in history passes unchanged.

use super::scan::{Csi, Piece, Scanner, Writer, string_body};
use crate::limits::CLI_SEQUENCE_BYTES_MAX;

const ENQ: u8 = 0x05;

/// The filter for one stretch of history, which may be fed in pieces.
pub(super) struct HistoryFilter {
    scanner: Scanner,
    is_reset: bool,
}

impl HistoryFilter {
    /// For replayed output.
    pub(super) fn new() -> HistoryFilter {
        HistoryFilter { scanner: Scanner::new(Writer::Program, CLI_SEQUENCE_BYTES_MAX), is_reset: false }
    }

    /// For a reset, which begins by clearing everything. The user's own scrollback is not the server's to clear, so
    /// that beginning (`ESC c`, `ESC [ 3 J`) is left out as well; see [`put_clean_slate`].
    pub(super) fn for_reset() -> HistoryFilter {
        HistoryFilter { is_reset: true, ..HistoryFilter::new() }
    }

    /// Appends `bytes` without its queries. A sequence that is not complete is held back.
    pub(super) fn put(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.scanner.feed(bytes, &mut |piece| match piece {
            Piece::Plain(text) => out.extend(text.iter().filter(|byte| **byte != ENQ)),
            Piece::Sequence(b"\x1bc" | b"\x1b[3J") if self.is_reset => {}
            Piece::Sequence(sequence) if is_query(sequence) => {}
            Piece::Sequence(sequence) => out.extend_from_slice(sequence),
        });
    }

    /// History is over. A sequence that it ended in is completed by live output, so nobody has answered it:
    /// what was held back follows.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.scanner.take_held());
    }
}

/// Appends what stands in for the `ESC c` of a reset, after the modes were restored: a soft reset, and a blank
/// screen of `rows` rows. What was on the screen goes up into the user's scrollback when it is `kept`.
pub(super) fn put_clean_slate(rows: u16, kept: bool, out: &mut Vec<u8>) {
    if kept {
        out.extend_from_slice(format!("\x1b[{rows};1H").as_bytes());
        out.extend(std::iter::repeat_n(b'\n', rows.into()));
    }
    // DECSTR switches wrapping off on some terminals.
    out.extend_from_slice(b"\x1b[!p\x1b[?7h\x1b[H\x1b[2J");
}

/// Whether a terminal would answer (xterm's control sequences, kitty's keyboard and graphics protocols).
pub(super) fn is_query(sequence: &[u8]) -> bool {
    if let Some((kind, body)) = string_body(sequence) {
        return match kind {
            b']' => is_osc_query(body),
            // DECRQSS, XTGETTCAP.
            b'P' => body.starts_with(b"$q") || body.starts_with(b"+q"),
            // Kitty graphics: "can you?".
            b'_' => body.starts_with(b"G") && control_keys(&body[1..]).any(|key| key == b"a=q"),
            _ => false,
        };
    }
    if sequence == b"\x1bZ" {
        return true; // DECID
    }
    let Some(csi) = Csi::parse(sequence) else { return false };
    match (csi.marker, csi.intermediates, csi.last) {
        // DA1, DA2, DA3.
        (0 | b'>' | b'=', b"", b'c') => true,
        // DSR and its private kin. (`CSI > n` switches key modifiers off.)
        (0 | b'?', b"", b'n') => true,
        // DECRQM.
        (0 | b'?', b"$", b'p') => true,
        // Kitty keyboard flags, XTSMGRAPHICS, XTQMODKEYS.
        (b'?', b"", b'u' | b'S' | b'm') => true,
        // XTVERSION.
        (b'>', b"", b'q') => true,
        // DECREQTPARM.
        (0, b"", b'x') => true,
        // Window reports; 22 and 23 are the title stack.
        (0, b"", b't') => csi.numbers().next().is_some_and(|n| matches!(n, 11..=21)),
        // DECRQCRA, DECRQPSR, DECRQTSR, DECRQUPSS, DECRQDE.
        (0, b"*", b'y') | (0, b"$", b'w' | b'u') | (0, b"&", b'u') | (0, b"\"", b'v') => true,
        _ => false,
    }
}

fn is_osc_query(body: &[u8]) -> bool {
    let mut fields = body.split(|byte| *byte == b';');
    let number = fields.next().unwrap_or_default();
    match number {
        // Colours, font, clipboard, pointer shape: a field that is `?`, or `key=?` in kitty's colours.
        b"4" | b"5" | b"10" | b"11" | b"12" | b"13" | b"14" | b"15" | b"16" | b"17" | b"18" | b"19"
        | b"21" | b"22" | b"50" | b"52" | b"60" | b"61" => {
            fields.any(|field| field.starts_with(b"?") || field.ends_with(b"=?"))
        }
        b"1337" => fields.next().is_some_and(|field| {
            field.starts_with(b"Report") || field.starts_with(b"Request") || field == b"Capabilities"
        }),
        _ => false,
    }
}

fn control_keys(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    body.split(|byte| *byte == b';').next().unwrap_or_default().split(|byte| *byte == b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(history: &str, chunk: usize) -> String {
        let (mut filter, mut out) = (HistoryFilter::new(), Vec::new());
        for bytes in history.as_bytes().chunks(chunk) {
            filter.put(bytes, &mut out);
        }
        filter.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn queries_of_every_kind_are_taken_out() {
        for query in [
            "\x1b[c",
            "\x1b[0c",
            "\x1b[>c",
            "\x1b[>0c",
            "\x1b[=c",
            "\x1b[5n",
            "\x1b[6n",
            "\x1b[?6n",
            "\x1b[?996n",
            "\x1b[?2026$p",
            "\x1b[4$p",
            "\x1b[?u",
            "\x1b[>q",
            "\x1b[>0q",
            "\x1b[?1;1;0S",
            "\x1b[?4m",
            "\x1b[14t",
            "\x1b[18t",
            "\x1b[21t",
            "\x1b[1*y",
            "\x1bP$q q\x1b\\",
            "\x1bP+q544e\x1b\\",
            "\x1b]11;?\x07",
            "\x1b]4;1;?\x07",
            "\x1b]10;?\x1b\\",
            "\x1b]52;c;?\x07",
            "\x1b]21;foreground=?\x1b\\",
            "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
            "\x1bZ",
            "\x05",
        ] {
            for chunk in 1..=query.len() {
                assert_eq!(filtered(&format!("a{query}é"), chunk), "aé", "{query:?} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn what_is_no_query_passes_unchanged() {
        let kept = "text\r\n\x1b[1;31mred\x1b[m\x1b[?1049h\x1b[22;0t\x1b[23t\x1b[8;24;80t\x1b[>4;2m\x1b[>4n\x1b[>1u\x1b[<u\
            \x1b[2 q\x1b[5;10r\x1b]0;what?\x07\x1b]8;;http://a/?b=?\x1b\\link\x1b]8;;\x1b\\\x1b]11;rgb:00/00/00\x07\
            \x1b]52;c;QUFB\x07\x1b]133;A\x07\x1b(0lqk\x1b(B\x1bPq#0\x1b\\\x1b_Ga=T,f=100;AAAA\x1b\\\x1b7\x1b8\x1bc";
        for chunk in 1..40 {
            assert_eq!(filtered(kept, chunk), kept, "in chunks of {chunk}");
        }
    }

    #[test]
    fn a_reset_does_not_clear_the_users_scrollback() {
        let (mut filter, mut out) = (HistoryFilter::for_reset(), Vec::new());
        filter.put(b"\x18\x1bc\x1b[3Ja\x1b[2J\x1b[c\x1b]2;t\x07\x1b[", &mut out);
        filter.finish(&mut out);
        assert_eq!(out, b"\x18a\x1b[2J\x1b]2;t\x07\x1b[");
        out.clear();
        put_clean_slate(3, true, &mut out);
        assert_eq!(out, b"\x1b[3;1H\n\n\n\x1b[!p\x1b[?7h\x1b[H\x1b[2J");
    }

    #[test]
    fn a_sequence_that_history_cuts_is_handed_over_to_live_output() {
        let (mut filter, mut out) = (HistoryFilter::new(), Vec::new());
        filter.put(b"a\x1b[6", &mut out);
        assert_eq!(out, b"a");
        filter.finish(&mut out);
        assert_eq!(out, b"a\x1b[6");
    }
}
