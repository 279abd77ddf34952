//! A table as a fragment of HTML that can stand in any page.

use std::fmt::Write as _;

use crate::results::{Align, Direction, Shown, Words, visible};

/// The table as a `figure` with its language and direction on it.
pub(super) fn figure(shown: &Shown, lang: &str) -> String {
    let dir = match shown.direction {
        Direction::LeftToRight => "ltr",
        Direction::RightToLeft => "rtl",
    };
    let mut html = format!(
        "<figure lang=\"{}\" dir=\"{dir}\">\n<table>\n",
        escape(lang)
    );
    if !shown.caption.text().is_empty() {
        let _ = writeln!(html, "<caption>{}</caption>", words(shown, &shown.caption));
    }
    html += "<thead>\n";
    html += &row(shown, &shown.headings, "th scope=\"col\"", "th");
    html += "</thead>\n<tbody>\n";
    for cells in &shown.rows {
        html += &row(shown, cells, "td", "td");
    }
    html += "</tbody>\n</table>\n";
    for line in &shown.below {
        let _ = writeln!(html, "<p><small>{}</small></p>", words(shown, line));
    }
    html + "</figure>\n"
}

fn row(shown: &Shown, cells: &[Words], open: &str, close: &str) -> String {
    let mut html = String::from("<tr>");
    for (cell, align) in cells.iter().zip(&shown.aligned) {
        let side = match align {
            Align::Start => "start",
            Align::Right => "right",
        };
        let said = words(shown, cell);
        let style = format!("style=\"text-align:{side}\"");
        let _ = write!(html, "<{open} {style}>{said}</{close}>");
    }
    html + "</tr>\n"
}

/// Escaped words, isolated from the text around them where directions could mix.
fn words(shown: &Shown, words: &Words) -> String {
    let rtl = shown.direction == Direction::RightToLeft;
    match words {
        Words::Figure(text) if rtl => format!("<bdi dir=\"ltr\">{}</bdi>", escape(text)),
        Words::Figure(text) | Words::Own(text) => escape(text),
        Words::Author(text) | Words::Data(text) => isolated(text, rtl),
    }
}

/// Somebody else's words: in a text of the other direction they keep to themselves.
fn isolated(text: &str, rtl: bool) -> String {
    let text = escape(&visible(text));
    if rtl || !text.is_ascii() {
        format!("<bdi>{text}</bdi>")
    } else {
        text
    }
}

/// Text as HTML shows it letter by letter.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push_str("<br>"),
            _ => escaped.push(letter),
        }
    }
    escaped
}
