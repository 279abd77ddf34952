//! What runs the cells of an experiment: the loop of this program, or somebody's command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::execute::Stop;
use super::format::{ExperimentFile, HarnessTable, SettingName};
use super::input::occurrences;
use super::live::CellRunError;
use super::pace::pace_of;
use super::resources::{Home, Resources};
use super::settings::Settings;
use crate::clock::{Clock, ClockKind, RealClock, Signal};
use crate::document::Findings;
use crate::meter::{self, Bounds, CommandEnd, Input, Invoice, Launch, Variable};
use crate::scenario::{Fault, Pace};
use crate::server::{Config, Library, MODEL_PREFIX};

/// What runs the cells.
#[derive(Clone, Debug)]
pub(super) enum Harness {
    /// The loop of this program, on the experiment's clock.
    InProcess,
    /// A command against the scripted endpoint, on the real clock.
    Command(CommandHarness),
}

/// The settings that mean something to a command, because the endpoint or the command itself
/// obeys them.
const OF_COMMANDS: [&str; 8] = [
    "scenario",
    "price",
    "latency_ms",
    "latency",
    "seed",
    "env",
    "args",
    "faults",
];

/// Those of them that mean nothing to the loop of this program.
const OF_COMMANDS_ONLY: [&str; 3] = ["env", "args", "faults"];

impl Harness {
    pub(super) fn of(file: &ExperimentFile, home: &Home) -> Self {
        match &file.harness {
            None => Self::InProcess,
            Some(table) => Self::Command(CommandHarness::new(table, home)),
        }
    }

    /// The clock that the experiment's rows are measured on.
    pub(super) const fn clock(&self, written: ClockKind) -> ClockKind {
        match self {
            Self::InProcess => written,
            Self::Command(_) => ClockKind::Real,
        }
    }

    /// Reports what the file sets and this harness does not obey, where it is certain which
    /// harness is meant.
    pub(super) fn check(&self, findings: &mut Findings<'_>, file: &ExperimentFile) {
        if !findings.is_certain("/harness") {
            return;
        }
        match self {
            Self::InProcess => {
                let help = "add `[harness]` with a `command`, or leave it out";
                let strange = |name: &str| OF_COMMANDS_ONLY.contains(&name);
                refuse(findings, file, strange, "only a command obeys it", help);
            }
            Self::Command(_) => {
                let help = "leave it out, or leave `[harness]` out";
                let strange = |name: &str| !OF_COMMANDS.contains(&name);
                let why = "only the loop of this program obeys it";
                refuse(findings, file, strange, why, help);
                let written = findings.document().source_at("/clock").is_some();
                if written && file.clock == ClockKind::Virtual && findings.is_certain("/clock") {
                    let help = "leave `clock` out: a command runs on the real one";
                    findings.add("/clock", "a command cannot run on the virtual clock", help);
                }
                if !file.subagent.is_empty() {
                    let why = "a sub-agent beside a command, which has its own tools";
                    findings.add_to_key("/subagent", why, help);
                }
            }
        }
    }
}

/// Reports the first place of every setting that is strange.
fn refuse(
    findings: &mut Findings<'_>,
    file: &ExperimentFile,
    strange: impl Fn(&str) -> bool,
    why: &str,
    help: &str,
) {
    for setting in SettingName::all().iter().filter(|name| strange(name)) {
        if let Some((pointer, _)) = occurrences(file, setting).first() {
            findings.add(pointer, &format!("`{setting}`: {why}"), help);
        }
    }
    for (at, axis) in file.axis.iter().enumerate() {
        if let Some(name) = axis.setting.0.strip_prefix(ENV)
            && strange("env")
        {
            let message = format!("the variable {name}: {why}");
            findings.add(&format!("/axis/{at}/setting"), &message, help);
        }
    }
}

/// What a setting begins with that is one variable of a command's environment.
pub(super) const ENV: &str = "env.";

/// A command that runs cells.
#[derive(Clone, Debug)]
pub(super) struct CommandHarness {
    program: PathBuf,
    arguments: Vec<String>,
    environment: BTreeMap<String, EnvValue>,
    bounds: Bounds,
    folder: Option<PathBuf>,
}

/// How often it is looked whether somebody wants what is under way to be stopped.
pub(super) const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

