//! Rewrites the table of models from the `genai-prices` package that `cargo metadata` describes on
//! standard input. `assets/prices/refresh` is the one command that does all of it.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use loopmeter::files::write_file;
use loopmeter::pricing::{Origin, import};
use serde::Deserialize;

const PACKAGE: &str = "genai-prices";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    manifest_path: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let day = std::env::args()
        .nth(1)
        .ok_or("the day is missing: YYYY-MM-DD")?;
    let metadata: Metadata = serde_json::from_reader(io::stdin())?;
    let found = metadata
        .packages
        .into_iter()
        .find(|package| package.name == PACKAGE);
    let package = found.ok_or("the package is not there")?;
    let folder = Path::new(&package.manifest_path)
        .parent()
        .ok_or("the package has no folder")?;
    let origin = Origin {
        source: format!("{PACKAGE} {}", package.version),
        url: package.repository.unwrap_or_default(),
        licence: package.license.unwrap_or_default(),
        date: day.parse()?,
    };
    let table = import(
        &fs::read_to_string(folder.join("data/prices.json"))?,
        &origin,
    )?;
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/prices");
    write_file(&assets.join("models.jsonl"), table.text.as_bytes())?;
    fs::copy(folder.join("LICENSE"), assets.join("LICENSE-genai-prices"))?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "{origin}: {} models priced, {} not sold by the token",
        table.priced, table.other
    )?;
    for (why, models) in &table.left {
        writeln!(out, "listed without a price: {models}, because {why}")?;
    }
    Ok(())
}
