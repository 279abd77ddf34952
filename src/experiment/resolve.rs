//! Everything that an experiment names outside its file, found and read: scenarios, folders,
//! prices, tools and sub-agents.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::format::{ExperimentFile, Subagent};
use super::harness::Harness;
use super::input::{occurrences, written_number};
use super::resources::{Child, Home, Resources, tools_of};
use super::settings::Dollars;
use crate::document::{Findings, Problems, ReadError, child, suggest};
use crate::pricing::{self, PriceList};
use crate::scenario::ScenarioError;
use crate::tools::Catalog;

/// Where a file stands, and what runs its cells.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) home: &'p Home,
    pub(super) harness: &'p Harness,
}

/// Reads everything that the file names; what is not there, or is wrong itself, goes into
/// `findings`.
///
/// # Errors
/// The program's own price list cannot be read.
pub(super) fn resolve(
    findings: &mut Findings<'_>,
    file: &ExperimentFile,
    place: Place<'_>,
) -> Result<Resources, Problems> {
    let Place { home, harness } = place;
    let mut resolver = Resolver { findings, home };
    let (scenarios, scripts) = match harness {
        Harness::InProcess => {
            let read = resolver.named(file, |home, name| home.scenario(name).map(Arc::new));
            (read, BTreeMap::new())
        }
        Harness::Command(_) => (BTreeMap::new(), resolver.named(file, Home::script)),
    };
    let workspaces = resolver.workspaces(file);
    let prices = resolver.prices(file)?;
    resolver.subagent_names(file);
    resolver.tools(file);
    resolver.cycles(file);
    let children = resolver.children(file);
    let mut resources = Resources::new(prices, children);
    resources.scenarios = scenarios;
    resources.scripts = scripts;
    resources.workspaces = workspaces;
    Ok(resources)
}

struct Resolver<'r, 'd> {
    findings: &'r mut Findings<'d>,
    home: &'r Home,
}

impl Resolver<'_, '_> {
    /// What `find` finds by each name that the file gives a scenario.
    fn named<T>(
        &mut self,
        file: &ExperimentFile,
        find: impl Fn(&Home, &str) -> Result<T, ScenarioError>,
    ) -> BTreeMap<String, T> {
        let mut read = BTreeMap::new();
        for (pointer, name) in texts(file, "scenario") {
            if !read.contains_key(name)
                && let Some(found) = self.found(&pointer, find(self.home, name))
            {
                read.insert(name.to_owned(), found);
            }
        }
        read
    }

    /// What was found; what was not is reported.
    fn found<T>(&mut self, pointer: &str, found: Result<T, ScenarioError>) -> Option<T> {
        match found {
            Ok(found) => Some(found),
            Err(error) => {
                let help = error.help();
                match error {
                    ScenarioError::Unknown { name, .. } => {
                        self.findings
                            .add(pointer, &format!("no scenario `{name}`"), &help);
                    }
                    ScenarioError::Read(ReadError::Invalid(problems)) => {
                        self.findings.extend(problems.into_vec());
                    }
                    ScenarioError::Read(other) => {
                        self.findings.add(pointer, &other.to_string(), &help);
                    }
                }
                None
            }
        }
    }

    fn workspaces(&mut self, file: &ExperimentFile) -> BTreeMap<String, crate::tools::Template> {
        let mut read = BTreeMap::new();
        for (pointer, name) in texts(file, "workspace") {
            match self.home.workspace(name) {
                Ok(template) => {
                    read.insert(name.to_owned(), template);
                }
                Err(error) => {
                    let help = "name a folder, from the folder of this file";
                    self.findings.add(&pointer, &error.to_string(), help);
                }
            }
        }
        read
    }

    /// The prices that ship, and those of the models that the file names. A file names them in
    /// full, so that it goes on meaning the same whatever else the table of models has.
    fn prices(&mut self, file: &ExperimentFile) -> Result<PriceList, Problems> {
        let mut prices = PriceList::builtin()?;
        for (pointer, name) in texts(file, "price") {
            if prices.get(name).is_some() {
                continue;
            }
            let message = format!("no price `{name}`");
            match pricing::find(name) {
                Ok(price) if price.name == name => prices.add(price),
                Ok(price) => {
                    let help = format!("write its full name, `{}`", price.name);
                    self.findings.add(&pointer, &message, &help);
                }
                Err(error) => self.findings.add(&pointer, &message, &error.help()),
            }
        }
        Ok(prices)
    }

    fn subagent_names(&mut self, file: &ExperimentFile) {
        let built_in = Catalog::chapter();
        let mut known: Vec<&str> = built_in.names().collect();
        for (index, child) in file.subagent.iter().enumerate() {
            if known.contains(&child.name.as_str()) {
                let message = format!("two tools are called `{}`", child.name);
                self.findings.add(
                    &format!("/subagent/{index}/name"),
                    &message,
                    "rename this one",
                );
            }
            known.push(&child.name);
        }
    }

