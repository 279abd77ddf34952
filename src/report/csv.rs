//! A table as CSV: headings in a language, values as the program reads them. Letters that would act
//! on a terminal are spelled out.

use std::io;

use crate::results::{RowSet, Shown, Words, visible};

/// Comment lines with the caption and what made the table, then the header and the rows.
pub(super) fn text(shown: &Shown, rows: &RowSet) -> io::Result<String> {
    let mut text = String::new();
    for line in std::iter::once(&shown.caption).chain(&shown.below) {
        text.push_str("# ");
        text.push_str(&said(line).split_whitespace().collect::<Vec<_>>().join(" "));
        text.push('\n');
    }
    let mut csv = ::csv::Writer::from_writer(Vec::new());
    csv.write_record(shown.headings.iter().map(said))?;
    for row in rows.rows() {
        csv.write_record(row.iter().map(|cell| visible(&cell.to_string())))?;
    }
    let bytes = csv.into_inner().map_err(io::Error::other)?;
    text.push_str(&String::from_utf8_lossy(&bytes));
    Ok(text)
}

/// Words as they are told: what others wrote with every letter to be seen.
fn said(words: &Words) -> String {
    match words {
        Words::Figure(words) | Words::Own(words) => words.clone(),
        Words::Author(words) | Words::Data(words) => visible(words),
    }
}
