//! A table's words in a language.

use rust_decimal::Decimal;

use super::locale::Locale;
use crate::experiment::{Experiment, FitSpec};
use crate::results::fit::{Fit, LEAST_DISTINCT, NoFit};
use crate::results::stats::{Bootstrap, NoStatistic};
use crate::results::{
    Cell, Clocked, Direction, Figure, Kind, Show, Sign, TableColumn, Wording, Words, parse_decimal,
};

/// The words of one experiment's table.
pub(super) struct TableWording<'l> {
    pub(super) locale: &'l Locale,
    pub(super) experiment: &'l Experiment,
}

/// Between the numbers of a list: no language uses it inside a number.
pub(super) const BETWEEN: &str = " · ";

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
        let compared = match heading.show {
            // A heading may be the name of another column, and is then known as well.
            Show::Value => None,
            Show::TimesFirst => Some("compared.times_first"),
            Show::PercentOverFirst => Some("compared.percent_over_first"),
            Show::MoreThanFirst => Some("compared.more_than_first"),
            Show::ShareOfTotal => Some("compared.share_of_total"),
        };
        let known = match compared {
            Some(key) => self.locale.message(key).map(str::to_owned),
            None => self.locale.known_column(&heading.heading),
        };
        known.map_or_else(|| Words::Data(heading.heading.clone()), Words::Own)
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
        self.known_column(name).unwrap_or_else(|| name.to_owned())
    }

    /// A column's heading, also that of a statistic such as `median_wall_ms`.
    fn known_column(&self, name: &str) -> Option<String> {
        let heading = |name: &str| self.message(&format!("column.{name}"));
        if let Some(known) = heading(name) {
            return Some(known.to_owned());
        }
        let statistics = [
            ("median_", "table.median"),
            ("low_", "table.low"),
            ("high_", "table.high"),
        ];
        let statistic = statistics.into_iter().find_map(|(prefix, key)| {
            let column = heading(name.strip_prefix(prefix)?)?;
            Some(self.text(key, &[("column", column)]))
        });
        statistic.or_else(|| {
            let (place, column) = name.split_once('_')?;
            let is_place = matches!(place, "p50" | "p95" | "p99");
            let column = heading(column).filter(|_| is_place)?;
            Some(format!("{column}, {}", self.ltr(place)))
        })
    }

    /// A word of a column as the language says it: a status, a policy, a case. What nobody
    /// translated, such as an answer or the name of a file, stays as it is.
    #[must_use]
    pub fn value(&self, column: &str, value: &str) -> Words {
        let key = match column {
            "case" => format!("case.{value}"),
            "resumable" | "right" => format!("value.flag.{value}"),
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
        let n = self.size(fit.n);
        let share = match fit.r_squared {
            Some(share) => format!("R² = {}", statistic(share, 6)),
            None => self.text("table.no_r_squared", &[]),
        };
        self.ltr(&format!("a = {a}; b = {b}; c = {c}; {share}; n = {n}"))
    }

    /// The line below a table that tells of its fit, or why there is none.
    pub(super) fn fit_note(
        &self,
        spec: &FitSpec,
        (group, fit): &(Option<Cell>, Result<Fit, NoFit>),
    ) -> Words {
        let note = self.one_fit(spec, fit);
        match spec.by.as_ref().zip(group.as_ref()) {
            None => note,
            Some((by, value)) => {
                let value = self.value(by, &value.to_string());
                Words::Own(format!("{}: {}", value.text(), note.text()))
            }
        }
    }

    fn one_fit(&self, spec: &FitSpec, fit: &Result<Fit, NoFit>) -> Words {
        let (x, y) = (self.column(&spec.x), self.column(&spec.y));
        let names = [("x", x.as_str()), ("y", y.as_str())];
        let say = |key: &str, args: &[(&str, &str)]| self.text(key, &[&names, args].concat());
        Words::Own(match fit {
            Ok(fit) => say("table.fit", &[("numbers", &self.formula(fit))]),
            Err(NoFit::TooFew { found }) => {
                let (found, needed) = (self.size(*found), self.size(LEAST_DISTINCT));
                say(
                    "table.fit_too_few",
                    &[("found", &found), ("needed", &needed)],
                )
            }
            Err(NoFit::NotFinite) => say("table.fit_not_finite", &[]),
            Err(reason @ NoFit::Column(_)) => return Words::Data(reason.to_string()),
        })
    }

    /// The lines below a table of samples: how sure the medians are, and where nobody knows.
    pub(super) fn summary_notes(&self, too_few: &[NoStatistic]) -> Vec<Words> {
        let Bootstrap {
            seed,
            resamples,
            level,
        } = Bootstrap::default();
        let percent = self.percent(Decimal::from(level / 10));
        let (draws, seed) = (self.count(resamples.into()), seed.to_string());
        let args = [
            ("percent", percent.as_str()),
            ("draws", draws.as_str()),
            ("seed", seed.as_str()),
        ];
        let mut notes = vec![Words::Own(self.text("table.interval", &args))];
        notes.extend(too_few.iter().map(|reason| match reason {
            NoStatistic::TooFew { n, needed } => {
                let (n, needed) = (self.size(*n), self.size(*needed));
                let args = [("n", n.as_str()), ("needed", needed.as_str())];
                Words::Own(self.text("table.no_interval", &args))
            }
            other => Words::Data(other.to_string()),
        }));
        notes
    }

    pub(super) fn size(&self, number: usize) -> String {
        self.count(u64::try_from(number).unwrap_or(u64::MAX))
    }
}
