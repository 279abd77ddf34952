//! What a shard's files belong to, and their digests.

use std::fmt::{self, Write as _};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Division, Shard};
use crate::experiment::{Experiment, Host, Inputs};
use crate::results::digest::digest_of_bytes;

/// The form of manifest and files that this version writes, and the only one that it reads.
const FORMAT: u64 = 1;
/// How many inputs that differ are told.
const MOST_TOLD: usize = 3;

/// What the files of a shard are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u64,
    /// The version of the program that wrote them.
    loopmeter: String,
    /// The experiment's name.
    pub experiment: String,
    /// The experiment's file, as it was named.
    pub file: String,
    /// Which part of the sweep.
    pub shard: Shard,
    /// How many cells the whole sweep has.
    cells: u64,
    /// How many runs the whole sweep has.
    runs: u64,
    /// Of how many cells a chunk is.
    chunk_cells: u64,
    /// The digest of `inputs.json`.
    pub(super) inputs_sha256: String,
    /// The model that was asked, where it is a real one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    /// The chunks that are there, in order.
    pub chunks: Vec<Chunk>,
}

/// A chunk that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chunk {
    /// Its number, from 0.
    #[serde(rename = "chunk")]
    pub number: u64,
    /// The digest of its cells' file.
    pub cells_sha256: String,
    /// The digest of its turns' file.
    pub turns_sha256: String,
    /// Where it was run, where that matters: on the real clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Machine>,
}

/// A machine, by name and kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// What it is called in its network, where the system tells it.
    pub name: Option<String>,
    /// Its processor, where the system tells it.
    pub cpu_model: Option<String>,
    /// How many threads it runs at once, where the system tells it.
    pub cores: Option<u64>,
    /// The operating system and the processor's family.
    pub os: String,
}

impl From<&Host> for Machine {
    fn from(host: &Host) -> Self {
        Self {
            name: Host::name(),
            cpu_model: host.cpu_model.clone(),
            cores: host.cores,
            os: host.os.clone(),
        }
    }
}

/// Why a shard is none of the sweep at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Another form of files.
    Format(u64),
    /// Another version of the program.
    Version(String),
    /// Other inputs: what they are, as far as can be told.
    Inputs(Vec<String>),
    /// `inputs.json` is not the one that the manifest names.
    InputsChanged,
    /// Another model was asked.
    Model {
        /// The one that was.
        was: Option<String>,
        /// The one that is now.
        is: Option<String>,
    },
    /// The cells were dealt out in another way.
    Division,
}

/// A text that is no manifest.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoManifest {
    /// It is of a later version.
    #[error("{0}")]
    Other(Difference),
    /// It is none at all.
    #[error("cannot be read as a manifest: {0}")]
    Json(#[from] serde_json::Error),
}

impl Manifest {
    /// The manifest of a shard that has nothing yet.
    pub(super) fn begin(experiment: &Experiment, shard: Shard) -> Self {
        let division = Division::of(experiment, shard.of);
        let inputs = experiment.inputs().to_text();
        Self {
            format: FORMAT,
            loopmeter: env!("CARGO_PKG_VERSION").to_owned(),
            experiment: experiment.name().to_owned(),
            file: experiment.origin().to_owned(),
            shard,
            cells: division.cells,
            runs: experiment.runs(),
            chunk_cells: division.chunk_cells,
            inputs_sha256: digest_of_bytes(inputs.as_bytes()),
            model: experiment.model().map(str::to_owned),
            chunks: Vec::new(),
        }
    }

    /// Reads what [`Manifest::to_text`] writes.
    pub(super) fn parse(text: &[u8]) -> Result<Self, NoManifest> {
        let value: Value = serde_json::from_slice(text)?;
        match value.get("format").and_then(Value::as_u64) {
            Some(format) if format != FORMAT => Err(NoManifest::Other(Difference::Format(format))),
            _ => Ok(serde_json::from_value(value)?),
        }
    }

    /// The manifest as JSON: a line for each entry, and one for each chunk.
    pub(super) fn to_text(&self) -> Result<String, serde_json::Error> {
        let mut text = String::from("{");
        let value = serde_json::to_value(self)?;
        let entries = value.as_object().into_iter().flatten();
        for (index, (name, value)) in entries.enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let name = Value::from(name.as_str());
            let value = match value {
                Value::Array(chunks) if !chunks.is_empty() => {
                    let lines: Vec<String> = chunks.iter().map(Value::to_string).collect();
                    format!("[\n    {}\n  ]", lines.join(",\n    "))
                }
                value => value.to_string(),
            };
            let _ = write!(text, "{comma}\n  {name}: {value}");
        }
        text.push_str("\n}\n");
        Ok(text)
    }

    /// Why this shard, whose `inputs.json` is given, is none of the sweep that `now` is of.
    pub(super) fn difference(&self, inputs: Option<&[u8]>, now: &Sweep<'_>) -> Option<Difference> {
        let fresh = now.manifest;
        if self.loopmeter != fresh.loopmeter {
            return Some(Difference::Version(self.loopmeter.clone()));
        }
        let inputs = inputs.filter(|text| digest_of_bytes(text) == self.inputs_sha256);
        let Some(inputs) = inputs else {
            return Some(Difference::InputsChanged);
        };
        if self.inputs_sha256 != fresh.inputs_sha256 {
            let Ok(was) = Inputs::parse(inputs) else {
                return Some(Difference::InputsChanged);
            };
            let changes = was.changes_to(now.inputs);
            let told = changes.iter().take(MOST_TOLD).map(ToString::to_string);
            return Some(Difference::Inputs(told.collect()));
        }
        if self.model != fresh.model {
            return Some(Difference::Model {
                was: self.model.clone(),
                is: fresh.model.clone(),
            });
        }
        let dealt = |it: &Self| (it.cells, it.runs, it.chunk_cells);
        (dealt(self) != dealt(fresh)).then_some(Difference::Division)
    }

    /// How the cells were dealt out.
    pub(super) const fn division(&self) -> Division {
        Division {
            cells: self.cells,
            shards: self.shard.of,
            chunk_cells: self.chunk_cells,
        }
    }
}

/// A sweep as it is now: what shards are compared with.
pub(super) struct Sweep<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) inputs: &'a Inputs,
}

/// What is different, as a sentence that begins with the shard.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(format) => {
                write!(
                    f,
                    "has files of format {format}, and this version reads {FORMAT}"
                )
            }
            Self::Version(version) => write!(
                f,
                "was written by loopmeter {version}, and this is {}",
                env!("CARGO_PKG_VERSION")
            ),
            Self::Inputs(changes) if changes.is_empty() => f.write_str("has other inputs"),
            Self::Inputs(changes) => {
                write!(f, "has other inputs: since then {}", changes.join(", and "))
            }
            Self::InputsChanged => {
                f.write_str("has an `inputs.json` that is not the one its manifest names")
            }
            Self::Model { was, is } => {
                let named = |model: &Option<String>| model.clone().unwrap_or("none".to_owned());
                write!(f, "asked the model {}, and not {}", named(was), named(is))
            }
            Self::Division => f.write_str("has its cells dealt out in another way"),
        }
    }
}
