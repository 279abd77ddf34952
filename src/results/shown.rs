//! A table as a reader sees it: its words are chosen, and no format has escaped them yet.

use super::cell::Kind;
use super::figures::{Figure, Figures};
use super::table::{Table, TableColumn};

/// Which clock made a table's milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocked {
    /// The virtual clock: exact and repeatable.
    Virtual,
    /// The machine's clock.
    Real,
}

/// Words before a reader, and whose they are: that decides how a format escapes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Words {
    /// A number with its marks.
    Figure(String),
    /// The program's own words or their translation. They hold no markup.
    Own(String),
    /// A line by the author of an experiment, who may have written Markdown.
    Author(String),
    /// Words out of rows or files: nothing in them is markup, and nothing may hide in them.
    Data(String),
}

impl Words {
    /// The words themselves.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Figure(text) | Self::Own(text) | Self::Author(text) | Self::Data(text) => text,
        }
    }
}

/// Which way a language is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// From left to right.
    #[default]
    LeftToRight,
    /// From right to left.
    RightToLeft,
}

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Where a line begins: words.
    Start,
    /// On the right in every language, so that digits stand below digits: numbers.
    Right,
}

/// The language that a table is shown in.
pub trait Wording {
    /// Which way it is written.
    fn direction(&self) -> Direction;
    /// The sentence above a table.
    fn caption(&self, caption: &str) -> Words;
    /// What stands above a column.
    fn heading(&self, heading: &TableColumn) -> Words;
    /// What a cell of the column that `heading` stands above says.
    fn cell(&self, heading: &TableColumn, figure: &Figure<'_>) -> Words;
    /// Which clock made the table, and how many rows it has.
    fn made(&self, clock: Clocked, rows: usize) -> Words;
}

/// A table in somebody's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Which way the language is written.
    pub direction: Direction,
    /// The sentence above the table; it may be empty.
    pub caption: Words,
    /// Where each column stands.
    pub aligned: Vec<Align>,
    /// What stands above each column.
    pub headings: Vec<Words>,
    /// The cells, row by row.
    pub rows: Vec<Vec<Words>>,
    /// What stands below: the clock and the number of rows, then notes.
    pub below: Vec<Words>,
}

impl Table {
    /// The table in the language of `wording`.
    #[must_use]
    pub fn shown(&self, wording: &dyn Wording, clock: Clocked) -> Shown {
        let columns = self.rows.columns();
        let rows = self.rows.rows().iter().map(|row| {
            let cells = row.iter().zip(columns).zip(&self.headings);
            let said = cells.map(|((cell, column), heading)| {
                let figure = Figure::of(cell, column.kind, heading.show.sign());
                wording.cell(heading, &figure)
            });
            said.collect()
        });
        let align = |kind: Kind| {
            if kind.is_number() {
                Align::Right
            } else {
                Align::Start
            }
        };
        Shown {
            direction: wording.direction(),
            caption: wording.caption(&self.caption),
            aligned: columns.iter().map(|column| align(column.kind)).collect(),
            headings: self
                .headings
                .iter()
                .map(|heading| wording.heading(heading))
                .collect(),
            rows: rows.collect(),
            below: vec![wording.made(clock, self.rows.len())],
        }
    }
}

impl Shown {
    /// The same with a note below it.
    #[must_use]
    pub fn with_notes(mut self, notes: impl IntoIterator<Item = Words>) -> Self {
        self.below.extend(notes);
        self
    }
}

/// English with the names that columns and values have in the files.
impl Wording for Figures {
    fn direction(&self) -> Direction {
        Direction::LeftToRight
    }

    fn caption(&self, caption: &str) -> Words {
        Words::Author(caption.to_owned())
    }

    fn heading(&self, heading: &TableColumn) -> Words {
        Words::Data(heading.heading.clone())
    }

    fn cell(&self, _heading: &TableColumn, figure: &Figure<'_>) -> Words {
        let said = self.say(figure);
        match figure {
            Figure::Words(_) => Words::Data(said),
            Figure::Missing | Figure::Flag(_) => Words::Own(said),
            Figure::Number(_) => Words::Figure(said),
        }
    }

    fn made(&self, clock: Clocked, rows: usize) -> Words {
        let clock = match clock {
            Clocked::Virtual => "virtual",
            Clocked::Real => "real",
        };
        Words::Own(format!("clock: {clock}; rows: {rows}"))
    }
}
