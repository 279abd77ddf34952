//! Claims as a file writes them, made into claims that can be evaluated.

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use super::Experiment;
use super::format::{self, CoefficientName, FitClaim, RowFilter, RowKind, Selection, Where};
use super::readout::{Matches, Reader};
use super::sweep::printed;
use crate::clock::ClockKind;
use crate::document::child;
use crate::money::PicoUsd;
use crate::pricing::CHAPTER_PRICE;
use crate::results::Cell as Printed;
use crate::results::claims::{Claim, Coefficient, Computation, Pick, Published, RowsRef, Rule};

/// A price per token times this is the price per million.
const MILLION: u64 = 1_000_000;

/// Reads the claims of a file; what is wrong with them goes into the reader's findings.
pub(super) fn read(
    reader: &mut Reader<'_, '_>,
    claims: &[format::Claim],
    experiment: &Experiment,
) -> Vec<Claim> {
    let mut seen = BTreeSet::new();
    let mut read = Vec::new();
    for (index, claim) in claims.iter().enumerate() {
        let at = format!("/claim/{index}");
        if !seen.insert(claim.id.as_str()) {
            let message = format!("two claims are called `{}`", claim.id);
            reader
                .findings
                .add(&format!("{at}/id"), &message, "rename one");
        }
        let computed = computation(reader, &at, claim, experiment);
        let rule = rule(reader, &at, claim);
        if let (Some(computed), Some(published)) = (computed, published(reader, &at)) {
            let (id, decimals) = (claim.id.clone(), claim.decimals);
            read.push(Claim {
                id,
                published,
                decimals,
                rule,
                computed,
            });
        }
    }
    read
}

fn published(reader: &mut Reader<'_, '_>, at: &str) -> Option<Published> {
    let pointer = format!("{at}/value");
    let text = reader.findings.document().source_at(&pointer)?;
    match Published::parse(text) {
        Ok(published) => Some(published),
        Err(error) => {
            reader.findings.add(
                &pointer,
                &error.to_string(),
                "write the digits as published",
            );
            None
        }
    }
}

fn rule(reader: &mut Reader<'_, '_>, at: &str, claim: &format::Claim) -> Rule {
    let Some(rule) = &claim.rule else {
        let is_own = !claim.external && reader.findings.are_certain(at, &["external", "rule"]);
        if claim.clock == ClockKind::Real && is_own {
            let message = "a number of another machine's clock, without a rule";
            let help = "set `rule` to `{ below = true }`, `{ at_most = … }` or \
                        `{ within_percent = … }`";
            reader.findings.add(&format!("{at}/clock"), message, help);
        }
        return Rule::Exact;
    };
    let below = rule.below.filter(|below| *below).map(|_| Rule::Below);
    let within = rule
        .within_percent
        .map(|percent| Rule::WithinPercent(Decimal::from(percent)));
    let at_most = rule.at_most.map(|limit| Rule::AtMost(Decimal::from(limit)));
    let rules: Vec<Rule> = [below, within, at_most].into_iter().flatten().collect();
    if let [rule] = rules[..] {
        return rule;
    }
    let at = format!("{at}/rule");
    let keys = ["below", "within_percent", "at_most"];
    if reader.findings.are_certain(&at, &keys) {
        let message = format!("{} rules where one is meant", rules.len());
        let help = "write exactly one of `below = true`, `within_percent` and `at_most`";
        reader.findings.add(&at, &message, help);
    }
    Rule::Exact
}

