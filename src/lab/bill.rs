//! What a cell costs more or less than it did.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use crate::money::PicoUsd;
use crate::results::{Cell, RowSet};

/// The most cells that are kept; of more it is known how many there are.
const MOST_KEPT: usize = 10_000;

/// The column that tells a change of words.
const TRANSCRIPT: &str = "transcript_sha256";

/// What one run used, as its row says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// How it ended.
    pub status: String,
    /// How many turns it took.
    pub turns: Option<i64>,
    /// Tokens sent.
    pub prompt_tokens: Option<i64>,
    /// Tokens written.
    pub completion_tokens: Option<i64>,
    /// What that cost.
    pub cost: Option<PicoUsd>,
}

/// A cell that says something else than it did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellChange {
    /// The values of the columns that tell it from other rows: `max_turns=8 dedupe=all`.
    pub row: String,
    /// The same for people: `8` of one axis, a case's name; empty of an only cell.
    pub at: String,
    /// What it used.
    pub was: Bill,
    /// What it uses.
    pub is: Bill,
    /// The columns that say something else, in the order of the rows.
    pub columns: Vec<String>,
}

/// The cells that say something else than they did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The first of them.
    pub cells: Vec<CellChange>,
    /// How many there are.
    pub total: usize,
    /// Rows that were not there.
    pub new: usize,
    /// Rows that are gone.
    pub gone: usize,
}

impl Bill {
    fn of(rows: &RowSet, row: &[Cell]) -> Self {
        let text = |column: &str| {
            let at = rows.index_of(column).ok()?;
            Some(row.get(at)?.to_string())
        };
        let whole = |column: &str| text(column)?.parse().ok();
        Self {
            status: text("status").or_else(|| text("ended")).unwrap_or_default(),
            turns: whole("turns"),
            prompt_tokens: whole("prompt_tokens"),
            completion_tokens: whole("completion_tokens"),
            cost: text("cost_usd").and_then(|text| text.parse().ok()),
        }
    }
}

impl Changes {
    /// Compares rows whose `key` columns have the same values; `labels` are those of them that
    /// people call a cell by.
    #[must_use]
    pub fn between(committed: &RowSet, fresh: &RowSet, key: &[&str], labels: &[&str]) -> Self {
        let mut changes = Self::default();
        let before: BTreeMap<String, &[Cell]> = committed
            .rows()
            .iter()
            .map(|row| (called(committed, row, key), row.as_slice()))
            .collect();
        let shared: Vec<(&str, usize, usize)> = fresh
            .columns()
            .iter()
            .enumerate()
            .filter_map(|(is, column)| {
                let was = committed.index_of(&column.name).ok()?;
                Some((column.name.as_str(), was, is))
            })
            .collect();
        let mut found = 0;
        for row in fresh.rows() {
            let name = called(fresh, row, key);
            let Some(was) = before.get(&name) else {
                changes.new += 1;
                continue;
            };
            found += 1;
            let text = |row: &[Cell], at: usize| row.get(at).map(Cell::to_string);
            let columns = shared
                .iter()
                .filter(|&&(_, a, b)| text(was, a) != text(row, b));
            let columns: Vec<String> = columns.map(|(name, _, _)| (*name).to_owned()).collect();
            if columns.is_empty() {
                continue;
            }
            changes.total += 1;
            if changes.cells.len() < MOST_KEPT {
                changes.cells.push(CellChange {
                    at: shown(fresh, row, labels),
                    was: Bill::of(committed, was),
                    is: Bill::of(fresh, row),
                    row: name,
                    columns,
                });
            }
        }
        changes.gone = before.len().saturating_sub(found);
        changes
    }

    /// The cell whose cost changed most; of several the first.
    #[must_use]
    pub fn costliest(&self) -> Option<&CellChange> {
        let by_cost = |change: &&CellChange| {
            let more = change.more().map_or(0, |more| more.pico().unsigned_abs());
            std::cmp::Reverse(more)
        };
        self.cells.iter().min_by_key(by_cost)
    }

    /// Whether all rows are there and say what they said.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.total == 0 && self.new == 0 && self.gone == 0
    }
}

impl CellChange {
    /// What a run costs more; below zero if it costs less.
    #[must_use]
    pub fn more(&self) -> Option<PicoUsd> {
        Some(self.is.cost? - self.was.cost?)
    }

