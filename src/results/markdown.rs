//! A table as GitHub Markdown, aligned so that it also reads well as plain text.

use std::fmt::Write as _;

use super::cell::Cell;
use super::figures::Figures;
use super::table::Table;

/// Which clock made a table's milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocked {
    /// The virtual clock: exact and repeatable.
    Virtual,
    /// The machine's clock.
    Real,
}

impl Clocked {
    const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

impl Table {
    /// The table as a reader sees it: caption, table, the clock and the number of rows, notes.
    #[must_use]
    pub fn to_markdown(&self, figures: &Figures, clock: Clocked, notes: &[String]) -> String {
        let grid = self.grid(figures);
        let widths: Vec<usize> = (0..self.headings.len())
            .map(|index| {
                grid.iter()
                    .map(|row| width(&row[index]))
                    .max()
                    .unwrap_or(0)
                    .max(3)
            })
            .collect();
        let mut text = String::new();
        if !self.caption.is_empty() {
            let _ = writeln!(text, "{}\n", one_line(&self.caption));
        }
        for (index, row) in grid.iter().enumerate() {
            text.push_str(&self.line(row, &widths));
            if index == 0 {
                text.push_str(&self.rule(&widths));
            }
        }
        let _ = writeln!(text, "\nclock: {}; rows: {}", clock.name(), self.rows.len());
        for note in notes {
            let _ = writeln!(text, "\n{}", one_line(note));
        }
        text
    }

    /// Headings and cells as they are shown, escaped.
    fn grid(&self, figures: &Figures) -> Vec<Vec<String>> {
        let headings = self.headings.iter().map(|heading| escape(&heading.text));
        let mut grid = vec![headings.collect::<Vec<_>>()];
        for row in self.rows.rows() {
            let columns = row.iter().zip(self.rows.columns()).zip(&self.headings);
            let shown = columns.map(|((cell, column), heading)| {
                let shown = figures.show(cell, column.kind, heading.sign);
                if matches!(cell, Cell::Text(_)) {
                    escape(&shown)
                } else {
                    shown
                }
            });
            grid.push(shown.collect());
        }
        grid
    }

    fn is_right_aligned(&self, index: usize) -> bool {
        self.rows.columns()[index].kind.is_number()
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::from("|");
        for (index, (cell, full)) in cells.iter().zip(widths).enumerate() {
            let padding = " ".repeat(full - width(cell));
            let _ = if self.is_right_aligned(index) {
                write!(line, " {padding}{cell} |")
            } else {
                write!(line, " {cell}{padding} |")
            };
        }
        line + "\n"
    }

    fn rule(&self, widths: &[usize]) -> String {
        let mut line = String::from("|");
        for (index, full) in widths.iter().enumerate() {
            let dashes = "-".repeat(*full);
            let _ = if self.is_right_aligned(index) {
                write!(line, " {}: |", &dashes[1..])
            } else {
                write!(line, " {dashes} |")
            };
        }
        line + "\n"
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
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
            _ if is_invisible(letter) => escaped.push_str(&spelled_out(letter)),
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
                line.push_str(&spelled_out(letter));
            } else {
                line.push(letter);
            }
        }
    }
    line
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
    format!("\\\\u{{{:x}}}", u32::from(letter))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::{Filter, RowSet, Schema, Show, TableColumn, TableSpec};

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
        table.to_markdown(&Figures::ENGLISH, Clocked::Virtual, notes)
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
