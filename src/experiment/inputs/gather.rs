//! Gathers the inputs of an experiment that was read.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::Inputs;
use crate::experiment::harness::Harness;
use crate::experiment::resources::{CHILD_SYSTEM, Child};
use crate::experiment::seam::{Seam, Transport};
use crate::experiment::settings::Settings;
use crate::experiment::sweep::Shape;
use crate::experiment::{Cell, Experiment};
use crate::message::to_json;
use crate::pricing::{CHAPTER_PRICE, CacheTerms, Rates};
use crate::results::digest::short_digest;
use crate::run::context::LEFT_OUT;
use crate::run::{GENERIC_TOOL_ERROR, declined, worded};
use crate::scenario::{ask_for_summary, scripted_summary, summary_message};
use crate::server::Script;
use crate::tools::{Catalog, FileError, FileProblem, Template, filler_tools};
use crate::world::{SYSTEM, USER, with_rules};

/// How many cells are asked for their tools; the combinations that matter are fewer.
const MOST_CATALOGS: usize = 64;
/// How many files of a workspace have a line of their own.
const MOST_FILES: usize = 32;
/// What a catalog depends on.
const OF_TOOLS: [&str; 3] = ["tools", "descriptions", "idempotency_keys"];
/// The most made-up tools and rules that a cell can have.
const MOST_FILLERS: u32 = 200;
const MOST_RULES: u32 = 1_000;
/// What the file reads from the rows.
const READOUT: [&str; 3] = ["summary", "table", "fit"];

impl Experiment {
    /// What the rows are made from.
    #[must_use]
    pub fn inputs(&self) -> Inputs {
        let mut inputs = Inputs::default();
        self.add_shape(&mut inputs);
        self.add_settings(&mut inputs);
        self.add_scripts(&mut inputs);
        if let Harness::InProcess = self.harness {
            self.add_prompts(&mut inputs);
            self.add_tools(&mut inputs);
            self.add_worlds(&mut inputs);
            add_words(&mut inputs);
            self.add_levers(&mut inputs);
        }
        self.add_prices(&mut inputs);
        for part in READOUT {
            self.add_written(&mut inputs, part);
        }
        inputs
    }

    /// Which cells there are.
    fn add_shape(&self, inputs: &mut Inputs) {
        for part in ["clock", "repeat", "combine", "harness"] {
            self.add_written(inputs, part);
        }
        for axis in self.sweep.axes() {
            inputs.add(format!("axis.{}", axis.setting), axis.values.clone());
        }
        if let Shape::Cases(cases) = self.sweep.shape() {
            for case in cases {
                inputs.add(format!("case.{}", case.name), case.settings.clone());
            }
        }
    }

    /// A part of the file as it is written, if it is.
    fn add_written(&self, inputs: &mut Inputs, part: &str) {
        if let Some(value) = self.document.json().get(part) {
            inputs.add(part, value.clone());
        }
    }

    /// What every cell has, by the file or by default.
    fn add_settings(&self, inputs: &mut Inputs) {
        let written: BTreeMap<_, _> = self.sweep.base().iter().collect();
        // What comes of these settings is told instead.
        let told_otherwise =
            |setting: &str| matches!(setting, "tools" | "descriptions" | "system" | "user");
        for (setting, value) in written {
            if told_otherwise(setting) {
                continue;
            }
            inputs.add(format!("settings.{setting}"), value.clone());
        }
        if let Harness::Command(_) = self.harness {
            return;
        }
        for (setting, value) in defaults() {
            let matters = setting != "budget_check" || self.sweep.mentions("max_budget_usd");
            if matters && self.leaves_open(&setting) {
                inputs.add(format!("default.{setting}"), value);
            }
        }
    }

    /// Whether some cell has the default of a setting.
    fn leaves_open(&self, setting: &str) -> bool {
        let of_all = self.sweep.base().contains_key(setting);
        let swept = self.sweep.axes().iter().any(|axis| axis.setting == setting);
        !of_all && !swept
    }

