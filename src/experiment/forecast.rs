//! What a run costs, before it is made: at most, and probably.
//!
//! A cell of the scripted model is rehearsed: it is run in process, in virtual time, which costs
//! nothing and gives its tokens exactly. What a real model will do is not known; the most that it
//! can cost follows from what the cell states.

use std::fmt;

use super::Experiment;
use super::execute::{RunError, Stop};
use super::harness::Harness;
use super::live::{CellRunError, Venue};
use super::seam::Transport;
use super::settings::Settings;
use super::sweep::Cell;
use crate::message::{Message, Usage, to_json};
use crate::money::PicoUsd;
use crate::pricing::Price;
use crate::run::policy::BudgetCheck;
use crate::tokens;
use crate::world;

/// Tokens that a call and its result take besides their texts: ids, keys, marks.
const AROUND_A_RESULT: u64 = 64;
/// The fewest tokens in which a model can write a call: a name, arguments, a mark on either side.
const SHORTEST_CALL: u64 = 4;
/// How many tokens a token of a reply can be when it is sent back inside JSON, and once more in
/// the words of an error that repeats it.
const SENT_BACK: u64 = 4;

/// The turns that are assumed of a real model: a listing, a file, an answer.
const ASSUMED_TURNS: u32 = 3;
/// The tokens of a reply that are assumed of a real model.
const ASSUMED_REPLY: u64 = 50;

/// What a run costs before it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The cell.
    pub cell: Cell,
    /// What it will probably cost.
    pub expected: Expected,
    /// What it can cost at most.
    pub worst: Worst,
}

/// What a run will probably cost, and how that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The scripted model was asked, in process.
    Rehearsed(PicoUsd),
    /// A real model is assumed to list the files, to read the largest and to answer.
    Assumed(PicoUsd),
    /// A command decides what it asks.
    Unknown,
}

/// The most that a run can cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Worst {
    /// No more than this.
    AtMost(PicoUsd),
    /// Any sum, until the cell states what is missing.
    Unbounded(Missing),
}

/// What a cell would have to state for its bill to be bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// How long a reply may be.
    ReplyLength,
    /// How many replies there may be.
    Replies,
    /// Both.
    ReplyLengthAndReplies,
    /// A budget that no turn may overstep, because sub-agents say what no bound covers.
    Reserve,
    /// Nothing: a command sends what it likes.
    Nothing,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplyLength => "set max_completion_tokens",
            Self::Replies => {
                "set max_turns, max_tokens, or max_budget_usd with budget_check = \"reserve\""
            }
            Self::ReplyLengthAndReplies => {
                "set max_completion_tokens, and one of max_turns, max_tokens, or max_budget_usd \
                 with budget_check = \"reserve\""
            }
            Self::Reserve => {
                "set max_completion_tokens and max_budget_usd with budget_check = \"reserve\": \
                 what sub-agents answer has no other bound"
            }
            Self::Nothing => "a command sends what it likes",
        })
    }
}

/// Where the runs of an experiment are rehearsed; nothing leaves the process.
pub struct Rehearsal<'e> {
    experiment: &'e Experiment,
    venue: Venue<'e>,
}

impl Experiment {
    /// Prepares to rehearse its runs.
    #[must_use]
    pub fn rehearsal<'e>(&'e self, stop: Stop<'e>) -> Rehearsal<'e> {
        Rehearsal {
            experiment: self,
            venue: Venue::rehearsal(self, stop),
        }
    }
}

