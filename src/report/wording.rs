//! A table's words in a language.

use super::locale::Locale;
use crate::experiment::{Experiment, FitSpec};
use crate::results::fit::{Fit, NoFit};
use crate::results::{
    Cell, Clocked, Direction, Figure, Kind, Show, Sign, TableColumn, Wording, Words, parse_decimal,
};

/// The words of one experiment's table.
pub(super) struct TableWording<'l> {
    pub(super) locale: &'l Locale,
    pub(super) experiment: &'l Experiment,
}

/// Between the numbers of a list: no language uses it inside a number.
const BETWEEN: &str = " · ";

impl Wording for TableWording<'_> {
    fn direction(&self) -> Direction {
        self.locale.direction()
    }

    fn caption(&self, caption: &str) -> Words {
        let translated = self.locale.translated(self.experiment, "caption", caption);
        translated.map_or_else(
            || Words::Author(caption.to_owned()),
            |translated| Words::Own(translated.to_owned()),
        )
    }

    fn heading(&self, heading: &TableColumn) -> Words {
        let key = match heading.show {
            // A heading of the author's own says more than the column's name.
            Show::Value if heading.heading != heading.column => None,
            Show::Value => Some(format!("column.{}", heading.column)),
            Show::TimesFirst => Some("compared.times_first".to_owned()),
            Show::PercentOverFirst => Some("compared.percent_over_first".to_owned()),
            Show::MoreThanFirst => Some("compared.more_than_first".to_owned()),
            Show::ShareOfTotal => Some("compared.share_of_total".to_owned()),
        };
        let known = key.and_then(|key| self.locale.message(&key));
        known.map_or_else(
            || Words::Data(heading.heading.clone()),
            |known| Words::Own(known.to_owned()),
        )
    }

    fn cell(&self, heading: &TableColumn, figure: &Figure<'_>) -> Words {
        match figure {
            Figure::Words(words) => self.locale.value(&heading.column, words),
            Figure::Number(_) => Words::Figure(self.locale.figure(figure)),
            Figure::Missing | Figure::Flag(_) => Words::Own(self.locale.figure(figure)),
        }
    }

    fn made(&self, clock: Clocked, rows: usize) -> Words {
        let clock = match clock {
            Clocked::Virtual => self.locale.text("table.clock_virtual", &[]),
            Clocked::Real => self.locale.text("table.clock_real", &[]),
        };
        let rows = u64::try_from(rows).unwrap_or(u64::MAX);
        let rows = self.locale.counted("table.rows", rows, &[]);
        Words::Own(format!("{clock} · {rows}"))
    }
}

impl Locale {
    /// A column's heading; its name where the language has none for it.
    #[must_use]
    pub fn column(&self, name: &str) -> String {
        self.message(&format!("column.{name}"))
            .unwrap_or(name)
            .to_owned()
    }

    /// A word of a column as the language says it: a status, a policy, a case. What nobody
    /// translated, such as an answer or the name of a file, stays as it is.
    #[must_use]
    pub fn value(&self, column: &str, value: &str) -> Words {
        let key = match column {
            "case" => format!("case.{value}"),
            "resumable" => format!("value.flag.{value}"),
            _ => format!("value.{column}.{value}"),
        };
        if let Some(known) = self.message(&key) {
            return Words::Own(known.to_owned());
        }
        let list = column.strip_suffix("_list");
        let kind = list.and_then(Kind::of_name).filter(|kind| kind.is_number());
        kind.and_then(|kind| self.list(kind, value))
            .unwrap_or_else(|| Words::Data(value.to_owned()))
    }

    /// A list of numbers, if it is one.
    fn list(&self, kind: Kind, value: &str) -> Option<Words> {
        let number = |text: &str| {
            let cell = Cell::number(parse_decimal(text)?);
            Some(self.figure(&Figure::of(&cell, kind, Sign::Amount)))
        };
        let numbers: Option<Vec<String>> = value.split_whitespace().map(number).collect();
        numbers.map(|numbers| Words::Figure(numbers.join(BETWEEN)))
    }

    /// The parabola with its numbers: `a = −1.000; b = 173.000; …`.
    #[must_use]
    pub fn formula(&self, fit: &Fit) -> String {
        let statistic = |value: f64, decimals: u32| {
            let cell = Cell::statistic(value, decimals);
            self.figure(&Figure::of(&cell, Kind::Number, Sign::Amount))
        };
        let (a, b, c) = (
            statistic(fit.a, 3),
            statistic(fit.b, 3),
            statistic(fit.c, 3),
        );
        let n = self.count(u64::try_from(fit.n).unwrap_or(u64::MAX));
        let share = match fit.r_squared {
            Some(share) => format!("R² = {}", statistic(share, 6)),
            None => self.text("table.no_r_squared", &[]),
        };
        self.ltr(&format!("a = {a}; b = {b}; c = {c}; {share}; n = {n}"))
    }

    /// The line below a table that tells of its fit, or why there is none.
    pub(super) fn fit_note(&self, spec: &FitSpec, fit: &Result<Fit, NoFit>) -> Words {
        let (x, y) = (self.column(&spec.x), self.column(&spec.y));
        let names = [("x", x.as_str()), ("y", y.as_str())];
        let say = |key: &str, args: &[(&str, &str)]| self.text(key, &[&names, args].concat());
        Words::Own(match fit {
            Ok(fit) => say("table.fit", &[("numbers", &self.formula(fit))]),
            Err(NoFit::TooFew { found }) => {
                let count = |n: usize| self.count(u64::try_from(n).unwrap_or(u64::MAX));
                let (found, needed) = (count(*found), count(crate::results::fit::LEAST_DISTINCT));
                say(
                    "table.fit_too_few",
                    &[("found", &found), ("needed", &needed)],
                )
            }
            Err(NoFit::NotFinite) => say("table.fit_not_finite", &[]),
            Err(reason @ NoFit::Column(_)) => return Words::Data(reason.to_string()),
        })
    }
}
