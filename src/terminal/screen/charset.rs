//! Character sets (ISO 2022 as far as terminals have it): what a byte of text stands for while another
//! set than ASCII is in use. The sets and their holes are xterm.js's.

/// A set, named by the final byte of the sequence that selects it; `B` is ASCII.
pub(super) type Charset = u8;

pub(super) const ASCII: Charset = b'B';

/// Finals that select a set, and the one whose table it has.
pub(super) fn by_final(code: u8) -> Option<Charset> {
    match code {
        b'0' | b'A' | b'B' | b'4' | b'C' | b'R' | b'Q' | b'K' | b'Y' | b'E' | b'Z' | b'H' | b'=' => {
            Some(code)
        }
        b'5' => Some(b'C'),
        b'6' => Some(b'E'),
        b'7' => Some(b'H'),
        _ => None,
    }
}

/// Characters of the national sets, in pairs: the ASCII one and what it stands for.
fn pairs(set: Charset) -> &'static str {
    match set {
        b'A' => "#£",
        b'4' => "#£@¾[i\\½]|{¨|f}¼~´",
        b'C' => "[Ä\\Ö]Å^Ü`é{ä|ö}å~ü",
        b'R' => "#£@à[°\\ç]§{é|ù}è~¨",
        b'Q' => "@à[â\\ç]ê^î`ô{é|ù}è~û",
        b'K' => "@§[Ä\\Ö]Ü{ä|ö}ü~ß",
        b'Y' => "#£@§[°\\ç]é`ù{à|ò}è~ì",
        b'E' => "@Ä[Æ\\Ø]Å^Ü`ä{æ|ø}å~ü",
        b'Z' => "#£@§[¡\\Ñ]¿{°|ñ}ç",
        b'H' => "@É[Ä\\Ö]Å^Ü`é{ä|ö}å~ü",
        b'=' => "#ù@à[é\\ç]ê^î_è`ô{ä|ö}ü~û",
        _ => "",
    }
}

/// DEC Special Graphics from `` ` `` to `~`.
const GRAPHICS: &str = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";

/// What a printable ASCII character stands for in a set.
pub(super) fn translate(set: Charset, c: char) -> char {
    match (set, c) {
        (ASCII, _) => c,
        (b'0', '`'..='~') => GRAPHICS.chars().nth(c as usize - '`' as usize).unwrap_or(c),
        _ => {
            let mut chars = pairs(set).chars();
            while let (Some(from), Some(to)) = (chars.next(), chars.next()) {
                if from == c {
                    return to;
                }
            }
            c
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_set(set: Charset, text: &str) -> String {
        text.chars().map(|c| translate(set, c)).collect()
    }

    #[test]
    fn dec_graphics_draw_boxes_and_leave_capitals_alone() {
        assert_eq!(in_set(b'0', "lqk Ax"), "┌─┐ A│");
        assert_eq!(in_set(b'0', "`~_"), "◆·_");
    }

    #[test]
    fn national_sets_replace_only_their_own_characters() {
        assert_eq!(in_set(b'A', "#1"), "£1");
        assert_eq!(in_set(b'K', "[]{}a"), "ÄÜäüa");
        assert_eq!(in_set(ASCII, "#[]"), "#[]");
    }
}