    fn tools(&mut self, file: &ExperimentFile) {
        let built_in = Catalog::chapter();
        let agents = file.subagent.iter().map(|agent| agent.name.as_str());
        let all: Vec<&str> = built_in.names().chain(agents).collect();
        let known = (!self.is_any_name_in_doubt(file)).then_some(&*all);
        for (index, child) in file.subagent.iter().enumerate() {
            let listed = child.tools.iter().flatten().map(String::as_str);
            self.tool_list(&format!("/subagent/{index}/tools"), listed, known);
        }
        for (pointer, value) in occurrences(file, "tools") {
            let names = value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            self.tool_list(&pointer, names, known);
        }
        for (pointer, value) in occurrences(file, "descriptions") {
            for name in value.as_object().into_iter().flat_map(|table| table.keys()) {
                self.known_tool(&child(&pointer, name), name, known);
            }
        }
    }

    /// Whether a sub-agent may be meant to be called something that cannot be read.
    fn is_any_name_in_doubt(&self, file: &ExperimentFile) -> bool {
        let mut places = (0..file.subagent.len()).map(|index| format!("/subagent/{index}/name"));
        !self.findings.is_certain("/subagent")
            || places.any(|place| !self.findings.is_certain(&place))
    }

    /// Every tool of a list is one that there is, and comes once.
    fn tool_list<'n>(
        &mut self,
        pointer: &str,
        names: impl Iterator<Item = &'n str>,
        known: Option<&[&str]>,
    ) {
        let mut before = BTreeSet::new();
        for (at, name) in names.enumerate() {
            let place = format!("{pointer}/{at}");
            self.known_tool(&place, name, known);
            if !before.insert(name) {
                let message = format!("the tool `{name}` twice in one list");
                self.findings.add(&place, &message, "keep it once");
            }
        }
    }

    /// `known` is missing where it is in doubt which tools there are.
    fn known_tool(&mut self, pointer: &str, name: &str, known: Option<&[&str]>) {
        if let Some(known) = known {
            self.known("tool", pointer, name, known);
        }
    }

    fn known(&mut self, what: &str, pointer: &str, name: &str, known: &[&str]) {
        if known.contains(&name) {
            return;
        }
        let help = suggest(name, &format!("known {what}s"), known);
        let help = help.unwrap_or_else(|| format!("leave it out: there are no {what}s"));
        self.findings
            .add(pointer, &format!("no {what} `{name}`"), &help);
    }

    /// Reports each sub-agent that can, by its tools and theirs, end up calling itself.
    fn cycles(&mut self, file: &ExperimentFile) {
        let all = file.subagent.iter().enumerate();
        let named: Vec<(usize, &Subagent)> = all
            .filter(|(index, _)| {
                let at = format!("/subagent/{index}");
                self.findings.is_sound(&format!("{at}/name"))
                    && self.findings.is_certain(&format!("{at}/tools"))
            })
            .collect();
        for &(index, child) in &named {
            if let Some(path) = way_back(&named, child) {
                let message = format!("a cycle of sub-agents: {}", path.join(" → "));
                let help = "take one of them out of the tools of another";
                self.findings
                    .add(&format!("/subagent/{index}/tools"), &message, help);
            }
        }
    }

    fn children(&mut self, file: &ExperimentFile) -> Vec<Child> {
        let mut children = Vec::new();
        for (index, child) in file.subagent.iter().enumerate() {
            let at = format!("/subagent/{index}");
            let budget = self.budget(&format!("{at}/max_budget_usd"));
            let is_unlimited = child.max_turns.is_none() && child.max_budget_usd.is_none();
            let limits = ["max_turns", "max_budget_usd"];
            if is_unlimited && self.findings.are_certain(&at, &limits) {
                let help = "set `max_turns` or `max_budget_usd`";
                self.findings
                    .add_to_table(&at, "name", "a sub-agent without a limit", help);
            }
            let scenario = self.home.scenario(&child.scenario).map(Arc::new);
            if let Some(scenario) = self.found(&format!("{at}/scenario"), scenario) {
                children.push(Child {
                    file: child.clone(),
                    budget,
                    scenario,
                });
            }
        }
        children
    }

    fn budget(&mut self, pointer: &str) -> Option<Dollars> {
        let text = written_number(self.findings.document(), pointer)?;
        match text.parse() {
            Ok(amount) => Some(Dollars(amount)),
            Err(error) => {
                self.findings
                    .add(pointer, &error.to_string(), "write plain decimal dollars");
                None
            }
        }
    }
}

/// Every text that the file gives a setting, with its place.
fn texts<'f>(file: &'f ExperimentFile, setting: &str) -> impl Iterator<Item = (String, &'f str)> {
    let found = occurrences(file, setting).into_iter();
    found.filter_map(|(pointer, value)| Some((pointer, value.as_str()?)))
}

/// The shortest chain of tools that leads from `start` back to it.
fn way_back<'f>(all: &[(usize, &'f Subagent)], start: &'f Subagent) -> Option<Vec<&'f str>> {
    let mut reached = BTreeMap::from([(start.name.as_str(), Vec::from([start.name.as_str()]))]);
    let mut frontier = vec![start];
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for agent in frontier {
            let path = reached
                .get(agent.name.as_str())
                .cloned()
                .unwrap_or_default();
            for tool in tools_of(agent) {
                let longer = [path.clone(), vec![tool]].concat();
                if tool == start.name {
                    return Some(longer);
                }
                if let Some(&(_, other)) = all.iter().find(|(_, other)| other.name == tool)
                    && !reached.contains_key(tool)
                {
                    reached.insert(&other.name, longer);
                    next.push(other);
                }
            }
        }
        frontier = next;
    }
    None
}
