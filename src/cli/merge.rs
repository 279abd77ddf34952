//! `loopmeter merge`: shards in; what one run would have written out.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::columnar::Columnar;
use super::exit::{Exit, Failure};
use super::run::{Tally, print};
use crate::experiment::{Experiment, Experiments};
use crate::lab::shard::{Found, Merge, MergeError, find};
use crate::report::plot;

pub(super) const EXAMPLES: &str = "\
Examples:
  loopmeter run my/sweep.toml --shard 1/2        # on one machine
  loopmeter run my/sweep.toml --shard 2/2        # on another one
  loopmeter merge                                # shards below results/, into results/
  loopmeter merge from-a from-b --out merged     # shards that were copied here
  loopmeter merge from-a from-b --experiment my/sweep.toml

Nothing is written unless every cell is there once, of the same inputs and version, as it was
written. The bytes are those of a run without shards.";

/// `loopmeter merge`.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// Folders of shards, or folders up to three levels above them [default: results]
    #[arg(value_name = "DIR")]
    places: Vec<PathBuf>,
    /// The experiment's file, where it is not where the shards found it; may be given several times
    #[arg(long, value_name = "PATH")]
    experiment: Vec<PathBuf>,
    /// Only the experiment of this name; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The folder for the results, one folder per experiment
    #[arg(long, value_name = "DIR", default_value = "results")]
    out: PathBuf,
    /// Print the closing summary only, not the tables and claims
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    columnar: Columnar,
}

/// Does what `args` ask for.
pub(super) fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    let default = [PathBuf::from("results")];
    let places = match args.places.as_slice() {
        [] => &default,
        named => named,
    };
    let shards = by_experiment(find(places)?, &args.only)?;
    let sources = Sources::load(&args.experiment, &shards)?;
    let mut merges = Vec::new();
    for (name, shards) in &shards {
        let experiment = sources.get(name)?;
        merges.push((experiment, Merge::prepare(experiment, shards, &args.out)?));
    }
    let mut tally = Tally::default();
    for (experiment, merge) in merges {
        let published = merge
            .publish(&plot::committed)
            .map_err(|error| Failure::could_not_do(&error))?;
        args.columnar.write(experiment, &args.out)?;
        tally.count(experiment, &published);
        if let (false, Some(reading)) = (args.quiet, &published.reading) {
            print(experiment, reading)?;
        }
    }
    tally.finish(&args.out)
}

type Shards = BTreeMap<String, Vec<Found>>;

/// The shards of each experiment that is meant.
fn by_experiment(found: Vec<Found>, only: &[String]) -> Result<Shards, Failure> {
    let mut shards = Shards::new();
    for found in found {
        let name = found.manifest.experiment.clone();
        shards.entry(name).or_default().push(found);
    }
    if let Some(unknown) = only.iter().find(|name| !shards.contains_key(*name)) {
        let names: Vec<&str> = shards.keys().map(String::as_str).collect();
        return Err(Failure::WrongInput(format!(
            "no shard of {unknown:?}; there are shards of {}",
            names.join(", ")
        )));
    }
    shards.retain(|name, _| only.is_empty() || only.contains(name));
    Ok(shards)
}

/// Where experiments are found: in files that were named, or that the shards name, or else in
/// the default place.
struct Sources(Vec<Experiments>);

impl Sources {
    fn load(named: &[PathBuf], shards: &Shards) -> Result<Self, Failure> {
        if !named.is_empty() {
            return Ok(Self(vec![Experiments::load(named)?]));
        }
        let mut files: Vec<PathBuf> = shards
            .values()
            .filter_map(|shards| shards.first())
            .map(|found| PathBuf::from(&found.manifest.file))
            .filter(|file| file.is_file())
            .collect();
        files.dedup();
        let mut sources = Vec::new();
        let all_are_there = files.len() == shards.len();
        if !files.is_empty() {
            sources.push(Experiments::load(&files)?);
        }
        if !all_are_there {
            sources.push(Experiments::load(&[])?);
        }
        Ok(Self(sources))
    }

    fn get(&self, name: &str) -> Result<&Experiment, Failure> {
        let found = self.0.iter().find_map(|experiments| experiments.get(name));
        found.ok_or_else(|| {
            Failure::WrongInput(format!(
                "no experiment {name:?} here to merge its shards: name its file with --experiment"
            ))
        })
    }
}

impl From<MergeError> for Failure {
    fn from(error: MergeError) -> Self {
        match error {
            MergeError::Lab(error) => Self::could_not_do(&error),
            MergeError::Unreadable { ref path, .. } if Path::exists(path) => {
                Self::could_not_do(&error)
            }
            refused => Self::wrong_input(&refused),
        }
    }
}