    fn add_scripts(&self, inputs: &mut Inputs) {
        for (name, scenario) in &self.resources.scenarios {
            add_digest(inputs, &format!("scenario.{name}"), scenario.source());
        }
        for (name, script) in &self.resources.scripts {
            if let Script::Written(scenario) = script {
                add_digest(inputs, &format!("scenario.{name}"), scenario.source());
            }
        }
        for child in &self.resources.children {
            let name = &child.file.name;
            let file = &child.file;
            let told = json!({
                "scenario": short_digest(child.scenario.source().as_bytes()),
                "system": file.system.as_deref().unwrap_or(CHILD_SYSTEM),
                "tools": child.tools(),
                "max_turns": file.max_turns,
                "max_budget_usd": child.budget.map(|budget| budget.0.to_string()),
            });
            inputs.add(format!("subagent.{name}"), told);
        }
    }

    fn add_prompts(&self, inputs: &mut Inputs) {
        for (name, text) in [("system", SYSTEM), ("user", USER)] {
            let of_all = self.sweep.base().get(name).and_then(Value::as_str);
            if of_all.is_some() || self.leaves_open(name) {
                inputs.add(name, of_all.unwrap_or(text));
            }
        }
    }

    /// The tools in the order in which the model is told of them, and the definitions of all that
    /// the run or a sub-agent has. Where cells have different definitions of one, all of them.
    fn add_tools(&self, inputs: &mut Inputs) {
        let mut names: Vec<String> = Vec::new();
        let mut defined: Vec<String> = Vec::new();
        let mut tools: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let children = self.resources.children.iter();
        let of_children: Vec<&str> = children.flat_map(Child::tools).collect();
        let seam = Seam::new(self, None);
        for index in self.sweep.representatives(&OF_TOOLS, MOST_CATALOGS) {
            // The checks of a file make every catalog once, so none fails here.
            let Ok(Cell { settings, .. }) = self.sweep.cell(index) else {
                continue;
            };
            let settings = Settings {
                transport: Transport::InProcess,
                // Their definitions are told by a digest of all that there are.
                filler_tools: 0,
                ..settings
            };
            let whole = Settings {
                tools: None,
                ..settings.clone()
            };
            let catalogs = [&settings, &whole].map(|one| self.resources.catalog(one, &seam));
            let [Ok(own), Ok(all)] = catalogs else {
                continue;
            };
            let own = own.definitions();
            names.extend(own.iter().map(|tool| tool.name.clone()));
            let all = all.definitions().iter();
            let of_children = all.filter(|tool| of_children.contains(&tool.name.as_str()));
            for tool in own.iter().chain(of_children) {
                let told = json!({
                    "description": tool.description,
                    "parameters": tool.parameters,
                });
                if !defined.contains(&tool.name) {
                    defined.push(tool.name.clone());
                }
                let variants = tools.entry(tool.name.clone()).or_default();
                if !variants.contains(&told) {
                    variants.push(told);
                }
            }
        }
        let mut told = BTreeSet::new();
        names.retain(|name| told.insert(name.clone()));
        inputs.add("tools", names);
        for name in defined {
            let mut variants = tools.remove(&name).unwrap_or_default();
            let told = match variants.len() {
                1 => variants.remove(0),
                _ => Value::Array(variants),
            };
            inputs.add(format!("tool.{name}"), told);
        }
    }

    /// What is made up or worded for settings that few experiments have.
    fn add_levers(&self, inputs: &mut Inputs) {
        if self.sweep.mentions("filler_tools") {
            let tools = filler_tools(MOST_FILLERS);
            let tools: Vec<_> = tools.iter().map(|tool| tool.definition()).collect();
            add_digest(inputs, "filler_tools", &to_json(&tools));
        }
        if self.sweep.mentions("filler_rules") {
            add_digest(inputs, "filler_rules", &with_rules("", MOST_RULES));
        }
        if self.sweep.mentions("context") {
            inputs.add("words.left_out", LEFT_OUT);
            let ask = to_json(&[
                ask_for_summary(0),
                summary_message(0, &scripted_summary(100)),
            ]);
            add_digest(inputs, "words.summary", &ask);
        }
        for name in self.sweep.values_of("cache") {
            let named = name
                .as_str()
                .and_then(|name| Some((name, CacheTerms::named(name)?)));
            if let Some((name, terms)) = named {
                let terms = serde_json::to_value(terms).unwrap_or_default();
                inputs.add(format!("cache.{name}"), terms);
            }
        }
    }