/// How the claim is computed: exactly one way of the closed set.
fn computation(
    reader: &mut Reader<'_, '_>,
    at: &str,
    claim: &format::Claim,
    experiment: &Experiment,
) -> Option<Computation> {
    let ways = [
        ("cell", claim.cell.as_ref().map(Way::Cell)),
        ("cells", claim.cells.as_ref().map(Way::Cells)),
        ("fit", claim.fit.as_ref().map(Way::Fit)),
        ("count", claim.count.as_ref().map(Way::Count)),
        (
            "count_distinct",
            claim.count_distinct.as_ref().map(Way::CountDistinct),
        ),
        ("setting", claim.setting.as_deref().map(Way::Setting)),
        ("ratio", claim.ratio.as_ref().map(Way::Ratio)),
        ("difference", claim.difference.as_ref().map(Way::Difference)),
        (
            "percent_change",
            claim.percent_change.as_ref().map(Way::PercentChange),
        ),
        ("sum", claim.sum.as_ref().map(Way::Sum)),
        ("external", claim.external.then_some(Way::External)),
    ];
    let findings = &mut *reader.findings;
    let is_guess = |key: &str| !findings.is_key_certain(&child(at, key));
    let in_doubt =
        ways.iter().any(|(key, _)| is_guess(key)) || !findings.are_certain(at, &["external"]);
    let written = ways.into_iter().filter(|(key, _)| !is_guess(key));
    let written: Vec<Way<'_>> = written.filter_map(|(_, way)| way).collect();
    let [way] = written.as_slice() else {
        if !in_doubt {
            let count = written.len();
            let message = format!("{count} ways to compute the claim where one is meant");
            let help = "write exactly one of `cell`, `cells`, `fit`, `count`, `count_distinct`, \
                        `setting`, `ratio`, `difference`, `percent_change`, `sum` and \
                        `external = true`";
            findings.add_to_table(at, "id", &message, help);
        }
        return None;
    };
    Some(way.read(reader, at, experiment))
}

