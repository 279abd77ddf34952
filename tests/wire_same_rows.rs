//! The same script gives the same run in process, over HTTP and over HTTP streamed: every event
//! and the whole transcript, everything but times and what only a wire has.
#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]

#[path = "wire/served.rs"]
mod served;

use loopmeter::provider::wire::Delivery;
use loopmeter::run::RunSettings;
use loopmeter::run::policy::{Approval, Dedupe, Policy};
use loopmeter::scenario::builtin_names;
use loopmeter::server::Config;

use served::{Care, Way, catalog, provider, run, settings, timeless};

/// The three runs of `scenario` under `settings`, all of which must be one.
async fn compare(base_url: &str, scenario: &str, settings: &RunSettings) {
    let ask = async |way| {
        let ask = |scenario: &str| provider(way, base_url, scenario, Care::default());
        let catalog = catalog(ask("research"));
        run(ask(scenario).as_ref(), &catalog, settings.clone()).await
    };
    let (in_process, plain, streamed) = tokio::join!(
        ask(Way::InProcess),
        ask(Way::Http(Delivery::Whole)),
        ask(Way::Http(Delivery::StreamedWithUsage)),
    );
    assert_eq!(in_process.0.attempts, 0);
    assert_eq!(plain.0.attempts, plain.0.requests);
    assert_eq!(streamed.0.attempts, streamed.0.requests);
    let expected = timeless(in_process);
    assert!(expected.0.turns > 0);
    assert_eq!(timeless(plain), expected, "{scenario}, plain");
    assert_eq!(timeless(streamed), expected, "{scenario}, streamed");
}

/// Compares every scenario that is part of the library.
fn compare_all(settings: &RunSettings) {
    served::with_server(Config::default(), async |served| {
        for scenario in builtin_names() {
            compare(&served.base_url("same"), scenario, settings).await;
        }
    });
}

#[test]
fn every_scenario_gives_the_same_run_in_process_plain_and_streamed() {
    compare_all(&settings());
}

#[test]
fn so_it_does_under_other_policies() {
    compare_all(&settings().with_policy(Policy {
        approval: Approval::Granted,
        dedupe: Dedupe::ReadOnly,
        ..Policy::default()
    }));
}

#[test]
fn so_it_does_where_every_reply_is_cut() {
    for most in [1, 9, 24] {
        compare_all(&RunSettings {
            max_completion_tokens: Some(most),
            ..settings()
        });
    }
}
