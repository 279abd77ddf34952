//! An invoice as rows: the columns that can be told from the side of the model.

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use super::{Invoice, Turn};
use crate::results::{Cell, Column, Kind, round_half_away};

/// A column of a row type.
struct Of<T> {
    name: &'static str,
    kind: Kind,
    value: fn(&T) -> Cell,
}

const fn column<T>(name: &'static str, kind: Kind, value: fn(&T) -> Cell) -> Of<T> {
    Of { name, kind, value }
}

static CELL: &[Of<Invoice>] = &[
    column("ended", Kind::Text, |i| i.ended.as_str().into()),
    column("exit_code", Kind::Number, |i| {
        i.exit_code.map(i64::from).into()
    }),
    column("turns", Kind::Count, |i| count(i.turns.len())),
    column("requests", Kind::Count, |i| i.requests.into()),
    column("attempts", Kind::Count, |i| i.attempts.into()),
    column("failures", Kind::Count, |i| count(i.failures.len())),
    column("refused", Kind::Count, |i| i.refused().into()),
    column("tool_calls", Kind::Count, |i| i.tool_calls.into()),
    column("repeated_calls", Kind::Count, |i| i.repeated_calls.into()),
    column("first_prompt_tokens", Kind::Tokens, |i| {
        i.first().map(Turn::sent_tokens).into()
    }),
    column("tools_tokens", Kind::Tokens, |i| {
        i.first().map(|turn| turn.tools_tokens).into()
    }),
    column("prompt_tokens", Kind::Tokens, |i| {
        i.usage.prompt_tokens.into()
    }),
    column("completion_tokens", Kind::Tokens, |i| {
        i.usage.completion_tokens.into()
    }),
    column("total_tokens", Kind::Tokens, |i| {
        i.usage.total_tokens().into()
    }),
    column("replayed_tokens", Kind::Tokens, |i| {
        i.replayed_tokens.into()
    }),
    column("replayed_percent", Kind::Percent, |i| {
        i.replayed_percent().into()
    }),
    column("cost_usd", Kind::Usd, |i| i.cost.into()),
    column("wall_ms", Kind::Ms, |i| Cell::ms(i.time.wall())),
    column("start_ms", Kind::Ms, |i| Cell::ms(i.time.start)),
    column("provider_ms", Kind::Ms, |i| Cell::ms(i.time.provider)),
    column("retry_wait_ms", Kind::Ms, |i| Cell::ms(i.time.waiting)),
    column("harness_ms", Kind::Ms, |i| Cell::ms(i.time.harness)),
    column("close_ms", Kind::Ms, |i| Cell::ms(i.time.close)),
    column("harness_per_turn_ms", Kind::Ms, |i| {
        i.time.harness_per_gap().map_or(Cell::Missing, Cell::ms)
    }),
    column("oddities", Kind::Count, |i| count(i.oddities.len())),
    column("odd", Kind::Text, |i| i.odd().join(" ").into()),
    column("last_error", Kind::Text, |i| {
        i.last_error.clone().map(as_text).into()
    }),
];

static TURN: &[Of<Turn>] = &[
    column("turn", Kind::Count, |t| t.number.into()),
    column("attempts", Kind::Count, |t| t.attempts.into()),
    column("messages", Kind::Count, |t| count(t.messages)),
    column("messages_tokens", Kind::Tokens, |t| {
        t.messages_tokens.into()
    }),
    column("tools_tokens", Kind::Tokens, |t| t.tools_tokens.into()),
    column("prompt_tokens", Kind::Tokens, |t| {
        t.usage.prompt_tokens.into()
    }),
    column("completion_tokens", Kind::Tokens, |t| {
        t.usage.completion_tokens.into()
    }),
    column("total_tokens", Kind::Tokens, |t| {
        t.usage.total_tokens().into()
    }),
    column("cost_usd", Kind::Usd, |t| t.cost.into()),
    column("finish_reason", Kind::Text, |t| t.finish.as_str().into()),
    column("called", Kind::Text, |t| as_text(t.calls.join(" ")).into()),
    column("told", Kind::Text, |t| {
        t.told_in_brief().map(as_text).into()
    }),
    column("provider_ms", Kind::Ms, |t| Cell::ms(t.provider)),
    column("before_ms", Kind::Ms, |t| Cell::ms(t.before)),
];

/// The columns of the row of a command.
#[must_use]
pub fn cell_columns() -> Vec<Column> {
    columns(CELL)
}

/// The row of a command, under [`cell_columns`].
#[must_use]
pub fn cell_values(invoice: &Invoice) -> Vec<Cell> {
    values(CELL, invoice)
}

/// The columns of the rows of its turns. `cost_usd` is that of all turns so far.
#[must_use]
pub fn turn_columns() -> Vec<Column> {
    columns(TURN)
}

/// The row of a turn, under [`turn_columns`].
#[must_use]
pub fn turn_values(turn: &Turn) -> Vec<Cell> {
    values(TURN, turn)
}

fn columns<T>(all: &[Of<T>]) -> Vec<Column> {
    let columns = all.iter().map(|of| Column::new(of.name, of.kind));
    columns.collect()
}

fn values<T>(all: &[Of<T>], of: &T) -> Vec<Cell> {
    all.iter().map(|column| (column.value)(of)).collect()
}

/// A text of the agent, or of its tools, as a cell that no spreadsheet takes for a formula.
fn as_text(foreign: String) -> String {
    let is_formula = foreign.starts_with([
        '=', '+', '-', '@', '\t', '\r', '\n', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    if is_formula {
        format!("'{foreign}")
    } else {
        foreign
    }
}

fn count(things: usize) -> Cell {
    u64::try_from(things).ok().into()
}

impl Invoice {
    /// The share of the prompt tokens that an earlier turn had sent already, to one decimal; none
    /// where nothing was sent.
    #[must_use]
    pub fn replayed_percent(&self) -> Option<Decimal> {
        let hundredfold = Decimal::from(self.replayed_tokens) * Decimal::ONE_HUNDRED;
        let percent = hundredfold.checked_div(Decimal::from(self.usage.prompt_tokens))?;
        let mut percent = round_half_away(percent, 1);
        percent.rescale(1);
        Some(percent)
    }

    /// The kinds of oddities, each once.
    #[must_use]
    pub fn odd(&self) -> Vec<&'static str> {
        let kinds = self.oddities.iter().map(|(_, oddity)| oddity.as_str());
        let kinds: BTreeSet<_> = kinds.collect();
        kinds.into_iter().collect()
    }
}

/// How much is told in brief, in characters.
const BRIEF: usize = 300;

impl Turn {
    /// What the model was told, on one line, cut.
    #[must_use]
    pub fn told_in_brief(&self) -> Option<String> {
        let words = self.told.iter().map(|told| {
            let words: Vec<_> = told.text.split_whitespace().collect();
            words.join(" ")
        });
        let told = words.collect::<Vec<_>>().join(" | ");
        (!told.is_empty()).then(|| told.chars().take(BRIEF).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_would_be_a_formula_is_marked_as_text_and_no_other_is_touched() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\u{ff1d}1"] {
            assert_eq!(as_text(formula.to_owned()), format!("'{formula}"));
        }
        for text in ["", "read_notes", "a=b", "'quoted'", "error: no -x"] {
            assert_eq!(as_text(text.to_owned()), text);
        }
    }
}