impl CommandHarness {
    fn new(table: &HarnessTable, home: &Home) -> Self {
        let folder = match home {
            Home::Folder(folder) if !folder.as_os_str().is_empty() => Some(folder.clone()),
            Home::Folder(_) | Home::Embedded => None,
        };
        let (program, arguments) = match table.command.split_first() {
            Some((program, arguments)) => (program.as_str(), arguments),
            None => ("", &[][..]),
        };
        Self {
            program: located(Path::new(program), folder.as_deref()),
            arguments: arguments.to_vec(),
            environment: table.env.clone(),
            bounds: Bounds {
                time: Duration::from_millis(table.timeout_ms),
                requests: table.max_requests,
            },
            folder,
        }
    }

    /// Runs a cell as the run `run` and waits for its end; nothing if it was stopped.
    pub(super) fn run(
        &self,
        settings: &Settings,
        resources: &Resources,
        run: String,
        stop: Stop<'_>,
    ) -> Result<Option<Invoice>, CellRunError> {
        let script = resources.script(settings)?;
        let launch = self.launch(settings, script.name(), run);
        let config = Config {
            library: Library::Only(script.clone()),
            pace: pace(settings)?,
            faults: settings.faults.iter().map(|line| line.0).collect(),
            seed: settings.seed,
            ..Config::default()
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()?;
        let metered = runtime.block_on(async {
            let (signal, clock) = (Signal::new(), RealClock::starting_at(Duration::ZERO));
            let mut running = pin!(meter::run(&launch, config, &signal));
            loop {
                tokio::select! {
                    metered = &mut running => break metered,
                    _ = clock.sleep(BETWEEN_LOOKS, &signal) => if stop() {
                        signal.stop("loopmeter was stopped");
                        break running.await;
                    },
                }
            }
        })?;
        if let CommandEnd::Stopped(_) = metered.ran.end {
            return Ok(None);
        }
        Ok(Some(Invoice::of(&metered, resources.price(settings)?)))
    }

    fn launch(&self, settings: &Settings, scenario: &str, run: String) -> Launch {
        let arguments = self.arguments.iter().chain(&settings.args);
        let variable =
            |(name, value): (&String, &EnvValue)| -> Variable { (name.clone(), value.0.clone()) };
        let environment = self.environment.iter().chain(&settings.env);
        Launch {
            program: self.program.clone().into(),
            arguments: arguments.map(Into::into).collect(),
            environment: environment.map(variable).collect(),
            folder: self.folder.clone(),
            run,
            model: format!("{MODEL_PREFIX}{scenario}"),
            input: Input::Nothing,
            bounds: self.bounds,
            echo: None,
        }
    }
}

/// Where a program is: a name without a folder is looked for where the system looks, and a path
/// starts from the folder of the file.
fn located(program: &Path, folder: Option<&Path>) -> PathBuf {
    let has_folder = program.components().count() > 1;
    let joined = match folder {
        Some(folder) if has_folder => folder.join(program),
        _ => program.to_owned(),
    };
    if has_folder {
        // The command is started elsewhere, so its path must not depend on where we are.
        std::path::absolute(&joined).unwrap_or(joined)
    } else {
        joined
    }
}

/// How long replies take, where the cell says so.
fn pace(settings: &Settings) -> Result<Option<Pace>, CellRunError> {
    if settings.latency.is_none() && settings.latency_ms.is_none() {
        return Ok(None);
    }
    let pace = pace_of(settings).map_err(super::ResourceError::from)?;
    Ok(Some(pace))
}

/// The value of a variable of the environment: a text, or what a number or a truth value is
/// written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvValue(pub String);

impl EnvValue {
    /// The schema of one value.
    pub(super) fn schema() -> Value {
        serde_json::json!({ "type": ["string", "number", "boolean"] })
    }
}

impl<'de> Deserialize<'de> for EnvValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            value @ (Value::Number(_) | Value::Bool(_)) => Ok(Self(value.to_string())),
            other => Err(D::Error::custom(format!(
                "a variable is a text, a number or a truth value, and not {other}"
            ))),
        }
    }
}

impl JsonSchema for EnvValue {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "EnvValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::try_from(Self::schema()).unwrap_or_default()
    }
}

/// A fault in its one-line form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultLine(pub Fault);

impl<'de> Deserialize<'de> for FaultLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = String::deserialize(deserializer)?;
        line.parse().map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for FaultLine {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FaultLine".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}
