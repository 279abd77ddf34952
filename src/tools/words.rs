//! Foreign text in our own sentences: short, and without characters that act on a terminal.

use crate::letters::{hides, spelled};

/// The most characters of foreign text in one message.
const MOST_CHARS: usize = 200;

/// `text` cut to 200 characters (a cut shows as `…`), its control characters and those
/// that reorder or hide what is read escaped.
pub(super) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(MOST_CHARS).collect();
    let mut out = spelled(&start, hides);
    if chars.next().is_some() {
        out.push('…');
    }
    out
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
