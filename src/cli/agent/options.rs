//! What was typed after `agent start`, turned into what was meant.

use clap::Args;

use super::model::ModelArgs;
use super::place::Place;
use super::{Printing, parse_usd};
use crate::cli::exit::Failure;
use crate::cli::output;
use crate::cli::prices::price;
use crate::money::PicoUsd;
use crate::pricing::{self, CHAPTER_PRICE, Price, PriceError};
use crate::run::policy::{
    Approval, BudgetCheck, CancelReaches, Dedupe, PermanentErrors, Policy, StopCondition,
    ToolErrors, ToolExecution, VerdictWording,
};
use crate::run::{RunSettings, RunState};
use crate::store::{CatalogKind, Launch, Model};
use crate::world;

/// The turn cap where no limit is given.
const DEFAULT_MAX_TURNS: u32 = 20;

#[derive(Debug, Args)]
pub(super) struct StartArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// The run's id; the next of r1, r2, … unless given
    #[arg(long)]
    pub(super) id: Option<String>,
    #[command(flatten)]
    pub(super) place: Place,
    /// What the user asks
    #[arg(long, default_value = world::USER)]
    user: String,
    /// What bills it: a model of `loopmeter list prices`, such as `openai/gpt-5` [default: the
    /// endpoint's model where that is listed, else `chapter`]
    #[arg(long, value_name = "MODEL")]
    price: Option<String>,
    #[command(flatten)]
    limits: Limits,
    #[command(flatten)]
    policies: Policies,
    #[command(flatten)]
    pub(super) printing: Printing,
}

impl StartArgs {
    /// The launch and the run that has not begun; its id is still to be claimed.
    pub(super) fn prepare(&self) -> Result<(Launch, RunState), Failure> {
        let (model, clock) = self.model.choose()?;
        let price = match &self.price {
            Some(name) => price(name)?,
            None => price_of(&model)?,
        };
        let mut settings = RunSettings::new(price).with_policy(self.policies.policy());
        settings.stop.push(StopCondition::MaxTurns {
            turns: DEFAULT_MAX_TURNS,
        });
        self.limits.replace_in(&mut settings)?;
        let catalog = match self.policies.dedupe {
            Dedupe::IdempotencyKey => CatalogKind::IdempotencyKeys,
            Dedupe::Off | Dedupe::All | Dedupe::ReadOnly => CatalogKind::Chapter,
        };
        let launch = Launch {
            model,
            catalog,
            clock,
        };
        Ok((
            launch,
            RunState::new("", settings, world::SYSTEM, &self.user),
        ))
    }
}

/// The price of a token. A model that is in no list is computed at the chapter's price, and that
/// is said.
fn price_of(model: &Model) -> Result<Price, Failure> {
    if let Model::Endpoint { model, .. } = model {
        match pricing::find(model) {
            Ok(price) => return Ok(price),
            Err(PriceError::Unknown { .. }) => output::note(format_args!(
                "note: no price is known for model {model:?}; costs are at the price \
                 {CHAPTER_PRICE:?}, or name another by --price"
            )),
            Err(error) => output::note(format_args!(
                "note: {error}; costs are at the price {CHAPTER_PRICE:?}, or name another by --price"
            )),
        }
    }
    price(CHAPTER_PRICE)
}

/// Limits; those that are given replace those that the run had.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct Limits {
    /// Stop after so many turns [default: 20]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Stop once so many dollars are spent
    #[arg(long, value_name = "USD", value_parser = parse_usd)]
    max_budget_usd: Option<PicoUsd>,
    /// When the budget is compared with the cost
    #[arg(long, value_enum)]
    budget_check: Option<BudgetCheck>,
    /// Stop once so many tokens are used
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
    /// Stop once so much time has passed
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    max_wall_ms: Option<u64>,
    /// Stop when the same call is made so many times in a row
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(2..))]
    repeated_call: Option<u32>,
    /// The most tokens that one reply may have
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_completion_tokens: Option<u64>,
}

