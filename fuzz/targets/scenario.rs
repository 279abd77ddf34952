//! A scenario as anybody may write it: read, and then played for some turns.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loopmeter::scenario::Scenario;

fuzz_target!(|text: &str| {
    match Scenario::from_toml("fuzzed", text) {
        Ok(scenario) => {
            for turn in [0, 1, 2, 7, u32::MAX] {
                let said = scenario.answer(turn, &|| "notes.txt errors.log denied".to_owned());
                assert_eq!(
                    said,
                    scenario.answer(turn, &|| "notes.txt errors.log denied".to_owned())
                );
            }
        }
        Err(problems) => assert!(!format!("{problems:#}").is_empty()),
    }
});
