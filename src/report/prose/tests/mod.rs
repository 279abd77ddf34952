//! What a check says of short texts, held to a few quantities that each test declares.

mod align;
mod edition;
mod ledger;
mod neighbours;
mod report;
mod segment;

use std::fmt::Write as _;

use super::*;
use crate::document::Document;
use crate::experiment::Experiments;

/// What a test declares to be known.
#[derive(Default)]
struct Known {
    toml: String,
    tables: Vec<(&'static str, &'static str)>,
}

impl Known {
    /// Claims by name, as published.
    fn claims(claims: &[(&str, &str)]) -> Self {
        let mut known = Self::default();
        for (id, value) in claims {
            let _ = writeln!(known.toml, "[[claim]]\nid = \"{id}\"\nvalue = {value}");
        }
        known
    }

    /// Constants of this name, each with the same unit.
    fn constants(mut self, id: &str, values: &str, unit: Option<&str>) -> Self {
        let _ = writeln!(
            self.toml,
            "[[constant]]\nid = \"{id}\"\nabout = \"\"\nvalue = {values}"
        );
        if let Some(unit) = unit {
            let _ = writeln!(self.toml, "unit = \"{unit}\"");
        }
        self
    }

    fn literal(mut self, id: &str, text: &str) -> Self {
        let _ = writeln!(
            self.toml,
            "[[literal]]\nid = \"{id}\"\nabout = \"\"\ntext = \"{text}\""
        );
        self
    }

    fn date(mut self, id: &str, on: &str) -> Self {
        let _ = writeln!(
            self.toml,
            "[[date]]\nid = \"{id}\"\nabout = \"\"\non = \"{on}\""
        );
        self
    }

    /// The table of an experiment's results.
    fn table(mut self, experiment: &'static str, csv: &'static str) -> Self {
        self.tables.push((experiment, csv));
        self
    }

    fn ledger(&self) -> Ledger {
        let document = Document::parse("known.toml", &self.toml).unwrap();
        let constants = Constants::from_document(&document).unwrap();
        let mut ledger = Ledger::new(&Experiments::default(), &constants).unwrap();
        if !self.tables.is_empty() {
            let results = tempfile::tempdir().unwrap();
            for (experiment, csv) in &self.tables {
                let folder = results.path().join(experiment);
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(folder.join("table.csv"), csv).unwrap();
            }
            ledger.add_results(results.path()).unwrap();
        }
        ledger
    }
}

/// A plain text in a language of which no mark of fractions is known.
pub(super) fn edition(text: &str, ledger: &Ledger) -> Edition {
    edition_in("ar", text, ledger)
}

fn edition_in(language: &str, text: &str, ledger: &Ledger) -> Edition {
    let mut edition = Edition::default();
    let locale = Locale::parse(language).unwrap();
    edition.add("text.txt", text, &locale, ledger);
    edition
}

/// What is said of each number of a text.
fn said(text: &str, ledger: &Ledger) -> Vec<String> {
    messages(&check(edition(text, ledger), None, ledger).unwrap())
}

fn messages(report: &Report) -> Vec<String> {
    let numbers = report.edition.numbers.iter();
    numbers.map(|number| report.message(number)).collect()
}

/// What contradicts, in words.
fn contradictions(report: &Report) -> Vec<String> {
    let numbers = report.edition.numbers.iter();
    numbers
        .filter(|number| report.status(number) == Status::Contradiction)
        .map(|number| report.message(number))
        .collect()
}

const UNCOVERED: &str = "is covered by nothing: correct it, or declare it as a claim or a constant";
