//! Foreign text in our own sentences: short, and without characters that act on a terminal.

/// The most characters of foreign text in one message.
const MOST_CHARS: usize = 200;

/// `text` cut to 200 characters (a cut shows as `…`), its control characters and invisible
/// direction marks escaped.
pub(super) fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    for c in chars.by_ref().take(MOST_CHARS) {
        if c.is_control() || is_invisible(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// Line separators, direction marks and zero-width characters: they reorder or hide what is read.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_letters_are_not() {
        assert_eq!(shown("a\n\u{1b}[2J"), r"a\n\u{1b}[2J");
        assert_eq!(shown("gpj.\u{202e}exe"), r"gpj.\u{202e}exe");
        assert_eq!(shown("καλημέρα \"x\""), "καλημέρα \"x\"");
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let cut = shown(&"ü".repeat(1_000_000));
        assert_eq!(cut.chars().count(), MOST_CHARS + 1);
        assert!(cut.ends_with('…'));
        assert_eq!(shown(&"ü".repeat(MOST_CHARS)), "ü".repeat(MOST_CHARS));
    }
}
