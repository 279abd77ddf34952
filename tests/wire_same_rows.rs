//! The same script gives the same run in process, over HTTP and over HTTP streamed: every event
//! and the whole transcript, everything but times and what only a wire has.
#![cfg(feature = "cli")]
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by its panic"
)]

#[path = "wire/served.rs"]
mod served;

use std::sync::Arc;

use loopmeter::provider::Provider;
use loopmeter::provider::wire::Delivery;
use loopmeter::run::policy::{Approval, Dedupe, Policy};
use loopmeter::run::{RunSettings, RunState, SubAgent};
use loopmeter::scenario::builtin_names;
use loopmeter::server::Config;
use loopmeter::tools::Catalog;

use served::{Care, Seen, Way, provider, run, settings, timeless};

/// The chapter's tools, and a sub-agent that is asked in the same way.
fn catalog(researcher: Arc<dyn Provider>) -> Catalog {
    let research = SubAgent::new(
        ("research", "Investigate."),
        "",
        researcher,
        Arc::new(Catalog::chapter()),
        settings(),
    );
    Catalog::chapter().with(Arc::new(research)).unwrap()
}

/// The three runs of `scenario` under `settings`, all of which must be one; returns how many
/// attempts they made on the wire.
async fn compare(base_url: &str, scenario: &str, settings: &RunSettings) -> u32 {
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
    let attempts = |(run, _): &(RunState, Seen)| run.attempts + run.children.attempts;
    let attempts = attempts(&plain) + attempts(&streamed);
    let expected = timeless(in_process);
    assert!(expected.0.turns > 0);
    assert_eq!(timeless(plain), expected, "{scenario}, plain");
    assert_eq!(timeless(streamed), expected, "{scenario}, streamed");
    attempts
}

/// Compares every scenario that is part of the library.
fn compare_all(settings: &RunSettings) {
    served::with_server(Config::default(), async |served| {
        let mut attempts = 0;
        for scenario in builtin_names() {
            attempts += compare(&served.base_url(scenario), scenario, settings).await;
        }
        let attempts = usize::try_from(attempts).unwrap();
        assert_eq!(served.exchanges(attempts).await.len(), attempts);
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