/// One way to compute a claim, as it is written.
enum Way<'c> {
    Cell(&'c Selection),
    Cells(&'c Selection),
    Fit(&'c FitClaim),
    Count(&'c RowFilter),
    CountDistinct(&'c Selection),
    Setting(&'c str),
    Ratio(&'c format::Ratio),
    Difference(&'c format::Difference),
    PercentChange(&'c format::PercentChange),
    Sum(&'c Selection),
    External,
}

impl Way<'_> {
    fn read(&self, reader: &mut Reader<'_, '_>, at: &str, experiment: &Experiment) -> Computation {
        match self {
            Self::Cell(cell) => {
                Computation::Cell(pick(reader, &format!("{at}/cell"), cell, Matches::One))
            }
            Self::Cells(cells) => {
                Computation::Cells(pick(reader, &format!("{at}/cells"), cells, Matches::Some))
            }
            Self::Fit(fit) => fit_of(reader, &format!("{at}/fit"), fit),
            Self::CountDistinct(column) => {
                let at = format!("{at}/count_distinct");
                Computation::CountDistinct(pick(reader, &at, column, Matches::Some))
            }
            Self::Sum(sum) => {
                Computation::Sum(pick(reader, &format!("{at}/sum"), sum, Matches::Some))
            }
            Self::Count(count) => {
                let at = format!("{at}/count/where");
                let filter = reader.filter(&at, &count.filter, count.rows, Matches::Any);
                Computation::Count {
                    rows: rows(count.rows),
                    filter,
                }
            }
            Self::Setting(path) => {
                check_setting(reader, at, path, experiment);
                Computation::Setting {
                    path: (*path).to_owned(),
                }
            }
            Self::Ratio(ratio) => {
                let rows = [("of", &ratio.of), ("to", &ratio.to)];
                let [of, to] = pair(
                    reader,
                    &format!("{at}/ratio"),
                    (&ratio.column, ratio.rows),
                    rows,
                );
                Computation::Ratio { of, to }
            }
            Self::Difference(difference) => {
                let rows = [("of", &difference.of), ("minus", &difference.minus)];
                let at = format!("{at}/difference");
                let [of, less] = pair(reader, &at, (&difference.column, difference.rows), rows);
                Computation::Difference { of, less }
            }
            Self::PercentChange(change) => {
                let rows = [("from", &change.from), ("to", &change.to)];
                let at = format!("{at}/percent_change");
                let [from, to] = pair(reader, &at, (&change.column, change.rows), rows);
                Computation::PercentChange { from, to }
            }
            Self::External => Computation::External,
        }
    }
}

fn fit_of(reader: &mut Reader<'_, '_>, at: &str, fit: &FitClaim) -> Computation {
    for (key, column) in [("x", &fit.x), ("y", &fit.y)] {
        reader.column(&format!("{at}/{key}"), column, RowKind::Cells);
    }
    let pointer = format!("{at}/where");
    Computation::Fit {
        x: fit.x.clone(),
        y: fit.y.clone(),
        coefficient: match fit.coefficient {
            CoefficientName::A => Coefficient::A,
            CoefficientName::B => Coefficient::B,
            CoefficientName::C => Coefficient::C,
        },
        filter: reader.filter(&pointer, &fit.filter, RowKind::Cells, Matches::Some),
    }
}

fn check_setting(reader: &mut Reader<'_, '_>, at: &str, path: &str, experiment: &Experiment) {
    if setting(experiment, path).is_none() && is_settled(reader, path) {
        let help = "name a setting of `[settings]` that is a number, \
                    `price.input_usd_per_million`, `price.output_usd_per_million`, or \
                    `max_turns` or `max_budget_usd` of `subagent.NAME`";
        let message = format!("no setting `{path}`");
        reader
            .findings
            .add(&format!("{at}/setting"), &message, help);
    }
}

/// Whether nothing is wrong where the setting at a dotted path stands.
fn is_settled(reader: &Reader<'_, '_>, path: &str) -> bool {
    match path.split_once('.') {
        Some(("price", "input_usd_per_million" | "output_usd_per_million")) => {
            let places = ["/settings/price", "/axis", "/case"];
            places.iter().all(|place| reader.findings.is_sound(place))
        }
        Some(("subagent", _)) => reader.findings.is_sound("/subagent"),
        Some(_) => true,
        None => reader.findings.is_certain(&child("/settings", path)),
    }
}

/// Two rows of one column of the cells, by the keys that they stand under.
fn pair(
    reader: &mut Reader<'_, '_>,
    at: &str,
    (column, kind): (&str, RowKind),
    keys: [(&str, &Where); 2],
) -> [Pick; 2] {
    reader.column(&format!("{at}/column"), column, kind);
    keys.map(|(key, conditions)| {
        let at = format!("{at}/{key}");
        Pick {
            rows: rows(kind),
            column: column.to_owned(),
            filter: reader.filter(&at, conditions, kind, Matches::One),
        }
    })
}

fn pick(reader: &mut Reader<'_, '_>, at: &str, selection: &Selection, wanted: Matches) -> Pick {
    let Selection {
        column,
        filter,
        rows: kind,
    } = selection;
    reader.column(&format!("{at}/column"), column, *kind);
    let filter = reader.filter(&format!("{at}/where"), filter, *kind, wanted);
    Pick {
        rows: rows(*kind),
        column: column.clone(),
        filter,
    }
}

const fn rows(kind: RowKind) -> RowsRef {
    match kind {
        RowKind::Cells => RowsRef::Cells,
        RowKind::Turns => RowsRef::Turns,
        RowKind::Summary => RowsRef::Summary,
    }
}

/// A number among the settings of an experiment, by its dotted path.
pub(super) fn setting(experiment: &Experiment, path: &str) -> Option<Decimal> {
    let parts: Vec<&str> = path.split('.').collect();
    let found = match parts.as_slice() {
        ["price", key] => price(experiment, key),
        ["subagent", name, key] => limit(experiment, name, key),
        [key] => {
            let value = experiment.sweep().base().get(*key)?;
            Some(printed(key, value))
        }
        _ => None,
    };
    found?.to_decimal()
}

/// A price per million tokens of the one price that all cells have.
fn price(experiment: &Experiment, key: &str) -> Option<Printed> {
    let name = match experiment.sweep().values_of("price")[..] {
        [] => CHAPTER_PRICE,
        [name] => name.as_str()?,
        _ => return None,
    };
    let price = experiment.resources.prices.get(name)?;
    let per_token: PicoUsd = match key {
        "input_usd_per_million" => price.rates.input,
        "output_usd_per_million" => price.rates.output,
        _ => return None,
    };
    Some(Printed::from(per_token * MILLION))
}

/// A limit of a sub-agent.
fn limit(experiment: &Experiment, name: &str, key: &str) -> Option<Printed> {
    let children = &experiment.resources.children;
    let child = children.iter().find(|child| child.file.name == name)?;
    match key {
        "max_turns" => child.file.max_turns.map(Printed::from),
        "max_budget_usd" => child.budget.map(|budget| Printed::from(budget.0)),
        _ => None,
    }
}

#[cfg(test)]
#[path = "claims_tests.rs"]
mod tests;
