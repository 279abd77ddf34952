//! A table as GitHub Markdown, aligned so that it also reads well as plain text.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr;

use super::shown::{Align, Direction, Shown, Words};

/// The narrowest column of which Markdown knows the alignment.
const LEAST_WIDTH: usize = 3;

impl Shown {
    /// The table as Markdown: caption, table, the clock and the number of rows, notes.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let grid = self.grid();
        let width_of = |index: usize| grid.iter().map(|row| width(&row[index])).max();
        let widths: Vec<usize> = (0..self.headings.len())
            .map(|index| width_of(index).unwrap_or(0).max(LEAST_WIDTH))
            .collect();
        let mut text = String::new();
        if !self.caption.text().is_empty() {
            let _ = writeln!(text, "{}\n", self.markdown(&self.caption));
        }
        for (index, row) in grid.iter().enumerate() {
            text.push_str(&self.line(row, &widths));
            if index == 0 {
                text.push_str(&self.rule(&widths));
            }
        }
        for line in &self.below {
            let _ = writeln!(text, "\n{}", self.markdown(line));
        }
        text
    }

    /// Headings and cells, escaped.
    fn grid(&self) -> Vec<Vec<String>> {
        let rows = std::iter::once(&self.headings).chain(&self.rows);
        rows.map(|row| row.iter().map(|words| self.markdown(words)).collect())
            .collect()
    }

    fn markdown(&self, words: &Words) -> String {
        let rtl = self.direction == Direction::RightToLeft;
        match words {
            // A sign or a mark before a number would jump behind it.
            Words::Figure(text) if rtl && !text.chars().all(char::is_numeric) => {
                format!("\u{2066}{text}\u{2069}")
            }
            // Whoever guesses the direction by the first letter has to guess right.
            Words::Own(text) if rtl && text.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                format!("\u{200f}{text}")
            }
            Words::Figure(text) | Words::Own(text) => text.clone(),
            Words::Author(text) => one_line(text),
            Words::Data(text) if rtl => format!("\u{2068}{}\u{2069}", escape(text)),
            Words::Data(text) => escape(text),
        }
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::from("|");
        for ((cell, full), align) in cells.iter().zip(widths).zip(&self.aligned) {
            let padding = " ".repeat(full.saturating_sub(width(cell)));
            let _ = match align {
                Align::Right => write!(line, " {padding}{cell} |"),
                Align::Start => write!(line, " {cell}{padding} |"),
            };
        }
        line + "\n"
    }

    fn rule(&self, widths: &[usize]) -> String {
        let mut line = String::from("|");
        for (full, align) in widths.iter().zip(&self.aligned) {
            let dashes = "-".repeat(*full);
            let _ = match align {
                Align::Right => write!(line, " {}: |", &dashes[1..]),
                Align::Start => write!(line, " {dashes} |"),
            };
        }
        line + "\n"
    }
}

/// How many columns of a terminal the text takes.
fn width(text: &str) -> usize {
    text.width()
}

/// Words as one cell of a Markdown table shows them letter by letter: nothing in them is taken for
/// markup, and what cannot be seen is spelled out, as in `\u{202e}`.
#[must_use]
pub fn escape(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut escaped = String::with_capacity(text.len());
    for (index, &letter) in letters.iter().enumerate() {
        match letter {
            '\r' if letters.get(index + 1) == Some(&'\n') => {}
            '\n' | '\r' => escaped.push_str("<br>"),
            '\t' => escaped.push(' '),
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // Inside a word an underscore is a letter: `max_turns_exceeded` stays readable.
            '_' if is_inside_word(&letters, index) => escaped.push('_'),
            '|' | '`' | '*' | '_' | '~' | '[' | ']' | '\\' | '$' => escaped.extend(['\\', letter]),
            _ if is_invisible(letter) => {
                escaped.push('\\');
                escaped.push_str(&spelled_out(letter));
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}

/// A caption or a note: its author's Markdown, kept to one line and to what can be seen.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        for letter in word.chars() {
            if is_invisible(letter) {
                line.push('\\');
                line.push_str(&spelled_out(letter));
            } else {
                line.push(letter);
            }
        }
    }
    line
}