    /// What it uses more or less: `+64 prompt tokens per turn`.
    #[must_use]
    pub fn usage(&self) -> String {
        let (was, is) = (&self.was, &self.is);
        let mut parts = Vec::new();
        if was.status != is.status {
            parts.push(format!("`{}` instead of `{}`", is.status, was.status));
        }
        let delta = |was: Option<i64>, is: Option<i64>| Some(is? - was?).filter(|more| *more != 0);
        let turns = delta(was.turns, is.turns);
        if turns.is_some() {
            let number = |turns: Option<i64>| turns.unwrap_or_default();
            parts.push(format!(
                "{} turns instead of {}",
                number(is.turns),
                number(was.turns)
            ));
        }
        if let Some(more) = delta(was.prompt_tokens, is.prompt_tokens) {
            let of_turn = is
                .turns
                .filter(|&n| turns.is_none() && n > 1 && more % n == 0);
            parts.push(match of_turn {
                Some(n) => format!("{} per turn", counted(more / n, "prompt token")),
                None => counted(more, "prompt token"),
            });
        }
        if let Some(more) = delta(was.completion_tokens, is.completion_tokens) {
            parts.push(counted(more, "completion token"));
        }
        if !parts.is_empty() {
            return parts.join(", ");
        }
        match self.more() {
            None | Some(PicoUsd::ZERO) => self.values(),
            Some(_) => "the same tokens".to_owned(),
        }
    }

    /// The columns that say something else, where that is nothing that costs.
    fn values(&self) -> String {
        let columns = self.columns.iter().filter(|column| *column != TRANSCRIPT);
        let columns: Vec<String> = columns.map(|column| format!("`{column}`")).collect();
        match columns.as_slice() {
            [] => "other words, as many tokens".to_owned(),
            [only] => format!("another {only}"),
            [some @ .., last] => format!("other {} and {last}", some.join(", ")),
        }
    }

    /// What that costs: `+$0.0157 per run, +8.2 %`.
    #[must_use]
    pub fn price(&self) -> String {
        match self.more() {
            None => String::new(),
            Some(PicoUsd::ZERO) => "at the same cost".to_owned(),
            Some(more) => {
                let mut text = format!("{} per run", signed_usd(more));
                if let Some(percent) = self.percent() {
                    let _ = write!(text, ", {percent}");
                }
                text
            }
        }
    }

    /// By how many percent the cost changed: `+8.2 %`; none where it was nothing.
    #[must_use]
    pub fn percent(&self) -> Option<String> {
        let was = i128::from(self.was.cost?.pico());
        if was == 0 {
            return None;
        }
        let more = i128::from(self.more()?.pico()) * 1_000;
        // Tenths of a percent, half away from zero.
        let tenths = (more * 2 + was * more.signum()) / (was * 2);
        if tenths == 0 {
            return Some("by less than 0.1 %".to_owned());
        }
        let sign = if tenths < 0 { '-' } else { '+' };
        let size = tenths.unsigned_abs();
        Some(format!("{sign}{}.{} %", size / 10, size % 10))
    }
}