impl Limits {
    /// Puts the limits that were given in the place of those that `settings` have.
    pub(super) fn replace_in(&self, settings: &mut RunSettings) -> Result<(), Failure> {
        if let Some(turns) = self.max_turns {
            replace(settings, StopCondition::MaxTurns { turns });
        }
        self.replace_budget(settings)?;
        if let Some(tokens) = self.max_tokens {
            replace(settings, StopCondition::MaxTokens { tokens });
        }
        if let Some(wall_ms) = self.max_wall_ms {
            replace(settings, StopCondition::MaxWall { wall_ms });
        }
        if let Some(times) = self.repeated_call {
            replace(settings, StopCondition::RepeatedCall { times });
        }
        if self.max_completion_tokens.is_some() {
            settings.max_completion_tokens = self.max_completion_tokens;
        }
        let reserves = |condition: &StopCondition| {
            matches!(
                condition,
                StopCondition::MaxBudget {
                    check: BudgetCheck::Reserve,
                    ..
                }
            )
        };
        if settings.stop.iter().any(reserves) && settings.max_completion_tokens.is_none() {
            return Err(Failure::WrongInput(
                "--budget-check reserve needs --max-completion-tokens: without a cap on the reply \
                 there is nothing to reserve"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    fn replace_budget(&self, settings: &mut RunSettings) -> Result<(), Failure> {
        let had = settings.stop.iter().find_map(|condition| match condition {
            StopCondition::MaxBudget { usd, check } => Some((*usd, *check)),
            _ => None,
        });
        let check = self
            .budget_check
            .or(had.map(|(_, check)| check))
            .unwrap_or_default();
        match self.max_budget_usd.or(had.map(|(usd, _)| usd)) {
            Some(usd) => replace(settings, StopCondition::MaxBudget { usd, check }),
            None if self.budget_check.is_some() => {
                let message = "--budget-check needs --max-budget-usd".to_owned();
                return Err(Failure::WrongInput(message));
            }
            None => {}
        }
        Ok(())
    }
}

/// Puts `condition` in the place of the one of its kind, or at the end.
fn replace(settings: &mut RunSettings, condition: StopCondition) {
    let kind = std::mem::discriminant(&condition);
    match settings
        .stop
        .iter_mut()
        .find(|had| std::mem::discriminant(*had) == kind)
    {
        Some(had) => *had = condition,
        None => settings.stop.push(condition),
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Policies")]
pub(super) struct Policies {
    /// What becomes of a tool's error
    #[arg(long, value_enum, default_value = "worded")]
    tool_errors: ToolErrors,
    /// What becomes of an error on which the model cannot act
    #[arg(long, value_enum, default_value = "return")]
    permanent_errors: PermanentErrors,
    /// Which repeated calls are answered without being executed
    #[arg(long, value_enum, default_value = "off")]
    dedupe: Dedupe,
    /// Whether a tool that needs approval asks for it
    #[arg(long, value_enum, default_value = "ask")]
    approval: Approval,
    /// What the transcript says of a rejected call
    #[arg(long, value_enum, default_value = "reason")]
    verdict_wording: VerdictWording,
    /// What the stop signal reaches
    #[arg(long, value_enum, default_value = "everything")]
    cancel_reaches: CancelReaches,
    /// How the calls of one turn are executed
    #[arg(long, value_enum, default_value = "serial")]
    tool_execution: ToolExecution,
}

impl Policies {
    fn policy(&self) -> Policy {
        Policy {
            tool_errors: self.tool_errors,
            permanent_errors: self.permanent_errors,
            dedupe: self.dedupe,
            approval: self.approval,
            verdict_wording: self.verdict_wording,
            cancel_reaches: self.cancel_reaches,
            tool_execution: self.tool_execution,
        }
    }
}
