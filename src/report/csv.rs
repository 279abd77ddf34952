//! A table as CSV: headings in a language, values as the program reads them.

use std::io;

use crate::results::{RowSet, Shown, Words, visible};

/// Comment lines with the caption and what made the table, then the header and the rows.
pub(super) fn text(shown: &Shown, rows: &RowSet) -> io::Result<String> {
    let mut text = String::new();
    for line in std::iter::once(&shown.caption).chain(&shown.below) {
        text.push_str("# ");
        let words = match line {
            Words::Figure(words) | Words::Own(words) => words.clone(),
            Words::Author(words) | Words::Data(words) => visible(words),
        };
        text.push_str(&words.split_whitespace().collect::<Vec<_>>().join(" "));
        text.push('\n');
    }
    let mut csv = ::csv::Writer::from_writer(Vec::new());
    csv.write_record(shown.headings.iter().map(Words::text))?;
    for row in rows.rows() {
        csv.write_record(row.iter().map(ToString::to_string))?;
    }
    let bytes = csv.into_inner().map_err(io::Error::other)?;
    text.push_str(&String::from_utf8_lossy(&bytes));
    Ok(text)
}
