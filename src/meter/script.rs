//! Finding the script that an endpoint plays.

use std::path::Path;
use std::sync::Arc;

use crate::scenario::{AnyScenario, Scenario, ScenarioError};
use crate::server::Script;

/// The script that `reference` names: a file where it ends in `.toml`; one of the `any-*`
/// scenarios; or else what [`Scenario::load`] finds by that name from `base`.
///
/// # Errors
/// There is no such scenario, or it cannot be used.
pub fn script(reference: &str, base: &Path) -> Result<Script, ScenarioError> {
    let file = Path::new(reference);
    if file.extension().is_some_and(|ending| ending == "toml") {
        return Ok(Script::Written(Arc::new(Scenario::read(file)?)));
    }
    script_by(reference, |name| Scenario::load(name, base))
}

/// The script that `reference` names: one of the `any-*` scenarios, or else what `load` finds.
///
/// # Errors
/// Those of `load`, with the names of the `any-*` scenarios among the known ones.
pub fn script_by(
    reference: &str,
    load: impl FnOnce(&str) -> Result<Scenario, ScenarioError>,
) -> Result<Script, ScenarioError> {
    if let Some(any) = AnyScenario::named(reference) {
        return Ok(Script::Any(any));
    }
    match load(reference) {
        Ok(scenario) => Ok(Script::Written(Arc::new(scenario))),
        Err(ScenarioError::Unknown { name, mut known }) => {
            known.extend(AnyScenario::ALL.map(|any| any.as_str().to_owned()));
            known.sort_unstable();
            Err(ScenarioError::Unknown { name, known })
        }
        Err(error @ ScenarioError::Read(_)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found_by_name_and_missed_with_all_names() {
        let found = |name| script(name, Path::new("no/such/folder"));
        assert_eq!(found("any-once").unwrap().name(), "any-once");
        assert_eq!(found("recover").unwrap().name(), "recover");
        let Err(ScenarioError::Unknown { known, .. }) = found("any-onse") else {
            panic!("a scenario that does not exist was found");
        };
        assert!(known.iter().any(|name| name == "any-once"));
        assert!(known.iter().any(|name| name == "recover"));
    }
}
