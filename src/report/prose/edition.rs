//! An edition of a text: its numbers in order, each with its place and what is known of it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use rust_decimal::Decimal;

use super::characters::digit;
use super::ledger::Ledger;
use super::reading::DecimalMark;
use super::scan::{Dated, Day, Found, scan};
use super::segment::{Known, Piece, Segmenter};
use super::text::{Aside, BREAK, Glyph, Markup, Visible};
use super::unit::{Surroundings, Unit};

/// Characters that are shown on each side of a number.
const AROUND: usize = 28;

/// A language tag, such as `uk` or `zh-Hans`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locale {
    tag: String,
}

impl Locale {
    /// Reads a tag of letters and digits in parts of two to eight, the first of two or three
    /// letters; `None` for anything else.
    #[must_use]
    pub fn parse(tag: &str) -> Option<Self> {
        let mut parts = tag.split('-');
        let language = parts.next()?;
        let is_language = (2..=3).contains(&language.len())
            && language.bytes().all(|byte| byte.is_ascii_alphabetic());
        let is_part = |part: &str| {
            (2..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        (is_language && parts.all(is_part)).then(|| Self {
            tag: tag.to_owned(),
        })
    }

    /// The tag as it was given.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Which of two readings comes first; which one is right, the claims say.
    fn mark(&self) -> Option<DecimalMark> {
        let language = self.tag.split('-').next().unwrap_or_default();
        DecimalMark::of_language(&language.to_ascii_lowercase())
    }
}

/// A place in a file: line and column from 1, the column in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// What is known of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is a quantity of the ledger, or one of several.
    Covered(Vec<usize>),
    /// It is part of a declared literal or date of this name.
    Declared(String),
    /// It is not what it should be.
    Contradicts(super::Contradiction),
    /// Nothing covers it.
    Uncovered,
}

/// One number of a text.
#[derive(Clone, Debug)]
pub struct Number {
    /// Which file of the edition it is in.
    pub file: usize,
    /// Where in the file.
    pub place: Place,
    /// As it is written.
    pub text: String,
    /// The text around it, on one line.
    pub around: String,
    /// The values that it can have; none if it is a date or no number at all.
    pub values: Vec<Decimal>,
    /// Its unit, if a sign or a name shows it.
    pub unit: Option<Unit>,
    /// The name to which a program gave it.
    pub key: Option<String>,
    /// What is known of it.
    pub standing: Standing,
    /// The days that it can be.
    pub(super) days: Vec<Day>,
    /// Where it stands among the visible characters of its file.
    pub(super) glyphs: Range<usize>,
    /// How many visible lines are above it.
    pub(super) row: usize,
}

impl Number {
    /// Whether two numbers are the same, in whatever style or unit each is written.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let shares = self.values.iter().any(|value| other.values.contains(value));
        let on_one_day = self.days.iter().any(|day| other.days.contains(day));
        let one_quantity = match (&self.standing, &other.standing) {
            (Standing::Covered(mine), Standing::Covered(theirs)) => {
                mine.iter().any(|quantity| theirs.contains(quantity))
            }
            (Standing::Declared(mine), Standing::Declared(theirs)) => mine == theirs,
            _ => false,
        };
        let no_values = self.values.is_empty() && other.values.is_empty();
        shares || on_one_day || one_quantity || no_values && self.digits() == other.digits()
    }

    /// Whether it is what it should be, as far as anybody knows.
    #[must_use]
    pub const fn is_fine(&self) -> bool {
        matches!(self.standing, Standing::Covered(_) | Standing::Declared(_))
    }

    /// Its digits, as ASCII.
    pub(super) fn digits(&self) -> String {
        self.text.chars().filter_map(digit).collect()
    }
}

/// The numbers of one or more files that are one text.
#[derive(Clone, Debug, Default)]
pub struct Edition {
    /// The files, as they were named.
    pub files: Vec<String>,
    /// The numbers, in order.
    pub numbers: Vec<Number>,
    /// Digits that were not read as numbers, by reason.
    pub asides: BTreeMap<Aside, usize>,
}

