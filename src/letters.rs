//! Letters that do something where a text is shown, instead of being seen.

use std::fmt::Write as _;

/// Whether a letter turns the direction of the text around it, or marks where that ends.
#[must_use]
pub const fn turns(letter: char) -> bool {
    matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    )
}

/// Whether a letter acts on a terminal or on the text around it: control characters, line breaks
/// among them, separators of lines and paragraphs, and whatever [`turns`].
#[must_use]
pub fn acts(letter: char) -> bool {
    letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') || turns(letter)
}

/// Whether a letter [`acts`] or is not seen at all, so that two texts that differ by it look
/// alike. These are the letters that Unicode lets a font ignore, but for the selector that asks
/// for an emoji, which pictures are rightly written with.
#[must_use]
pub fn hides(letter: char) -> bool {
    acts(letter)
        || matches!(
            letter,
            '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}'
                | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The text with every letter for which `hidden` holds spelled out, as in `\u{202e}`.
#[must_use]
pub fn spelled(text: &str, hidden: impl Fn(char) -> bool) -> String {
    let mut seen = String::with_capacity(text.len());
    for letter in text.chars() {
        if hidden(letter) {
            seen.extend(letter.escape_default());
        } else {
            seen.push(letter);
        }
    }
    seen
}

/// JSON in which whatever [`acts`] is escaped, so that it says the same and does nothing. Line
/// breaks stay: they stand between values, as those in a text are escaped already.
#[must_use]
pub fn inert_json(text: String) -> String {
    let acts = |letter: char| acts(letter) && letter != '\n';
    if !text.contains(acts) {
        return text;
    }
    let mut inert = String::with_capacity(text.len());
    for letter in text.chars() {
        if acts(letter) {
            // All of them have four digits at most; writing to a text cannot fail.
            let _ = write!(inert, "\\u{:04x}", u32::from(letter));
        } else {
            inert.push(letter);
        }
    }
    inert
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every control of the direction of text that Unicode has.
    const TURNING: &str = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";

    #[test]
    fn json_says_the_same_and_acts_on_nothing() {
        let text = format!("\u{7f}\u{9b}31mx\u{2028}\u{1b}\n{TURNING}");
        let written = serde_json::to_string(&text).unwrap();
        let shown = inert_json(written);
        assert!(!shown.contains(acts), "{shown}");
        assert!(
            shown.contains("\\u2066") && shown.contains("\\u061c"),
            "{shown}"
        );
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert_eq!(inert_json("{\n \"ü\": 1}".to_owned()), "{\n \"ü\": 1}");
    }

    #[test]
    fn what_is_not_seen_is_hidden_and_what_is_seen_is_not() {
        let unseen = "\u{ad}\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{e0041}\u{e007f}\u{e0100}\u{fe0e}\u{3164}";
        for letter in unseen.chars().chain(TURNING.chars()) {
            assert!(hides(letter), "{letter:?}");
        }
        assert!(TURNING.chars().all(acts));
        for letter in "aü漢א\u{301}😀\u{fe0f} ".chars() {
            assert!(!hides(letter), "{letter:?}");
        }
        assert_eq!(
            spelled("a\u{200b}\n\u{e0041}", hides),
            "a\\u{200b}\\n\\u{e0041}"
        );
    }
}