/// The text with every letter that cannot be seen spelled out, as in `\u{202e}`.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut seen = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_invisible(letter) && letter != '\n' {
            seen.push_str(&spelled_out(letter));
        } else {
            seen.push(letter);
        }
    }
    seen
}

fn is_inside_word(letters: &[char], index: usize) -> bool {
    let is_word = |at: Option<usize>| {
        let letter = at.and_then(|at| letters.get(at));
        letter.is_some_and(|letter| letter.is_alphanumeric())
    };
    is_word(index.checked_sub(1)) && is_word(Some(index + 1))
}

/// Control characters, and those that reorder or hide what stands beside them.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}

fn spelled_out(letter: char) -> String {
    format!("\\u{{{:x}}}", u32::from(letter))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::{
        Clocked, Figures, Filter, RowSet, Schema, Show, Table, TableColumn, TableSpec,
    };

    fn table(csv: &str, columns: &[(&str, &str, Show)], notes: &[String]) -> String {
        let rows = RowSet::from_reader("x", csv.as_bytes(), Schema::ByName).unwrap();
        let columns = columns.iter().map(|(column, heading, show)| TableColumn {
            column: (*column).to_owned(),
            heading: (*heading).to_owned(),
            show: *show,
        });
        let spec = TableSpec {
            caption: "The turn cap on\n`runaway`.".to_owned(),
            columns: columns.collect(),
            filter: Filter::default(),
        };
        let table = Table::build(&spec, &rows).unwrap();
        let notes = notes.iter().cloned().map(Words::Author);
        let shown = table.shown(&Figures::ENGLISH, Clocked::Virtual);
        shown.with_notes(notes).to_markdown()
    }

    #[test]
    fn numbers_stand_right_and_words_left_under_a_caption() {
        let csv = "cap,prompt_tokens,cost_usd,status\n\
            50,88649,0.191200,max_turns_exceeded\n100,337299,0.702900,\n";
        let columns = [
            ("cap", "turns", Show::Value),
            ("prompt_tokens", "input tokens", Show::Value),
            ("prompt_tokens", "times", Show::TimesFirst),
            ("cost_usd", "cost", Show::Value),
            ("cost_usd", "over", Show::PercentOverFirst),
            ("status", "ends", Show::Value),
        ];
        let expected = "\
The turn cap on `runaway`.

| turns | input tokens | times |      cost |   over | ends               |
| ----: | -----------: | ----: | --------: | -----: | ------------------ |
|    50 |       88,649 |  1.0× | $0.191200 |    0 % | max_turns_exceeded |
|   100 |      337,299 |  3.8× | $0.702900 | +268 % | —                  |

clock: virtual; rows: 2

fit: none
";
        assert_eq!(table(csv, &columns, &["fit: none".to_owned()]), expected);
    }

    #[test]
    fn a_table_without_rows_still_has_its_heading() {
        let text = table("cap\n", &[("cap", "turns", Show::Value)], &[]);
        assert!(
            text.contains("| turns |\n| ----- |\n\nclock: virtual; rows: 0\n"),
            "{text}"
        );
    }

    #[test]
    fn nothing_in_a_cell_is_markup() {
        assert_eq!(escape("a|b`c`\r\nd"), "a\\|b\\`c\\`<br>d");
        assert_eq!(escape("<b>&amp;</b>"), "&lt;b&gt;&amp;amp;&lt;/b&gt;");
        assert_eq!(
            escape("_a_ b_c **d** [e](f) \\|"),
            "\\_a\\_ b_c \\*\\*d\\*\\* \\[e\\](f) \\\\\\|"
        );
        assert_eq!(
            escape("x\u{202e}y\u{0}\u{200b}"),
            "x\\\\u{202e}y\\\\u{0}\\\\u{200b}"
        );
        assert_eq!(escape("漢字 é 😀"), "漢字 é 😀");
    }

    proptest! {
        #[test]
        fn an_escaped_text_is_one_cell_of_one_line(text in any::<String>()) {
            let escaped = escape(&text);
            let broken = escaped.contains(['\n', '\r', '\u{202e}']);
            prop_assert!(!broken);
            // Every bar has an odd number of backslashes before it.
            for (at, _) in escaped.match_indices('|') {
                let before = escaped[..at].chars().rev().take_while(|c| *c == '\\').count();
                prop_assert_eq!(before % 2, 1, "{}", escaped);
            }
        }
    }
}
