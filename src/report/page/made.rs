//! What made the rows, and what made the page.

use std::fmt::Write as _;

use rust_decimal::Decimal;

use super::part::{Part, code};
use crate::clock::ClockKind;
use crate::experiment::Experiment;
use crate::lab::Measured;
use crate::pricing::Price;
use crate::report::html::escape;
use crate::report::locale::Locale;
use crate::results::{Cell, RowSet, Unit};

/// What made the rows of an experiment.
#[derive(Debug)]
pub(super) struct Made<'e> {
    experiment: &'e Experiment,
    /// How many rows the table has, if there is one.
    rows: Option<usize>,
    prices: Vec<&'e Price>,
    /// Those on whose clock it ran, each once; none where time is virtual.
    machines: Vec<String>,
}

impl<'e> Made<'e> {
    pub(super) fn of(experiment: &'e Experiment, measured: &Measured, rows: Option<usize>) -> Self {
        let machines = match experiment.clock() {
            ClockKind::Virtual => Vec::new(),
            ClockKind::Real => machines(&measured.cells),
        };
        Self {
            experiment,
            rows,
            prices: experiment.prices(),
            machines,
        }
    }

    /// All of it as a list; the price only where a page has several.
    pub(super) fn list(&self, locale: &Locale, several_prices: bool) -> String {
        let clock = match self.experiment.clock() {
            ClockKind::Virtual => "report.virtual",
            ClockKind::Real => "report.real",
        };
        let mut terms = vec![("report.clock", escape(&locale.text(clock, &[])))];
        terms.extend(self.rows.map(|rows| {
            let rows = u64::try_from(rows).unwrap_or(u64::MAX);
            (
                "report.table",
                escape(&locale.counted("table.rows", rows, &[])),
            )
        }));
        let seeds = self.experiment.seeds();
        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
        terms.push(("report.seed", escape(&seeds.join(", "))));
        let machines = self.machines.iter();
        terms.extend(machines.map(|machine| ("report.machine", code(machine))));
        if several_prices {
            let names = self.prices.iter();
            terms.extend(names.map(|price| ("report.price", code(&price.name))));
        }
        format!("<dl class=\"made\">\n{}</dl>\n", list(&terms, locale))
    }
}

/// All prices of a page, each once.
pub(super) fn prices<'e>(parts: &[Part<'e>]) -> Vec<&'e Price> {
    let mut prices: Vec<&Price> = Vec::new();
    for price in parts.iter().flat_map(|part| &part.made().prices) {
        if !prices.contains(price) {
            prices.push(price);
        }
    }
    prices
}

/// The program and its version.
pub(super) fn program() -> String {
    format!("{} {}", env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
}

/// What made the page, in which language, and at which prices.
pub(super) fn footer(prices: &[&Price], locale: &Locale) -> String {
    let program = locale.ltr(env!("CARGO_PKG_NAME"));
    let made_by = escape(&locale.text("report.made_by", &[("program", &program)]));
    let mut terms = vec![
        ("report.version", code(env!("CARGO_PKG_VERSION"))),
        ("report.language", escape(locale.name())),
    ];
    for price in prices {
        terms.push(("report.price", price_line(price, locale)));
        terms.push(("report.price_date", code(&price.date)));
    }
    format!(
        "<footer>\n<p>{made_by}</p>\n<dl class=\"made\">\n{}</dl>\n</footer>\n",
        list(&terms, locale)
    )
}

/// `chapter: $2.00 in and $12.00 out per million tokens`.
fn price_line(price: &Price, locale: &Locale) -> String {
    /// Pico-dollars for one token are micro-dollars for a million.
    const DECIMALS: u32 = 6;
    let dollars = |pico: i64| {
        let mut dollars = Decimal::new(pico, DECIMALS).normalize();
        dollars.rescale(dollars.scale().max(2));
        locale.ltr(&locale.amount(dollars, Unit::Usd))
    };
    let (input, output) = (
        dollars(price.rates.input.pico()),
        dollars(price.rates.output.pico()),
    );
    let args = [("input", input.as_str()), ("output", output.as_str())];
    let line = escape(&locale.text("report.price_line", &args));
    format!("{}: {line}", code(&price.name))
}

fn list(terms: &[(&str, String)], locale: &Locale) -> String {
    let mut html = String::new();
    for (key, said) in terms {
        let term = escape(&locale.text(key, &[]));
        let _ = writeln!(html, "<div><dt>{term}</dt> <dd>{said}</dd></div>");
    }
    html
}

/// The machines that rows name: processor, threads, system.
fn machines(cells: &RowSet) -> Vec<String> {
    let columns = ["cpu_model", "cores", "os"].map(|name| cells.index_of(name).ok());
    let mut found: Vec<String> = Vec::new();
    for row in cells.rows() {
        let value = |column: Option<usize>| match row.get(column?)? {
            Cell::Missing => None,
            cell => Some(cell.to_string()),
        };
        let [cpu, cores, os] = columns.map(value);
        let cores = cores.map(|cores| format!("{cores} CPU"));
        let known: Vec<String> = [cpu, cores, os].into_iter().flatten().collect();
        let machine = known.join(", ");
        if !machine.is_empty() && !found.contains(&machine) {
            found.push(machine);
        }
    }
    found
}
