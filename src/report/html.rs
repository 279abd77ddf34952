//! A table as a fragment of HTML that can stand in any page.

use std::fmt::Write as _;

use crate::letters;
use crate::results::{Align, Direction, Shown, Words, visible};

/// The table as a `figure` with its language and direction on it.
pub(super) fn figure(shown: &Shown, lang: &str) -> String {
    let dir = match shown.direction {
        Direction::LeftToRight => "ltr",
        Direction::RightToLeft => "rtl",
    };
    format!(
        "<figure lang=\"{}\" dir=\"{dir}\">\n{}{}</figure>\n",
        escape(lang),
        table(shown),
        notes(shown.direction, &shown.below)
    )
}

/// The `table` alone.
pub(super) fn table(shown: &Shown) -> String {
    let mut html = String::from("<table>\n");
    if !shown.caption.text().is_empty() {
        let caption = words(shown.direction, &shown.caption);
        let _ = writeln!(html, "<caption>{caption}</caption>");
    }
    html += "<thead>\n";
    html += &row(shown, &shown.headings, "th scope=\"col\"", "th");
    html += "</thead>\n<tbody>\n";
    for cells in &shown.rows {
        html += &row(shown, cells, "td", "td");
    }
    html + "</tbody>\n</table>\n"
}

/// What stands below a table, line by line.
pub(super) fn notes(direction: Direction, lines: &[Words]) -> String {
    let line = |line| format!("<p><small>{}</small></p>\n", words(direction, line));
    lines.iter().map(line).collect()
}

fn row(shown: &Shown, cells: &[Words], open: &str, close: &str) -> String {
    let mut html = String::from("<tr>");
    for (cell, align) in cells.iter().zip(&shown.aligned) {
        let side = match align {
            Align::Start => "start",
            Align::Right => "right",
        };
        let said = words(shown.direction, cell);
        let style = format!("style=\"text-align:{side}\"");
        let _ = write!(html, "<{open} {style}>{said}</{close}>");
    }
    html + "</tr>\n"
}

/// Escaped words with their lines, isolated from the text around them where directions could mix.
pub(super) fn words(direction: Direction, words: &Words) -> String {
    let rtl = direction == Direction::RightToLeft;
    match words {
        Words::Figure(text) if rtl => format!("<bdi dir=\"ltr\">{}</bdi>", lines(text)),
        Words::Figure(text) | Words::Own(text) => lines(text),
        Words::Author(text) | Words::Data(text) => isolated(text, rtl),
    }
}

/// Somebody else's words: in a text of the other direction they keep to themselves.
fn isolated(text: &str, rtl: bool) -> String {
    let text = lines(&visible(text));
    if rtl || !text.is_ascii() {
        format!("<bdi>{text}</bdi>")
    } else {
        text
    }
}

fn lines(text: &str) -> String {
    escape(text).replace('\n', "<br>")
}

/// Text as HTML and XML show it letter by letter, between tags and in attributes.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // Most control characters are not even allowed in XML.
            _ if acts(letter) => escaped.push('\u{fffd}'),
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// Whether a letter has no place in a page. Isolates from left to right and marks are our own way
/// to keep figures in order; what is somebody else's is [`visible`] before it comes here, or alone
/// in its element.
fn acts(letter: char) -> bool {
    let is_ours = matches!(
        letter,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2066}' | '\u{2069}'
    );
    letters::acts(letter) && !is_ours && !matches!(letter, '\n' | '\t')
}

/// A name as it can stand in an `id` and behind the `#` of a link. Other names are other anchors.
pub(super) fn anchor(name: &str) -> String {
    let mut anchor = String::with_capacity(name.len());
    for letter in name.chars() {
        if letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.') {
            anchor.push(letter);
        } else {
            let _ = write!(anchor, "~{:x}~", u32::from(letter));
        }
    }
    anchor
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_anchor_is_the_name_where_that_will_do() {
        assert_eq!(anchor("turn-cap_2.x"), "turn-cap_2.x");
        assert_eq!(anchor("крок"), "крок");
        assert_eq!(anchor("a b\"<.>"), "a~20~b~22~~3c~.~3e~");
    }

    proptest! {
        #[test]
        fn different_names_have_different_anchors_without_blanks_and_marks(
            one in "[a ~\"27e-]{0,6}", other in "[a ~\"27e-]{0,6}",
        ) {
            prop_assert_eq!(one == other, anchor(&one) == anchor(&other));
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '~');
            prop_assert!(anchor(&one).chars().all(plain));
        }

        #[test]
        fn escaped_text_opens_no_tag_and_ends_no_attribute(text in ".*") {
            prop_assert!(!escape(&text).contains(['<', '>', '"', '\'']));
        }
    }
}
