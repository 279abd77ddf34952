//! The small world that every chapter scenario plays in: what the agent is told and asked.
//!
//! Every published token count depends on each character of these texts.

use std::fmt::Write as _;

/// The system prompt.
pub const SYSTEM: &str = include_str!("../experiments/world/system.txt");

/// What the user asks.
pub const USER: &str = include_str!("../experiments/world/user.txt");

/// What made-up rules are about.
const SUBJECTS: [&str; 8] = [
    "a customer's name",
    "an amount of money",
    "a date that lies ahead",
    "a file of another team",
    "an error that comes twice",
    "a number that you worked out",
    "a question with two meanings",
    "a result of more than a page",
];

/// What made-up rules ask for.
const DUTIES: [&str; 5] = [
    "say where it comes from before you use it",
    "write it as the source writes it, letter by letter",
    "ask before you change anything that depends on it",
    "leave it out unless the question needs it",
    "check it against the last tool result",
];

/// A system prompt with so many made-up rules behind it, each a sentence on a line of its own.
#[must_use]
pub fn with_rules(system: &str, rules: u32) -> String {
    let mut text = system.to_owned();
    let all = DUTIES
        .iter()
        .flat_map(|duty| SUBJECTS.map(|about| (about, duty)));
    for (number, (about, duty)) in (1..=rules).zip(all.cycle()) {
        let _ = write!(
            text,
            "\nRule {number}: when you come across {about}, {duty}."
        );
    }
    text
}
