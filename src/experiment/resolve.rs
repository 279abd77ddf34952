//! Everything that an experiment names outside its file, found and read: scenarios, folders,
//! prices, tools and sub-agents.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::format::{ExperimentFile, Subagent};
use super::harness::Harness;
use super::input::{occurrences, written_number};
use super::resources::{Child, Home, Resources, tools_of};
use super::settings::Dollars;
use super::sweep::Sweep;
use crate::document::{Document, Findings, Problems, ReadError, child, suggest};
use crate::pricing::PriceList;
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
    (document, file): (&Document, &ExperimentFile),
    sweep: &Sweep,
    place: Place<'_>,
) -> Result<Resources, Problems> {
    let Place { home, harness } = place;
    let mut resolver = Resolver { findings, home };
    let (scenarios, scripts) = match harness {
        Harness::InProcess => {
            let read = resolver.named(sweep, |home, name| home.scenario(name).map(Arc::new));
            (read, BTreeMap::new())
        }
        Harness::Command(_) => (BTreeMap::new(), resolver.named(sweep, Home::script)),
    };
    let workspaces = resolver.workspaces(sweep);
    let prices = PriceList::builtin()?;
    resolver.prices(sweep, &prices);
    resolver.tools(file, sweep);
    resolver.cycles(file);
    let children = resolver.children(document, file);
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
        sweep: &Sweep,
        find: impl Fn(&Home, &str) -> Result<T, ScenarioError>,
    ) -> BTreeMap<String, T> {
        let mut read = BTreeMap::new();
        for (pointer, name) in texts(sweep, "scenario") {
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

    fn workspaces(&mut self, sweep: &Sweep) -> BTreeMap<String, crate::tools::Template> {
        let mut read = BTreeMap::new();
        for (pointer, name) in texts(sweep, "workspace") {
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

    fn prices(&mut self, sweep: &Sweep, prices: &PriceList) {
        let known: Vec<&str> = prices
            .all()
            .iter()
            .map(|price| price.name.as_str())
            .collect();
        for (pointer, name) in texts(sweep, "price") {
            self.known("price", &pointer, name, &known);
        }
    }

    fn tools(&mut self, file: &ExperimentFile, sweep: &Sweep) {
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
        for (index, child) in file.subagent.iter().enumerate() {
            for (at, tool) in child.tools.iter().flatten().enumerate() {
                self.known(
                    "tool",
                    &format!("/subagent/{index}/tools/{at}"),
                    tool,
                    &known,
                );
            }
        }
        for (pointer, value) in occurrences(sweep, "tools") {
            let names = value
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            for (at, name) in names.enumerate() {
                self.known("tool", &format!("{pointer}/{at}"), name, &known);
            }
        }
        for (pointer, value) in occurrences(sweep, "descriptions") {
            for name in value.as_object().into_iter().flat_map(|table| table.keys()) {
                self.known("tool", &child(&pointer, name), name, &known);
            }
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
        for (index, child) in file.subagent.iter().enumerate() {
            if let Some(path) = way_back(&file.subagent, child) {
                let message = format!("a cycle of sub-agents: {}", path.join(" → "));
                let help = "take one of them out of the tools of another";
                self.findings
                    .add(&format!("/subagent/{index}/tools"), &message, help);
            }
        }
    }

    fn children(&mut self, document: &Document, file: &ExperimentFile) -> Vec<Child> {
        let mut children = Vec::new();
        for (index, child) in file.subagent.iter().enumerate() {
            let at = format!("/subagent/{index}");
            let budget = self.budget(document, &format!("{at}/max_budget_usd"));
            if child.max_turns.is_none() && budget.is_none() {
                let help = "set `max_turns` or `max_budget_usd`";
                self.findings
                    .add(&format!("{at}/name"), "a sub-agent without a limit", help);
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

    fn budget(&mut self, document: &Document, pointer: &str) -> Option<Dollars> {
        let text = written_number(document, pointer)?;
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
fn texts<'s>(sweep: &'s Sweep, setting: &str) -> impl Iterator<Item = (String, &'s str)> {
    let found = occurrences(sweep, setting).into_iter();
    found.filter_map(|(pointer, value)| Some((pointer, value.as_str()?)))
}

/// The shortest chain of tools that leads from `start` back to it.
fn way_back<'f>(all: &'f [Subagent], start: &'f Subagent) -> Option<Vec<&'f str>> {
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
                if let Some(other) = all.iter().find(|other| other.name == tool)
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
