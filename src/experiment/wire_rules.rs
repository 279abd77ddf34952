//! What must hold of the settings of cells that ask their model over a wire, or a real one.

use regex::Regex;

use super::rules::Rule;
use super::seam::Transport;
use crate::run::context::ContextPolicy;

/// What must hold on any clock.
pub(super) const RULES: &[Rule] = &[
    Rule {
        looks_at: &["provider", "scenario"],
        blames: "scenario",
        broken: |settings| {
            let script = settings.scenario.is_some();
            (settings.asks_endpoint() && script)
                .then(|| "a scenario beside an endpoint, which follows no script".to_owned())
        },
        help: "leave `scenario` out, or ask the `scripted` model",
    },
    Rule {
        looks_at: &["provider", "transport"],
        blames: "transport",
        broken: |settings| {
            let in_process = settings.transport == Transport::InProcess;
            (settings.asks_endpoint() && in_process)
                .then(|| "an endpoint is not in this process".to_owned())
        },
        help: "set `transport` to `http` or `http_stream`",
    },
    Rule {
        looks_at: &["provider", "latency", "latency_ms"],
        blames: "latency_ms",
        broken: |settings| {
            let injected = settings.latency_ms.is_some() || settings.latency.is_some();
            (settings.asks_endpoint() && injected)
                .then(|| "a latency for an endpoint, which takes its own time".to_owned())
        },
        help: "leave the latency out, or ask the `scripted` model",
    },
    Rule {
        looks_at: &["provider", "compare_with"],
        blames: "compare_with",
        broken: |settings| {
            (settings.asks_endpoint() && settings.compare_with.is_some())
                .then(|| "a bare socket to compare an endpoint with".to_owned())
        },
        help: "leave `compare_with` out, or ask the `scripted` model",
    },
    Rule {
        looks_at: &["context", "provider", "transport"],
        blames: "context",
        broken: |settings| {
            let is_elsewhere =
                settings.asks_endpoint() || settings.transport != Transport::InProcess;
            let sums_up = matches!(settings.context, ContextPolicy::Summarise { .. });
            (is_elsewhere && sums_up)
                .then(|| "summaries of a model that is not in this process".to_owned())
        },
        help: "take another `context`: only the scripted model in this process writes summaries",
    },
    Rule {
        looks_at: &["cache", "provider"],
        blames: "cache",
        broken: |settings| {
            (settings.asks_endpoint() && settings.cache.terms().is_some())
                .then(|| "the terms of a cache for an endpoint, which has its own".to_owned())
        },
        help: "leave `cache` out, or ask the `scripted` model",
    },
    Rule {
        looks_at: &["expected_answer"],
        blames: "expected_answer",
        broken: |settings| {
            let expected = settings.expected_answer.as_deref()?;
            let error = Regex::new(expected).err()?;
            Some(format!("not a regular expression: {error}"))
        },
        help: "escape what is meant letter by letter, such as `errors\\\\.log`",
    },
];

/// What must hold on the virtual clock alone.
pub(super) const ON_VIRTUAL_CLOCK: &[Rule] = &[Rule {
    looks_at: &["transport"],
    blames: "transport",
    broken: |settings| {
        (settings.transport != Transport::InProcess)
            .then(|| "sockets on the virtual clock, which they do not wait for".to_owned())
    },
    help: "set `clock = \"real\"`, or `transport = \"in_process\"`",
}];

#[cfg(test)]
mod tests {
    use crate::document::Document;
    use crate::experiment::{Experiment, Home};

    const HEAD: &str = "title = \"t\"\nabout = \"a\"\n";

    /// What is wrong with a file, each problem with its line.
    fn problems(text: &str) -> Vec<String> {
        let document = Document::parse("x.toml", &format!("{HEAD}{text}")).unwrap();
        let Err(problems) = Experiment::from_document("x", &document, &Home::Embedded) else {
            return Vec::new();
        };
        let problems = problems.iter();
        problems
            .map(|problem| format!("{}: {}", problem.line, problem.message))
            .collect()
    }

    #[test]
    fn sockets_need_the_real_clock() {
        let swept = "[settings]\nscenario = \"plan\"\nmax_turns = 5\n[[axis]]\n\
                     setting = \"transport\"\nvalues = [\n\"in_process\",\n\"http\",\n]\n";
        assert_eq!(
            problems(swept),
            ["10: sockets on the virtual clock, which they do not wait for"]
        );
        assert!(problems(&format!("clock = \"real\"\n{swept}")).is_empty());
    }

    #[test]
    fn an_endpoint_plays_no_script_takes_its_own_time_and_is_elsewhere() {
        let real = "clock = \"real\"\n[settings]\nprovider = \"endpoint\"\nmax_turns = 5\n";
        let with = |more: &str| problems(&format!("{real}{more}"));
        let http = "transport = \"http\"\n";
        assert_eq!(with(http), Vec::<String>::new());
        for (more, said) in [
            (String::new(), "an endpoint is not in this process"),
            (
                format!("{http}scenario = \"plan\"\n"),
                "8: a scenario beside an endpoint",
            ),
            (
                format!("{http}latency_ms = 0\n"),
                "8: a latency for an endpoint",
            ),
            (
                format!("{http}compare_with = \"bare_socket\"\n"),
                "8: a bare socket to compare an endpoint with",
            ),
            (
                format!("{http}cache = \"openai\"\n"),
                "8: the terms of a cache for an endpoint",
            ),
            (
                format!("{http}expected_answer = \"(\"\n"),
                "8: not a regular expression",
            ),
        ] {
            let found = with(&more);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(said), "{found:?}");
        }
    }

    #[test]
    fn summaries_are_written_by_the_scripted_model_in_this_process() {
        let text = "clock = \"real\"\n[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
                    context = \"summarise_above=9,keep_turns=1,summary_tokens=9\"\n";
        assert!(problems(text).is_empty());
        assert_eq!(
            problems(&format!("{text}transport = \"http\"\n")),
            ["7: summaries of a model that is not in this process"]
        );
    }

    #[test]
    fn a_context_policy_that_is_none_is_told_where_it_stands() {
        let text = "[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
                    context = \"last_results=0\"\n";
        let found = problems(text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("6: "), "{found:?}");
    }

    #[test]
    fn a_summary_is_of_columns_that_cells_have() {
        let text = |columns: &str, same: &str| {
            format!(
                "clock = \"real\"\nrepeat = 7\n[settings]\nscenario = \"plan\"\nmax_turns = 5\n\
                 [summary]\ncolumns = [\"{columns}\"]\nsame = [\"{same}\"]\n\
                 [table]\ncaption = \"c\"\nrows = \"summary\"\n\
                 columns = [\"n\", \"median_wall_ms\", \"median_turns\"]\n"
            )
        };
        assert_eq!(
            problems(&text("wal_ms", "turn")),
            ["9: no column `wal_ms`", "10: no column `turn`"],
            "the table may be right once these are"
        );
        assert_eq!(
            problems(&text("wall_ms", "turns")),
            ["14: no column `median_turns`"]
        );
    }
}
