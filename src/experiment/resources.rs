//! What cells run with besides their settings, read once per experiment: scenarios, files, prices
//! and tools. After this no cell opens a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::format::Subagent;
use super::pace::PaceError;
use super::seam::{Seam, SeamError, Transport};
use super::settings::{Dollars, IdempotencyKeys, Settings};
use super::slow::{slowed, tool_latency};
use crate::meter::script_by;
use crate::pricing::{CHAPTER_PRICE, Price, PriceList};
use crate::provider::Provider;
use crate::run::policy::{BudgetCheck, StopCondition};
use crate::run::{RunSettings, SubAgent};
use crate::scenario::{Scenario, ScenarioError, builtin_names};
use crate::server::Script;
use crate::tools::{Catalog, CatalogError, Template, Tool, WorkspaceError, filler_tools};

/// The tools of a child that names none: the built-in ones that write nothing.
pub(super) const CHILD_TOOLS: [&str; 3] = ["list_files", "read_file", "scan_archive"];

/// What a child is told where its file says nothing.
pub(super) const CHILD_SYSTEM: &str =
    "You look into one question about the files and answer it briefly.";

/// Where an experiment file stands: what its paths start from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Home {
    /// In this folder.
    Folder(PathBuf),
    /// In the program itself.
    Embedded,
}

impl Home {
    /// The scenario that a file means by `written`: a path that ends in `.toml`, or the name of
    /// one in `scenarios/` beside the file, or of a built-in one.
    pub(super) fn scenario(&self, written: &str) -> Result<Scenario, ScenarioError> {
        match self {
            Self::Folder(folder) => Scenario::load(written, folder),
            Self::Embedded => Scenario::builtin(written).ok_or_else(|| ScenarioError::Unknown {
                name: written.to_owned(),
                known: builtin_names().into_iter().map(str::to_owned).collect(),
            }),
        }
    }

    /// The script that a file means by `written`: one of the `any-*` scenarios, or else a scenario.
    pub(super) fn script(&self, written: &str) -> Result<Script, ScenarioError> {
        script_by(written, |name| self.scenario(name))
    }

    /// A copy of the folder that a file means by `written`, or the built-in files of that name.
    pub(super) fn workspace(&self, written: &str) -> Result<Template, WorkspaceError> {
        if let Some(template) = Template::named(written) {
            return Ok(template);
        }
        match self {
            Self::Folder(folder) => Template::from_folder(&folder.join(written)),
            Self::Embedded => Template::from_folder(Path::new(written)),
        }
    }
}

/// What the cells of one experiment share.
#[derive(Debug)]
pub(super) struct Resources {
    pub(super) scenarios: BTreeMap<String, Arc<Scenario>>,
    /// What the endpoint plays for commands.
    pub(super) scripts: BTreeMap<String, Script>,
    pub(super) workspaces: BTreeMap<String, Template>,
    pub(super) prices: PriceList,
    pub(super) children: Vec<Child>,
    catalogs: Mutex<BTreeMap<String, Arc<Catalog>>>,
}

/// A sub-agent as a file describes it, its script read.
#[derive(Clone, Debug)]
pub(super) struct Child {
    pub(super) file: Subagent,
    pub(super) budget: Option<Dollars>,
    pub(super) scenario: Arc<Scenario>,
}