    fn add_worlds(&self, inputs: &mut Inputs) {
        if self.leaves_open("workspace") {
            add_world(inputs, "", &Template::chapter());
        }
        for (name, template) in &self.resources.workspaces {
            add_world(inputs, &format!("{name}/"), template);
        }
    }

    fn add_prices(&self, inputs: &mut Inputs) {
        let swept = self.sweep.values_of("price");
        let mut names: Vec<&str> = swept.into_iter().filter_map(Value::as_str).collect();
        if self.leaves_open("price") {
            names.push(CHAPTER_PRICE);
        }
        names.sort_unstable();
        names.dedup();
        let prices = names
            .into_iter()
            .filter_map(|name| self.resources.prices.get(name));
        for price in prices {
            let mut told = rates(&price.rates);
            for tier in &price.tiers {
                let above = format!("above_{}_prompt_tokens", tier.above_prompt_tokens);
                told.insert(above, rates(&tier.rates).into());
            }
            inputs.add(format!("price.{}", price.name), Value::Object(told));
        }
    }
}

/// What a million tokens of each kind cost; kinds that have no price of their own are left out.
fn rates(rates: &Rates) -> Map<String, Value> {
    let kinds = [
        ("input_usd_per_million", Some(rates.input)),
        ("cached_read_usd_per_million", rates.cached_read),
        ("cache_write_usd_per_million", rates.cache_write),
        ("output_usd_per_million", Some(rates.output)),
    ];
    let known = kinds.into_iter().filter_map(|(kind, price)| {
        let million = price? * 1_000_000;
        Some((kind.to_owned(), million.to_shortest().into()))
    });
    known.collect()
}

/// The settings whose default decides what a run does.
fn defaults() -> Map<String, Value> {
    let settings = Settings::default();
    let policy = serde_json::to_value(settings.policy());
    let mut defaults = match policy {
        Ok(Value::Object(policy)) => policy,
        _ => Map::new(),
    };
    if let Ok(check) = serde_json::to_value(settings.budget_check) {
        defaults.insert("budget_check".to_owned(), check);
    }
    defaults
}

fn add_digest(inputs: &mut Inputs, name: &str, text: &str) {
    inputs.add(name, short_digest(text.as_bytes()));
}

fn add_world(inputs: &mut Inputs, prefix: &str, template: &Template) {
    let files: Vec<(&str, &[u8])> = template.contents().collect();
    if files.len() > MOST_FILES {
        let all: Vec<String> = files
            .iter()
            .map(|(name, bytes)| format!("{} {name}", short_digest(bytes)))
            .collect();
        return add_digest(inputs, &format!("world.{prefix}"), &all.join("\n"));
    }
    for (name, bytes) in files {
        inputs.add(format!("world.{prefix}{name}"), short_digest(bytes));
    }
}

/// What the loop and its tools tell a model whose call fails or is declined.
fn add_words(inputs: &mut Inputs) {
    let file = |problem| {
        FileError {
            path: "{path}".to_owned(),
            problem,
        }
        .to_string()
    };
    let catalog = Catalog::chapter();
    let refused = |tool: &str, arguments: &str| {
        let parsed = catalog.parse_arguments(tool, arguments);
        parsed.err().map(|error| error.message).unwrap_or_default()
    };
    let words = [
        ("tool_error", worded("{error}")),
        ("generic_tool_error", GENERIC_TOOL_ERROR.to_owned()),
        ("declined_call", declined("{reason}")),
        ("verdict_reason", Settings::default().verdict_reason),
        ("missing_file", file(FileProblem::Missing)),
        ("denied_file", file(FileProblem::Denied)),
        ("folder", file(FileProblem::Folder)),
        ("empty_path", file(FileProblem::Empty)),
        ("unknown_tool", refused("{tool}", "{}")),
        ("arguments_not_json", refused("read_file", "{path")),
        ("arguments_unfit", refused("read_file", "{}")),
    ];
    for (name, text) in words {
        inputs.add(format!("words.{name}"), text);
    }
}
