//! Experiments: files that fix and sweep settings, and say what is read from the rows.
//!
//! [`Experiments::load`] reads files and finds everything that is wrong with them at once. An
//! [`Experiment`] that it returns can be run: its cells are enumerated, its scenarios and folders
//! are read, its table and claims speak of columns that exist.

pub mod bare;
mod claims;
mod doubt;
mod execute;
mod forecast;
mod format;
mod harness;
mod host;
mod input;
mod inputs;
mod labels;
mod ledger;
mod lever_columns;
mod live;
mod load;
mod loopback;
mod measured;
mod pace;
mod place;
mod readout;
mod resolve;
mod resources;
mod rules;
mod samples;
mod seam;
mod settings;
mod slow;
mod spend;
mod summary;
mod sweep;
mod wire_columns;
mod wire_rules;

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use serde_json::Value;

pub use execute::{CellRows, ExecuteError, Execution, RunError, Sink, Stop};
pub use forecast::{Expected, Forecast, Missing, Rehearsal, Worst};
pub use format::{PlotKind, RowKind};
pub use harness::{EnvValue, FaultLine};
pub use host::Host;
pub use inputs::{InputChange, Inputs, NotInputs, Reach};
pub use live::CellRunError;
pub use load::{Experiments, LoadError};
pub use place::{Place, Topic};
pub use readout::{ChosenColumns, FitSpec, PlotSpec, Readout};
pub use resources::{Home, ResourceError};
pub use seam::{CompareWith, ModelEndpoint, ModelSource, SeamError, Transport};
pub use settings::{
    AnswerShown, Distribution, Dollars, IdempotencyKeys, Latency, LatencyTable, Settings, Verdict,
};
pub use spend::{Purse, Spent};
pub use sweep::{Cell, CellError, MAX_CELLS, NamedCase, Shape, Sweep, SweptAxis};

use self::harness::Harness;
use self::measured::Presence;
use self::resources::Resources;
use self::seam::RealModel;
use crate::clock::ClockKind;
use crate::document::{Document, Problems, schema_of};
use crate::pricing::{CHAPTER_PRICE, Price};

/// An experiment that was read and checked.
#[derive(Debug)]
pub struct Experiment {
    name: String,
    document: Document,
    title: String,
    about: String,
    order: Option<u32>,
    harness: Harness,
    clock: ClockKind,
    repeat: u32,
    sweep: Sweep,
    presence: Presence,
    readout: Readout,
    resources: Resources,
    real_model: RealModel,
}

impl Experiment {
    /// Reads an experiment from a document that stands in `home`; `name` is its slug.
    ///
    /// # Errors
    /// Everything that is wrong in the document, in what it names, and between the two.
    pub fn from_document(name: &str, document: &Document, home: &Home) -> Result<Self, Problems> {
        let mut mended = document.mended::<format::ExperimentFile>();
        input::mend_axes(&mut mended);
        let file: format::ExperimentFile = mended.decode()?;
        let mut findings = mended.findings();
        let sweep = input::read_sweep(&mut findings, &file);
        let harness = Harness::of(&file, home);
        let clock = harness.clock(file.clock);
        let real_clock = clock == ClockKind::Real;
        let is_set = |setting: &str| sweep.mentions(setting);
        let presence = Presence::of(&is_set, !file.subagent.is_empty(), real_clock);
        harness.check(&mut findings, &file);
        rules::check(&mut findings, &file, (&harness, &sweep));
        let place = resolve::Place {
            home,
            harness: &harness,
        };
        let resources = resolve::resolve(&mut findings, &file, place)?;
        let mut experiment = Self {
            name: name.to_owned(),
            document: document.clone(),
            title: file.title.clone(),
            about: file.about.clone(),
            order: file.order,
            harness,
            clock,
            repeat: file.repeat,
            presence,
            sweep,
            readout: Readout::default(),
            resources,
            real_model: RealModel::asked_in(&file),
        };
        experiment.readout = readout::read(&mut findings, &file, &experiment);
        findings.finish()?;
        Ok(experiment)
    }

    /// The slug: the name of the file and of the folder of results.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file, as it was named.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.document.origin()
    }

    /// The name for people.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What question it answers, and how its table is read.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.about
    }

    /// Where it stands among others in a report: before those with a larger number, and before
    /// those with none.
    #[must_use]
    pub const fn order(&self) -> Option<u32> {
        self.order
    }

    /// The clock of its runs. On the real one, rows differ from run to run.
    #[must_use]
    pub const fn clock(&self) -> ClockKind {
        self.clock
    }

    /// Whether a cell asks a real model, which [`Experiment::give_endpoint`] has to give.
    #[must_use]
    pub fn needs_endpoint(&self) -> bool {
        !matches!(self.real_model, RealModel::NotAsked)
    }

    /// Gives the cells a real model to ask.
    pub fn give_endpoint(&mut self, endpoint: ModelEndpoint) {
        self.real_model = RealModel::Given(Box::new(endpoint));
    }

    /// The real model that its cells ask, where they ask one and it was given.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        match &self.real_model {
            RealModel::Given(given) => Some(given.endpoint.model()),
            RealModel::NotAsked | RealModel::Missing => None,
        }
    }

    /// Its cells.
    #[must_use]
    pub const fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// A number among the settings, by a path such as `price.input_usd_per_million`,
    /// `subagent.research.max_turns` or `max_turns`, for the claims that quote one.
    #[must_use]
    pub fn setting(&self, path: &str) -> Option<Decimal> {
        claims::setting(self, path)
    }

    /// The prices that bill its cells, each once.
    #[must_use]
    pub fn prices(&self) -> Vec<&Price> {
        let named = self.sweep.in_cells("price").into_iter();
        let named = named.map(|value| value.map_or(Some(CHAPTER_PRICE), Value::as_str));
        let named: BTreeSet<&str> = named.flatten().collect();
        let all = self.resources.prices.all().iter();
        all.filter(|price| named.contains(price.name.as_str()))
            .collect()
    }

    /// The seeds of what its cells draw, each once.
    #[must_use]
    pub fn seeds(&self) -> Vec<u64> {
        let default = Settings::default().seed;
        let seeds = self.sweep.in_cells("seed").into_iter();
        let seeds = seeds.map(|value| value.map_or(Some(default), Value::as_u64));
        let seeds: BTreeSet<u64> = seeds.flatten().collect();
        seeds.into_iter().collect()
    }

    /// What is read from its rows: table, fit, claims.
    #[must_use]
    pub const fn readout(&self) -> &Readout {
        &self.readout
    }
}

/// The JSON Schema of an experiment file.
#[must_use]
pub fn schema() -> Value {
    schema_of::<format::ExperimentFile>()
}

#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod tests;