impl Edition {
    /// Reads the text of another file into the edition.
    pub fn add(&mut self, file: &str, text: &str, locale: &Locale, ledger: &Ledger) {
        let markup = Markup::of(file, text);
        let visible = Visible::of(text, markup);
        let scanned = scan(&visible.glyphs);
        let reader = Reader {
            file: self.files.len(),
            glyphs: &visible.glyphs,
            ledger,
        };
        let literals = reader.literals();
        let mut segmenter = Segmenter::new(ledger, locale.mark());
        let mut lines = Lines {
            text,
            at: 0,
            place: Place { line: 1, column: 1 },
            glyph: 0,
            row: 0,
        };
        for found in scanned.found {
            let range = match &found {
                Found::Run(run) => run.range(),
                Found::Date(date) => date.range.clone(),
            };
            if let Some(id) = inside(&literals, &range) {
                let standing = Standing::Declared(id.to_owned());
                self.numbers
                    .push(reader.number(&mut lines, &range, standing));
                continue;
            }
            match found {
                Found::Date(date) => self.numbers.push(reader.date(&mut lines, date)),
                Found::Run(run) => {
                    let pieces = segmenter.pieces(&visible.glyphs, &run).into_iter();
                    self.numbers
                        .extend(pieces.map(|piece| reader.piece(&mut lines, piece)));
                }
            }
        }
        for (why, count) in scanned.asides {
            *self.asides.entry(why).or_default() += count;
        }
        self.files.push(file.to_owned());
    }
}

fn standing(ledger: &Ledger, known: Known) -> Standing {
    match known {
        Known::As(quantities) => Standing::Covered(quantities),
        Known::Near(slip, quantities) => {
            Standing::Contradicts(super::Contradiction::near(ledger, slip, &quantities))
        }
        Known::Nothing => Standing::Uncovered,
    }
}

/// The name of the literal that a range is part of.
fn inside<'l>(literals: &'l [(Range<usize>, String)], range: &Range<usize>) -> Option<&'l str> {
    let after = literals.partition_point(|(literal, _)| literal.start <= range.start);
    let (literal, id) = literals.get(after.checked_sub(1)?)?;
    (range.end <= literal.end).then_some(id.as_str())
}

/// Makes numbers of glyphs.
struct Reader<'a> {
    file: usize,
    glyphs: &'a [Glyph],
    ledger: &'a Ledger,
}

impl Reader<'_> {
    /// Where the declared literals stand, in order.
    fn literals(&self) -> Vec<(Range<usize>, String)> {
        let plain: String = self
            .glyphs
            .iter()
            .map(|glyph| digit(glyph.c).unwrap_or(glyph.c))
            .collect();
        let mut starts: Vec<usize> = plain.char_indices().map(|(at, _)| at).collect();
        starts.push(plain.len());
        let index = |at: usize| starts.partition_point(|start| *start < at);
        let mut found = Vec::new();
        for (id, literal) in self.ledger.literals() {
            for (at, _) in plain.match_indices(literal.as_str()) {
                let range = index(at)..index(at + literal.len());
                if self.stands_alone(&range) {
                    found.push((range, id.clone()));
                }
            }
        }
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        found.dedup_by(|next, kept| next.0.end <= kept.0.end);
        found
    }

    /// Whether no digit goes on before or after, also behind a mark.
    fn stands_alone(&self, range: &Range<usize>) -> bool {
        let is_digit = |at: Option<usize>| {
            at.and_then(|at| self.glyphs.get(at))
                .is_some_and(|glyph| digit(glyph.c).is_some())
        };
        let is_mark = |at: Option<usize>| {
            at.and_then(|at| self.glyphs.get(at))
                .is_some_and(|glyph| matches!(glyph.c, '.' | ','))
        };
        let (before, after) = (range.start.checked_sub(1), Some(range.end));
        let goes_on_before =
            is_digit(before) || is_mark(before) && is_digit(range.start.checked_sub(2));
        let goes_on_after = is_digit(after) || is_mark(after) && is_digit(Some(range.end + 1));
        !goes_on_before && !goes_on_after
    }

    fn date(&self, lines: &mut Lines<'_>, date: Dated) -> Number {
        let known = self
            .ledger
            .date(&date.days)
            .map(|id| Standing::Declared(id.to_owned()));
        let number = self.number(lines, &date.range, known.unwrap_or(Standing::Uncovered));
        Number {
            days: date.days,
            ..number
        }
    }

    fn piece(&self, lines: &mut Lines<'_>, piece: Piece) -> Number {
        let standing = standing(self.ledger, piece.known);
        let number = self.number(lines, &piece.range, standing);
        let Surroundings { unit, key } = piece.around;
        Number {
            values: piece.values,
            unit,
            key,
            ..number
        }
    }

    fn number(&self, lines: &mut Lines<'_>, range: &Range<usize>, standing: Standing) -> Number {
        let written = self.glyphs.get(range.clone()).unwrap_or_default();
        Number {
            file: self.file,
            place: lines.place_of(written.first().map_or(0, |glyph| glyph.at)),
            text: written.iter().map(|glyph| glyph.c).collect(),
            around: self.around(range),
            values: Vec::new(),
            unit: None,
            key: None,
            standing,
            days: Vec::new(),
            glyphs: range.clone(),
            row: lines.row_of(self.glyphs, range.start),
        }
    }

    /// The text around a range, up to the ends of its line.
    fn around(&self, range: &Range<usize>) -> String {
        let is_text = |glyph: &&Glyph| !matches!(glyph.c, '\n' | '\r');
        let before = self.glyphs.get(..range.start).unwrap_or_default();
        let before = before.iter().rev().take(AROUND).take_while(is_text).count();
        let after = self.glyphs.get(range.end..).unwrap_or_default();
        let after = after.iter().take(AROUND).take_while(is_text).count();
        let shown = self
            .glyphs
            .get(range.start - before..range.end + after)
            .unwrap_or_default();
        let text: String = shown
            .iter()
            .map(|glyph| glyph.c)
            .filter(|c| *c != BREAK)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        text.trim().to_owned()
    }
}