impl Rehearsal<'_> {
    /// What a run of the cell at `index` costs.
    ///
    /// # Errors
    /// [`RunError`] where the cell cannot be read or rehearsed.
    pub fn forecast(&self, index: u64) -> Result<Forecast, RunError> {
        let cell = self.experiment.sweep.cell(index)?;
        let found = match &self.experiment.harness {
            Harness::Command(_) => Ok((Expected::Unknown, Worst::Unbounded(Missing::Nothing))),
            Harness::InProcess if cell.settings.asks_endpoint() => self.foreseen(&cell.settings),
            Harness::InProcess => self.rehearsed(&cell),
        };
        match found {
            Ok((expected, worst)) => Ok(Forecast {
                cell,
                expected,
                worst,
            }),
            Err(source) => Err(RunError::Run {
                id: cell.id,
                source,
            }),
        }
    }

    /// The first cell that asks a real model without a bound on its bill, and what it lacks.
    ///
    /// # Errors
    /// [`RunError`] where a cell cannot be read.
    pub fn first_unbounded(&self) -> Result<Option<(String, Missing)>, RunError> {
        for index in 0..self.experiment.sweep.len() {
            let settings = self.experiment.sweep.cell(index)?.settings;
            let is_command = matches!(self.experiment.harness, Harness::Command(_));
            if is_command || settings.asks_endpoint() {
                let Forecast { cell, worst, .. } = self.forecast(index)?;
                if let Worst::Unbounded(missing) = worst {
                    return Ok(Some((cell.id, missing)));
                }
            }
        }
        Ok(None)
    }

    /// A scripted run does the same whenever and however it is run.
    fn rehearsed(&self, cell: &Cell) -> Result<(Expected, Worst), CellRunError> {
        let settings = in_process(&cell.settings);
        let measured = self.venue.run(&settings, &cell.id)?;
        let cost = measured.bill();
        Ok((Expected::Rehearsed(cost), Worst::AtMost(cost)))
    }

    fn foreseen(&self, settings: &Settings) -> Result<(Expected, Worst), CellRunError> {
        let resources = &self.experiment.resources;
        let price = resources.price(settings)?;
        let lengths = self.lengths(&in_process(settings))?;
        let bound = Bound {
            settings,
            price,
            lengths,
            sub_agents: !resources.children.is_empty(),
        };
        Ok((Expected::Assumed(bound.assumed()), bound.worst()))
    }

    /// How long the texts of a cell are.
    fn lengths(&self, settings: &Settings) -> Result<Lengths, CellRunError> {
        let resources = &self.experiment.resources;
        let catalog = resources.catalog(settings, self.venue.seam())?;
        let system = settings.system.as_deref().unwrap_or(world::SYSTEM);
        let user = settings.user.as_deref().unwrap_or(world::USER);
        let messages = [
            Message::System {
                content: system.to_owned(),
            },
            Message::User {
                content: user.to_owned(),
            },
        ];
        let workspace = resources.workspace(settings)?;
        let names: Vec<&str> = workspace.contents().map(|(name, _)| name).collect();
        let texts = workspace
            .contents()
            .map(|(_, bytes)| tokens::count(&to_json(&String::from_utf8_lossy(bytes))));
        Ok(Lengths {
            first_prompt: tokens::count_messages(&messages) + catalog.tokens(),
            listing: tokens::count(&to_json(&to_json(&names))),
            largest_file: texts.max().unwrap_or(0),
        })
    }
}

/// The same run where nothing travels.
fn in_process(settings: &Settings) -> Settings {
    Settings {
        transport: Transport::InProcess,
        compare_with: None,
        ..settings.clone()
    }
}

/// Tokens of the texts that a run begins with and can come by.
struct Lengths {
    first_prompt: u64,
    listing: u64,
    largest_file: u64,
}

/// What bounds the bill of a cell that asks a real model.
struct Bound<'a> {
    settings: &'a Settings,
    price: &'a Price,
    lengths: Lengths,
    sub_agents: bool,
}