/// `turn-cap at 50`'s second half: the labels' values, and their names where there are several.
fn shown(rows: &RowSet, row: &[Cell], labels: &[&str]) -> String {
    match labels {
        [only] => cell(rows, row, only),
        labels => {
            let pairs = labels.iter().map(|label| {
                let value = cell(rows, row, label);
                format!("{label}={value}")
            });
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}

fn called(rows: &RowSet, row: &[Cell], key: &[&str]) -> String {
    let pairs = key
        .iter()
        .map(|column| format!("{column}={}", cell(rows, row, column)));
    pairs.collect::<Vec<_>>().join(" ")
}

fn cell(rows: &RowSet, row: &[Cell], column: &str) -> String {
    let at = rows.index_of(column).ok();
    at.and_then(|at| row.get(at))
        .map(Cell::to_string)
        .unwrap_or_default()
}

fn counted(more: i64, noun: &str) -> String {
    let plural = if more.abs() == 1 { "" } else { "s" };
    format!("{more:+} {noun}{plural}")
}

/// Dollars with a sign and two decimals or as many more as the amount needs: `+$0.0157`.
fn signed_usd(amount: PicoUsd) -> String {
    let sign = if amount < PicoUsd::ZERO { '-' } else { '+' };
    let digits = PicoUsd::from_pico(amount.pico().saturating_abs()).to_shortest();
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    format!("{sign}${whole}.{fraction:0<2}")
}

/// The whole of it: `+64 prompt tokens per turn; +$0.0157 per run, +8.2 %`.
impl fmt::Display for CellChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let price = self.price();
        let semicolon = if price.is_empty() { "" } else { "; " };
        write!(f, "{}{semicolon}{price}", self.usage())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Schema;

    const HEAD: &str = "max_turns,status,turns,prompt_tokens,completion_tokens,cost_usd,wall_ms\n";

    fn rows(lines: &str) -> RowSet {
        let text = format!("{HEAD}{lines}");
        RowSet::from_reader("cells.csv", text.as_bytes(), Schema::ByName).unwrap()
    }

    fn changes(was: &str, is: &str) -> Changes {
        let key = ["max_turns"];
        Changes::between(&rows(was), &rows(is), &key, &key)
    }

    fn told(was: &str, is: &str) -> String {
        changes(was, is).costliest().unwrap().to_string()
    }

    const WAS: &str = "50,completed,50,88649,1150,0.191098,0\n";

    #[test]
    fn tokens_of_every_turn_are_told_by_the_turn_and_the_cost_by_the_run() {
        assert_eq!(
            told(WAS, "50,completed,50,91849,1150,0.197498,0\n"),
            "+64 prompt tokens per turn; +$0.0064 per run, +3.3 %"
        );
        assert_eq!(
            told(WAS, "50,completed,50,88648,1149,0.191084,0\n"),
            "-1 prompt token, -1 completion token; -$0.000014 per run, by less than 0.1 %"
        );
    }

    #[test]
    fn another_end_and_other_turns_are_told() {
        assert_eq!(
            told(WAS, "50,failed,49,80000,1150,0.173800,0\n"),
            "`failed` instead of `completed`, 49 turns instead of 50, -8649 prompt tokens; \
             -$0.017298 per run, -9.1 %"
        );
    }

    #[test]
    fn a_price_alone_and_words_alone_are_told_apart() {
        assert_eq!(
            told(WAS, "50,completed,50,88649,1150,0.382196,0\n"),
            "the same tokens; +$0.191098 per run, +100.0 %"
        );
        let is = rows("50,completed,50,88649,1150,0.191098,0\n");
        let worded = |digest: &str| {
            let text = format!("max_turns,cost_usd,transcript_sha256\n50,0.191098,{digest}\n");
            RowSet::from_reader("cells.csv", text.as_bytes(), Schema::ByName).unwrap()
        };
        let key = ["max_turns"];
        let changes = Changes::between(&worded("a"), &worded("b"), &key, &key);
        assert_eq!(
            changes.cells[0].to_string(),
            "other words, as many tokens; at the same cost"
        );
        assert!(Changes::between(&is, &is, &key, &key).is_empty());
        let values = |line: &str| {
            let text = format!("max_turns,cost_usd,tool_runs,deleted\n50,0.1,{line}\n");
            RowSet::from_reader("cells.csv", text.as_bytes(), Schema::ByName).unwrap()
        };
        let told = |was: &str, is: &str| {
            Changes::between(&values(was), &values(is), &key, &key).cells[0].usage()
        };
        assert_eq!(told("1,a", "2,a"), "another `tool_runs`");
        assert_eq!(told("1,a", "2,b"), "other `tool_runs` and `deleted`");
    }

    #[test]
    fn the_costliest_cell_comes_first_and_rows_that_came_or_went_are_counted() {
        let was = "8,a,1,1,1,0.1,0\n20,a,1,1,1,0.1,0\n50,a,1,1,1,0.1,0\n";
        let is = "8,a,1,1,1,0.2,0\n20,a,1,1,1,0.05,7\n100,a,1,1,1,0.1,0\n";
        let changes = changes(was, is);
        assert_eq!((changes.total, changes.new, changes.gone), (2, 1, 1));
        let first = changes.costliest().unwrap();
        assert_eq!((&*first.row, &*first.at), ("max_turns=8", "8"));
    }
}