/// Counts lines and columns, going forward through a text.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    place: Place,
    glyph: usize,
    row: usize,
}

impl Lines<'_> {
    fn place_of(&mut self, at: usize) -> Place {
        for c in self.text.get(self.at..at).unwrap_or_default().chars() {
            if c == '\n' {
                self.place = Place {
                    line: self.place.line + 1,
                    column: 1,
                };
            } else {
                self.place.column += 1;
            }
        }
        self.at = at.max(self.at);
        self.place
    }

    fn row_of(&mut self, glyphs: &[Glyph], at: usize) -> usize {
        let passed = glyphs.get(self.glyph..at).unwrap_or_default();
        self.row += passed.iter().filter(|glyph| glyph.c == '\n').count();
        self.glyph = at.max(self.glyph);
        self.row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_is_a_language_and_parts_of_letters_and_digits() {
        for tag in ["de", "fil", "pt-BR", "sr-Latn-RS", "de-CH-1996"] {
            assert_eq!(Locale::parse(tag).as_ref().map(Locale::tag), Some(tag));
        }
        for tag in [
            "",
            "d",
            "deut",
            "d1",
            "de-",
            "de-A",
            "de-abcdefghi",
            "de-a_b",
        ] {
            assert_eq!(Locale::parse(tag), None, "{tag}");
        }
        let mark = |tag| Locale::parse(tag).and_then(|locale| locale.mark());
        assert_eq!(mark("DE-ch"), Some(DecimalMark::Comma));
        assert_eq!(mark("en"), Some(DecimalMark::Point));
    }

    #[test]
    fn lines_and_columns_are_counted_from_one_in_characters() {
        let text = "a\nβγ 5\n6";
        let start = Place { line: 1, column: 1 };
        let mut lines = Lines {
            text,
            at: 0,
            place: start,
            glyph: 0,
            row: 0,
        };
        assert_eq!(lines.place_of(0), start);
        let places = ["5", "6"].map(|digit| lines.place_of(text.find(digit).unwrap()));
        assert_eq!(
            places,
            [Place { line: 2, column: 4 }, Place { line: 3, column: 1 }]
        );
    }

    #[test]
    fn a_range_is_inside_the_literal_that_covers_all_of_it() {
        let literals = [(2..6, "a".to_owned()), (8..9, "b".to_owned())];
        for (range, id) in [
            (2..6, Some("a")),
            (3..5, Some("a")),
            (1..3, None),
            (5..7, None),
            (8..9, Some("b")),
            (9..10, None),
        ] {
            assert_eq!(inside(&literals, &range), id, "{range:?}");
        }
    }
}
