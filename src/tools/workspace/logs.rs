//! Larger files than the chapter's: a log for each of a hundred days, about a thousand tokens each.

use super::template::Files;

/// How many days there are.
const DAYS: u32 = 100;
/// How many lines a day has.
const LINES: u32 = 32;

const PATHS: [&str; 6] = [
    "orders", "invoices", "sessions", "search", "reports", "health",
];

/// A short text beside them.
const ON_CALL: &str = "Nobody is on call tonight.";

/// `day-0.log` to `day-99.log`, and `on-call.txt`: the same bytes everywhere.
pub(super) fn service_logs() -> Files {
    let days = (0..DAYS).map(|day| {
        let lines: Vec<String> = (0..LINES).map(|line| entry(day, line)).collect();
        let text = lines.join("\n");
        (format!("day-{day}.log"), text.into_bytes().into())
    });
    let on_call = ("on-call.txt".to_owned(), ON_CALL.as_bytes().into());
    days.chain([on_call]).collect()
}

fn entry(day: u32, line: u32) -> String {
    // Steps without a common factor, so that no two lines of the first days look alike.
    let at = day * 37 + line * 53;
    let path = PATHS
        .iter()
        .cycle()
        .nth((at % 6) as usize)
        .unwrap_or(&"health");
    format!(
        "{:02}:{:02}:{:02} api-{} GET /v1/{path}/{} 200 {} ms",
        line * 24 / LINES,
        at % 60,
        (at * 7) % 60,
        at % 9,
        10_000 + (at * 911) % 89_999,
        20 + (at * 13) % 480,
    )
}