impl Bound<'_> {
    /// The bill of a short run: the files listed, the largest one read, an answer.
    fn assumed(&self) -> PicoUsd {
        let turns = self.settings.max_turns.unwrap_or(ASSUMED_TURNS);
        let most = self.settings.max_completion_tokens.map(u64::from);
        let reply = ASSUMED_REPLY.min(most.unwrap_or(ASSUMED_REPLY));
        let results = [self.lengths.listing, self.lengths.largest_file, 0];
        let mut prompt = self.lengths.first_prompt;
        let mut cost = PicoUsd::ZERO;
        for result in results.iter().take(turns.min(ASSUMED_TURNS) as usize) {
            cost += self.price.cost(&Usage {
                prompt_tokens: prompt,
                completion_tokens: reply,
                ..Usage::default()
            });
            prompt = prompt.saturating_add(reply + result + AROUND_A_RESULT);
        }
        cost
    }

    fn worst(&self) -> Worst {
        let budget = self.settings.max_budget_usd.map(|dollars| dollars.0);
        let reserves = self.settings.budget_check == BudgetCheck::Reserve;
        let Some(reply) = self.settings.max_completion_tokens.map(u64::from) else {
            let bounded = self.settings.max_turns.is_some()
                || self.settings.max_tokens.is_some()
                || budget.is_some() && reserves;
            return Worst::Unbounded(match (self.sub_agents, bounded) {
                (true, _) => Missing::Reserve,
                (false, true) => Missing::ReplyLength,
                (false, false) => Missing::ReplyLengthAndReplies,
            });
        };
        let others = if self.sub_agents {
            None
        } else {
            self.by_length(reply)
        };
        let least = match (budget.filter(|_| reserves), others) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        least.map_or_else(
            || {
                Worst::Unbounded(if self.sub_agents {
                    Missing::Reserve
                } else {
                    Missing::Replies
                })
            },
            Worst::AtMost,
        )
    }

    /// The most by what bounds the number of turns or tokens; none if nothing does.
    fn by_length(&self, reply: u64) -> Option<PicoUsd> {
        let growth = self.growth(reply);
        let by_turns = self.settings.max_turns.map(|turns| {
            let last = growth.saturating_mul(u64::from(turns.saturating_sub(1)));
            let last = self.lengths.first_prompt.saturating_add(last);
            (self.of_turns(turns, (growth, reply)), last)
        });
        let by_tokens = self.settings.max_tokens.map(|tokens| {
            // All requests but the last have fewer tokens together than the limit.
            let last = tokens.saturating_add(growth).max(self.lengths.first_prompt);
            let before = self.price.dearest_token() * tokens;
            (before + self.price.worst_cost(last, reply), last)
        });
        let bounds: Vec<(PicoUsd, u64)> = by_turns.into_iter().chain(by_tokens).collect();
        let total = bounds.iter().map(|(total, _)| *total).min()?;
        let last = bounds.iter().map(|(_, last)| *last).min()?;
        let beyond = match self.settings.budget_check {
            BudgetCheck::Before | BudgetCheck::Reserve => 1,
            BudgetCheck::After => 2,
        };
        let by_budget = self
            .settings
            .max_budget_usd
            .map(|budget| budget.0 + self.price.worst_cost(last, reply) * beyond);
        Some(by_budget.map_or(total, |by_budget| by_budget.min(total)))
    }

    /// By how much a prompt can be longer than the one before: the reply is sent back, and each
    /// call in it gets the longest result that there is.
    fn growth(&self, reply: u64) -> u64 {
        let result = self.lengths.listing.max(self.lengths.largest_file);
        let calls = reply / SHORTEST_CALL;
        let results = calls.saturating_mul(result + AROUND_A_RESULT);
        results
            .saturating_add(reply.saturating_mul(SENT_BACK))
            .saturating_add(AROUND_A_RESULT)
    }

    /// The sum of so many turns, each as dear as it can be.
    fn of_turns(&self, turns: u32, (growth, reply): (u64, u64)) -> PicoUsd {
        let most = PicoUsd::from_pico(i64::MAX);
        let (mut prompt, mut cost) = (self.lengths.first_prompt, PicoUsd::ZERO);
        if self.price.dearest_token() == PicoUsd::ZERO {
            return cost;
        }
        for _ in 0..turns {
            cost += self.price.worst_cost(prompt, reply);
            if cost == most {
                break;
            }
            prompt = prompt.saturating_add(growth);
        }
        cost
    }
}

#[cfg(test)]
mod tests;
