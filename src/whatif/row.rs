//! A case as a row: what it gives, and what it saves and loses against the runs as they were.

use super::axis::{Axis, Case, Setting};
use super::sweep::Report;
use super::tally::Tally;
use crate::message::Usage;
use crate::results::stats::share_interval;
use crate::results::{Cell, Kind};
use crate::run::policy::BudgetCheck;

/// A cell with the name and the kind of its column.
pub type NamedCell = (&'static str, Kind, Cell);

/// The row of a case, or of the runs as they were where there is none: a cell for each axis that
/// is varied anywhere, and what came of it. What no record says is missing.
#[must_use]
pub fn of_case(report: &Report, case: Option<&Case>, tally: &Tally) -> Vec<NamedCell> {
    let mut row = points(report, case);
    row.extend(given(tally));
    if is_varied(report, Axis::Cache) {
        row.extend(cached(tally));
    }
    row.extend(kept(tally));
    let compared = saved(&report.recorded, tally)
        .into_iter()
        .chain(lost(tally));
    row.extend(compared.map(|(name, kind, cell)| match case {
        Some(_) => (name, kind, cell),
        // Nothing is saved or lost against itself.
        None => (name, kind, Cell::Missing),
    }));
    row
}

fn points(report: &Report, case: Option<&Case>) -> Vec<NamedCell> {
    let settings = case.map(Case::settings).unwrap_or_default();
    let mut points = Vec::new();
    for axis in Axis::ALL
        .into_iter()
        .filter(|axis| is_varied(report, *axis))
    {
        let setting = settings.iter().find(|setting| setting.axis() == axis);
        let (kind, cell) = match setting {
            Some(Setting::MaxTurns(number) | Setting::RepeatedCall(number)) => {
                (Kind::Count, count(u64::from(*number)))
            }
            Some(Setting::Budget(usd, _)) => (Kind::Usd, Cell::Usd(*usd)),
            Some(Setting::TotalTokens(tokens)) => (Kind::Tokens, count(*tokens)),
            Some(other) => (Kind::Text, Cell::Text(other.value())),
            None => (kind(axis), Cell::Missing),
        };
        points.push((axis.as_str(), kind, cell));
        if axis == Axis::Budget {
            let check = match setting {
                Some(Setting::Budget(_, check)) => Cell::Text(check_name(*check).to_owned()),
                _ => Cell::Missing,
            };
            points.push(("budget_check", Kind::Text, check));
        }
    }
    points
}

fn is_varied(report: &Report, axis: Axis) -> bool {
    let cases = report.cases.iter();
    cases
        .map(|(case, _)| case.axes())
        .any(|axes| axes.contains(&axis))
}

/// What a cache does, where there is one.
fn cached(tally: &Tally) -> [NamedCell; 2] {
    let tokens = |tokens: Option<u64>| tokens.map_or(Cell::Missing, count);
    let Usage {
        cached_tokens,
        cache_write_tokens,
        ..
    } = tally.usage;
    [
        ("cached_tokens", Kind::Tokens, tokens(cached_tokens)),
        (
            "cache_write_tokens",
            Kind::Tokens,
            tokens(cache_write_tokens),
        ),
    ]
}

const fn kind(axis: Axis) -> Kind {
    match axis {
        Axis::MaxTurns | Axis::RepeatedCall => Kind::Count,
        Axis::Budget => Kind::Usd,
        Axis::TotalTokens => Kind::Tokens,
        Axis::Dedupe | Axis::PermanentErrors | Axis::Cache | Axis::Context => Kind::Text,
    }
}

const fn check_name(check: BudgetCheck) -> &'static str {
    match check {
        BudgetCheck::Before => "before",
        BudgetCheck::After => "after",
        BudgetCheck::Reserve => "reserve",
    }
}

fn given(tally: &Tally) -> [NamedCell; 8] {
    [
        ("runs", Kind::Count, count(tally.runs)),
        ("turns", Kind::Count, count(tally.turns)),
        (
            "prompt_tokens",
            Kind::Tokens,
            count(tally.usage.prompt_tokens),
        ),
        (
            "completion_tokens",
            Kind::Tokens,
            count(tally.usage.completion_tokens),
        ),
        ("cost_usd", Kind::Usd, Cell::Usd(tally.cost)),
        ("tool_runs", Kind::Count, count(tally.tool_runs)),
        ("ended_early", Kind::Count, count(tally.cut)),
        ("changed_runs", Kind::Count, count(tally.changed)),
    ]
}

fn saved(recorded: &Tally, tally: &Tally) -> [NamedCell; 5] {
    let less = |all: u64, now: u64| count(all.saturating_sub(now));
    let tokens = |tally: &Tally| tally.usage.total_tokens();
    let saved = recorded.cost - tally.cost;
    let percent = ratio_percent(saved.pico(), recorded.cost.pico());
    [
        (
            "saved_turns",
            Kind::Count,
            less(recorded.turns, tally.turns),
        ),
        (
            "saved_tokens",
            Kind::Tokens,
            less(tokens(recorded), tokens(tally)),
        ),
        (
            "saved_tool_runs",
            Kind::Count,
            less(recorded.tool_runs, tally.tool_runs),
        ),
        ("saved_usd", Kind::Usd, Cell::Usd(saved)),
        ("saved_percent", Kind::Percent, percent),
    ]
}

/// A number of runs among those that say how they went; missing where none does.
fn marked(tally: &Tally, number: u64) -> Cell {
    match tally.marked {
        0 => Cell::Missing,
        _ => count(number),
    }
}

fn kept(tally: &Tally) -> [NamedCell; 2] {
    let marked = |number| marked(tally, number);
    [
        ("successes", Kind::Count, marked(tally.successes)),
        ("successes_kept", Kind::Count, marked(tally.successes_kept)),
    ]
}

fn lost(tally: &Tally) -> [NamedCell; 4] {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let lost = tally.successes_lost();
    let interval = share_interval(size(lost), size(tally.successes)).ok();
    let percent = |share: f64| Cell::statistic(share * 100.0, 1);
    let share = || {
        ratio_percent(
            i64::try_from(lost).ok()?,
            i64::try_from(tally.successes).ok()?,
        )
        .into()
    };
    let share = (tally.successes > 0).then(share).flatten();
    [
        ("successes_lost", Kind::Count, marked(tally, lost)),
        (
            "successes_lost_percent",
            Kind::Percent,
            share.unwrap_or(Cell::Missing),
        ),
        (
            "successes_lost_low_percent",
            Kind::Percent,
            interval.map_or(Cell::Missing, |interval| percent(interval.low)),
        ),
        (
            "successes_lost_high_percent",
            Kind::Percent,
            interval.map_or(Cell::Missing, |interval| percent(interval.high)),
        ),
    ]
}

/// A part in hundredths of the whole, with one decimal, the half away from zero.
pub(super) fn ratio_percent(part: i64, whole: i64) -> Cell {
    if whole == 0 {
        return Cell::Missing;
    }
    let thousandths = |number: i64| i128::from(number) * 2_000 / i128::from(whole);
    let doubled = thousandths(part);
    let rounded = i128::midpoint(doubled, doubled.signum());
    rust_decimal::Decimal::try_from_i128_with_scale(rounded, 1).map_or(Cell::Missing, Cell::Decimal)
}

fn count(number: u64) -> Cell {
    Cell::Integer(i128::from(number))
}
