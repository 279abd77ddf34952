//! The prompt of every turn: what all turns before sent, and what is new.

use super::super::PlotError;
use super::super::picture::{Axis, Bar, Bars, Fill, Panel, Piece};
use super::super::rows::{Row, size};
use crate::lab::Measured;
use crate::report::locale::Locale;

/// The prompt tokens of each turn.
#[derive(Debug)]
pub(in super::super) struct PromptTokens(Vec<(u64, u64)>);

impl PromptTokens {
    /// Reads `turn` and `prompt_tokens` of the turns.
    pub(super) fn of(measured: &Measured) -> Result<Self, PlotError> {
        let rows = Row::all(&measured.turns);
        let turns = rows.map(|row| Ok((row.count("turn")?, row.count("prompt_tokens")?)));
        turns.collect::<Result<_, PlotError>>().map(Self)
    }

    /// A bar for each turn.
    pub(super) fn bars(&self, locale: &Locale) -> Bars {
        let mut bars = Vec::new();
        let mut before = 0;
        let last = self.0.len().saturating_sub(1);
        for (index, (_, tokens)) in self.0.iter().enumerate() {
            let mut pieces = Vec::new();
            // A first turn sends nothing for a second time.
            let again = if index == 0 { 0 } else { before.min(*tokens) };
            if again > 0 {
                let (from, to, fill) = (0.0, size(again), Fill::Pale);
                pieces.push(Piece { from, to, fill });
            }
            let (from, to, fill) = (size(again), size(*tokens), Fill::Strong);
            pieces.push(Piece { from, to, fill });
            let notes = if index == last && again > 0 {
                vec![(size(again) / 2.0, locale.text("plot.sent_before", &[]))]
            } else {
                Vec::new()
            };
            bars.push(Bar {
                pieces,
                label: vec![super::count(locale, *tokens)],
                notes,
                ..Bar::default()
            });
            before = *tokens;
        }
        let most = self.0.iter().map(|(_, tokens)| *tokens).max();
        Bars {
            heading: Some(locale.text("plot.turn", &[])),
            names: self.0.iter().map(|(turn, _)| locale.count(*turn)).collect(),
            panels: vec![Panel {
                bars,
                axis: Axis {
                    title: locale.text("plot.prompt_tokens", &[]),
                    most: most.map_or(0.0, size),
                    whole: true,
                },
            }],
        }
    }
}
