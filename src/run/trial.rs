//! A whole run in a few lines, for tests that assert what an agent's loop costs.

use std::sync::Arc;

use crate::clock::{Signal, VirtualClock};
use crate::pricing::{CHAPTER_PRICE, Price, PriceList};
use crate::provider::{Provider, Scripted};
use crate::run::drive::{Harness, Watchers, drive};
use crate::run::machine::Machine;
use crate::run::policy::{Policy, StopCondition};
use crate::run::state::{RunSettings, RunState};
use crate::scenario::Scenario;
use crate::tools::{Catalog, CatalogError, Template, Tool, Workspace};
use crate::world;

/// A run in process, in virtual time: a provider, tools and limits.
///
/// Starts with the chapter's system prompt, question, files and price, with no tools and no
/// limits; a scenario that never ends needs one.
pub struct Trial {
    provider: Arc<dyn Provider>,
    catalog: Catalog,
    template: Template,
    settings: Option<RunSettings>,
    stop: Vec<StopCondition>,
    policy: Policy,
    system: String,
    user: String,
}

/// Why a trial could not be run.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The price list has no usable entry.
    #[error("the price list has no entry {CHAPTER_PRICE:?}")]
    NoPrice,
    /// The run could not be driven to an exit.
    #[error(transparent)]
    Checkpoint(#[from] super::drive::CheckpointError),
}

impl Trial {
    /// A run of the scripted model that plays `scenario`.
    #[must_use]
    pub fn of(scenario: Scenario) -> Self {
        Self::with_provider(Arc::new(Scripted::new(Arc::new(scenario))))
    }

    /// A run of any model.
    #[must_use]
    pub fn with_provider(provider: Arc<dyn Provider>) -> Self {
        Self {
            provider,
            catalog: Catalog::default(),
            template: Template::chapter(),
            settings: None,
            stop: Vec::new(),
            policy: Policy::default(),
            system: world::SYSTEM.to_owned(),
            user: world::USER.to_owned(),
        }
    }

    /// With one more tool.
    ///
    /// # Errors
    /// [`CatalogError`] for a name that is taken, or parameters that are not a JSON Schema.
    pub fn tool(mut self, tool: impl Tool + 'static) -> Result<Self, CatalogError> {
        self.catalog = self.catalog.with(Arc::new(tool))?;
        Ok(self)
    }

    /// With these tools instead of those so far.
    #[must_use]
    pub fn catalog(mut self, catalog: Catalog) -> Self {
        self.catalog = catalog;
        self
    }

    /// With these files for the tools to work on.
    #[must_use]
    pub fn files(mut self, template: Template) -> Self {
        self.template = template;
        self
    }

    /// With one more condition that ends the run.
    #[must_use]
    pub fn stop_when(mut self, condition: StopCondition) -> Self {
        self.stop.push(condition);
        self
    }

    /// With a turn cap.
    #[must_use]
    pub fn max_turns(self, turns: u32) -> Self {
        self.stop_when(StopCondition::MaxTurns { turns })
    }

    /// With these policies.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// At another price.
    #[must_use]
    pub fn price(mut self, price: Price) -> Self {
        self.settings = Some(RunSettings::new(price));
        self
    }

    /// With other instructions and another question.
    #[must_use]
    pub fn prompt(mut self, system: &str, user: &str) -> Self {
        system.clone_into(&mut self.system);
        user.clone_into(&mut self.user);
        self
    }

    /// Runs it to its exit.
    ///
    /// # Errors
    /// [`TrialError`]; never for anything that the model or a tool does.
    pub fn run(self) -> Result<RunState, TrialError> {
        let mut settings = match self.settings {
            Some(settings) => settings,
            None => RunSettings::new(chapter_price().ok_or(TrialError::NoPrice)?),
        };
        settings.stop.extend(self.stop);
        settings.policy = self.policy;
        let state = RunState::new("trial", settings, &self.system, &self.user);
        let mut machine = Machine::new(state, &self.catalog);
        let harness = Harness {
            provider: self.provider.as_ref(),
            catalog: &self.catalog,
            workspace: &Workspace::in_memory(&self.template),
            clock: &VirtualClock::new(),
            signal: &Signal::new(),
        };
        pollster::block_on(drive(&mut machine, harness, &mut Watchers::none()))?;
        Ok(machine.into_state())
    }
}

fn chapter_price() -> Option<Price> {
    PriceList::builtin().ok()?.get(CHAPTER_PRICE).cloned()
}