/// What a cell asks for that its experiment does not have; the checks of a file find it first.
#[derive(Debug, thiserror::Error)]
pub enum ResourceError {
    /// A scenario that was not read.
    #[error("no scenario `{0}`")]
    Scenario(String),
    /// A folder that was not read.
    #[error("no workspace `{0}`")]
    Workspace(String),
    /// A price that the list does not have.
    #[error("no price `{0}`")]
    Price(String),
    /// Tools that make no catalog.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A latency that no reply can have.
    #[error(transparent)]
    Latency(#[from] PaceError),
    /// A model that cannot be reached.
    #[error(transparent)]
    Seam(#[from] SeamError),
}

impl Resources {
    pub(super) fn new(prices: PriceList, children: Vec<Child>) -> Self {
        Self {
            scenarios: BTreeMap::new(),
            scripts: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            prices,
            children,
            catalogs: Mutex::new(BTreeMap::new()),
        }
    }

    /// The model of a cell, as the cell reaches it.
    pub(super) fn provider(
        &self,
        settings: &Settings,
        seam: &Seam,
    ) -> Result<Arc<dyn Provider>, ResourceError> {
        if settings.asks_endpoint() {
            return Ok(seam.endpoint(settings)?);
        }
        let name = settings.scenario.as_deref().unwrap_or_default();
        let scenario = self.scenarios.get(name);
        let scenario = scenario.ok_or_else(|| ResourceError::Scenario(name.to_owned()))?;
        seam.scripted(settings, (name, scenario))
    }

    /// What the endpoint of a cell plays.
    pub(super) fn script(&self, settings: &Settings) -> Result<&Script, ResourceError> {
        let name = settings.scenario.as_deref().unwrap_or_default();
        let script = self.scripts.get(name);
        script.ok_or_else(|| ResourceError::Scenario(name.to_owned()))
    }

    /// The files of a cell before it runs; none for those that are built in.
    pub(super) fn workspace(&self, settings: &Settings) -> Result<Template, ResourceError> {
        let Some(name) = &settings.workspace else {
            return Ok(Template::chapter());
        };
        let template = self.workspaces.get(name).cloned();
        template.ok_or_else(|| ResourceError::Workspace(name.clone()))
    }

    /// What a token costs in a cell.
    pub(super) fn price(&self, settings: &Settings) -> Result<&Price, ResourceError> {
        let name = settings.price.as_deref().unwrap_or(CHAPTER_PRICE);
        self.prices
            .get(name)
            .ok_or_else(|| ResourceError::Price(name.to_owned()))
    }

    /// What a cell's run obeys.
    pub(super) fn run_settings(&self, settings: &Settings) -> Result<RunSettings, ResourceError> {
        let run = RunSettings {
            stop: settings.stop_conditions(),
            policy: settings.policy(),
            max_completion_tokens: settings.max_completion_tokens.map(u64::from),
            context: settings.context,
            ..RunSettings::new(self.price(settings)?.clone())
        };
        Ok(match settings.cache.terms() {
            Some(terms) => run.with_cache(terms),
            None => run,
        })
    }

    /// The tools of a cell; cells with the same tools share one catalog, unless a sub-agent among
    /// them is reached over HTTP, where each run is told from the others, or they take times of the
    /// cell's own.
    pub(super) fn catalog(
        &self,
        settings: &Settings,
        seam: &Seam,
    ) -> Result<Arc<Catalog>, ResourceError> {
        let by_wire = !self.children.is_empty() && settings.transport != Transport::InProcess;
        if by_wire || settings.tool_latency.is_some() {
            return Ok(Arc::new(self.make_catalog(settings, seam)?));
        }
        let key = self.catalog_key(settings);
        let known = |catalogs: &BTreeMap<String, Arc<Catalog>>| catalogs.get(&key).cloned();
        // A panic elsewhere leaves whole catalogs in the map, never a part of one.
        let found = known(&self.catalogs.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(catalog) = found {
            return Ok(catalog);
        }
        let catalog = Arc::new(self.make_catalog(settings, seam)?);
        let mut catalogs = self.catalogs.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(catalogs.entry(key).or_insert(catalog)))
    }

    /// Everything that a catalog depends on, as text. Without sub-agents that is the tools alone.
    fn catalog_key(&self, settings: &Settings) -> String {
        let Settings {
            tools,
            idempotency_keys,
            descriptions,
            filler_tools,
            price,
            ..
        } = settings;
        let tools = (tools, idempotency_keys, descriptions, filler_tools);
        if self.children.is_empty() {
            return format!("{tools:?}");
        }
        let Settings {
            latency,
            latency_ms,
            seed,
            cache,
            context,
            ..
        } = settings;
        let of_children = (price, settings.policy(), latency, latency_ms, seed);
        let of_children = (of_children, cache, context);
        format!("{tools:?} {of_children:?}")
    }

    fn make_catalog(&self, settings: &Settings, seam: &Seam) -> Result<Catalog, ResourceError> {
        let mut made = Made::new();
        let mut catalog = built_in(settings.idempotency_keys);
        if settings.tool_latency.is_some() {
            catalog = slowed(&catalog, &tool_latency(settings)?)?;
        }
        for child in &self.children {
            catalog = catalog.with(self.child_tool(child, (settings, seam), &mut made)?)?;
        }
        let catalog = described(&catalog, settings)?;
        let catalog = match &settings.tools {
            Some(names) => catalog.subset(names)?,
            None => catalog,
        };
        let fillers = filler_tools(settings.filler_tools);
        Ok(fillers.into_iter().try_fold(catalog, Catalog::with)?)
    }

    /// The tool that a child is. It calls itself for the children of the child, of which a file
    /// with a cycle is refused.
    fn child_tool(
        &self,
        child: &Child,
        (settings, seam): (&Settings, &Seam),
        made: &mut Made,
    ) -> Result<Arc<dyn Tool>, ResourceError> {
        if let Some(tool) = made.get(&child.file.name) {
            return Ok(Arc::clone(tool));
        }
        let own = child.tools();
        let mut catalog = built_in(settings.idempotency_keys);
        for other in self
            .children
            .iter()
            .filter(|other| own.contains(&other.file.name.as_str()))
        {
            catalog = catalog.with(self.child_tool(other, (settings, seam), made)?)?;
        }
        let catalog = described(&catalog, settings)?.subset(&own)?;
        let provider = seam.scripted(settings, (&child.file.scenario, &child.scenario))?;
        let agent = SubAgent::new(
            (&child.file.name, &child.file.description),
            child.file.system.as_deref().unwrap_or(CHILD_SYSTEM),
            provider,
            Arc::new(catalog),
            RunSettings {
                stop: child.stop_conditions(),
                ..self.run_settings(settings)?
            },
        );
        let tool: Arc<dyn Tool> = Arc::new(agent);
        made.insert(child.file.name.clone(), Arc::clone(&tool));
        Ok(tool)
    }
}

/// Sub-agents made so far, by name.
type Made = BTreeMap<String, Arc<dyn Tool>>;

impl Child {
    /// The names of its tools.
    pub(super) fn tools(&self) -> Vec<&str> {
        tools_of(&self.file)
    }

    fn stop_conditions(&self) -> Vec<StopCondition> {
        let turns = self
            .file
            .max_turns
            .map(|turns| StopCondition::MaxTurns { turns });
        let budget = self.budget.map(|Dollars(usd)| StopCondition::MaxBudget {
            usd,
            check: BudgetCheck::Before,
        });
        turns.into_iter().chain(budget).collect()
    }
}

/// The names of a child's tools.
pub(super) fn tools_of(child: &Subagent) -> Vec<&str> {
    match &child.tools {
        Some(names) => names.iter().map(String::as_str).collect(),
        None => CHILD_TOOLS.to_vec(),
    }
}

fn built_in(keys: IdempotencyKeys) -> Catalog {
    match keys {
        IdempotencyKeys::Absent => Catalog::chapter(),
        IdempotencyKeys::Declared => Catalog::chapter_with_idempotency_keys(),
    }
}

/// The catalog with the descriptions that a cell sets for tools in it.
fn described(catalog: &Catalog, settings: &Settings) -> Result<Catalog, CatalogError> {
    let mut descriptions = settings.descriptions.clone();
    descriptions.retain(|name, _| catalog.get(name).is_some());
    catalog.described(&descriptions)
}
