//! Prices by name, what a sweep costs before it is run, and sweeps that are held to a sum.

use serde_json::Value;

use crate::common::Folder;

#[test]
fn prices_are_listed_by_a_part_of_their_name_with_source_and_date() {
    let folder = Folder::empty();
    let list = |words: &[&str]| folder.run(&[&["list", "prices"], words].concat());
    insta::assert_snapshot!("prices_chapter", list(&["CHAPTER"]).ok());
    insta::assert_snapshot!("prices_tiers", list(&["openai/gpt-5.4-pro"]).ok());
    insta::assert_snapshot!("prices_not_billed", list(&["perplexity/sonar-r"]).ok());
    insta::assert_snapshot!(
        "prices_of_a_day",
        list(&["openai/o3-2025-04", "--at", "2025-06-09"]).ok()
    );
    let json = list(&["openai/gpt-5.4-pro", "--json"]).ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    let price = &json[0];
    assert_eq!(price["name"], "openai/gpt-5.4-pro");
    assert_eq!(price["input_pico_usd_per_token"], 30_000_000);
    assert_eq!(price["tiers"][0]["output_pico_usd_per_token"], 270_000_000);
    assert!(price.get("cached_read_pico_usd_per_token").is_none());
    assert!(
        price["source"]
            .as_str()
            .unwrap()
            .starts_with("genai-prices ")
    );
    let all = list(&[]).ok();
    assert!(all.lines().count() > 1_500);
    assert!(all.starts_with("chapter "), "{all}");
}

#[test]
fn a_name_that_is_no_price_is_met_with_the_nearest() {
    let folder = Folder::empty();
    let said = [
        &["list", "prices", "gtp-4o"][..],
        &["list", "prices", "a", "b"],
        &["list", "prices", "--at", "2026-02-30"],
        &["list", "scenarios", "--json"],
        &["meter", "--price", "gtp-4o", "--", "true"],
        &["probe", "--price", "perplexity/sonar", "--", "true"],
        &[
            "agent",
            "start",
            "--scenario",
            "plan",
            "--price",
            "openai/gpt4",
        ],
    ]
    .map(|words| folder.run(words).refused());
    insta::assert_snapshot!("prices_refused", said.join("\n"));
}

#[test]
fn a_run_at_a_models_price_says_where_the_price_is_from() {
    let folder = Folder::empty();
    let start = ["agent", "start", "--scenario", "plan", "--price", "gpt-4o"];
    insta::assert_snapshot!("prices_agent", folder.run(&start).ok());
    let shown = folder.run(&["agent", "show", "r1", "--json"]).ok();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["price"], "openai/gpt-4o");
    assert!(
        shown["price_source"]
            .as_str()
            .unwrap()
            .starts_with("genai-prices ")
    );
}

const PRICED: &str = "title = \"Two models\"\nabout = \"Two models.\"\n\
    [settings]\nscenario = \"plan\"\nmax_turns = 5\n\
    [[axis]]\nsetting = \"price\"\nvalues = [\"chapter\", \"openai/gpt-4o\"]\n";

#[test]
fn an_experiment_names_its_models_in_full() {
    let folder = Folder::empty();
    folder.write("two.toml", PRICED);
    folder.run(&["run", "two.toml", "--quiet"]).ok();
    let cells = folder.read("results/two/cells.csv");
    let header = cells.lines().next().unwrap();
    let column = |name: &str| header.split(',').position(|column| column == name).unwrap();
    let cost = |row: &str| row.split(',').nth(column("cost_usd")).unwrap().to_owned();
    // 815 tokens in and 70 out: at $2 and $12, and at $2.50 and $10.
    let costs: Vec<String> = cells.lines().skip(1).map(cost).collect();
    assert_eq!(costs, ["0.002470", "0.0027375"]);
    // The scripted model says that nothing was cached, and nothing of what was written to a cache.
    let first: Vec<&str> = cells.lines().nth(1).unwrap().split(',').collect();
    assert_eq!(first[column("cached_tokens")], "0");
    assert_eq!(first[column("cache_write_tokens")], "");
    folder
        .run(&["check", "two.toml", "--against", "results"])
        .exits(0);
    folder.change("two.toml", "\"openai/gpt-4o\"", "\"gpt-4o\"");
    let refused = folder.run(&["run", "two.toml"]).refused();
    assert!(
        refused.contains("write its full name, `openai/gpt-4o`"),
        "{refused}"
    );
}

#[test]
fn a_dry_run_sends_nothing_and_says_what_it_would_cost() {
    let folder = Folder::with(&["experiments"]);
    let dry = |words: &[&str]| folder.run(&[&["run", "--dry-run"], words].concat()).ok();
    insta::assert_snapshot!("dry_run_assumed", dry(&["--only", "local-model"]));
    insta::assert_snapshot!("dry_run_rehearsed", dry(&["--only", "budget"]));
    assert!(!folder.path().join("results").exists());
    folder.run(&["run", "--only", "budget", "--quiet"]).ok();
    let rows = folder.files("results");
    let json = dry(&["--only", "budget", "--only", "local-model", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        json["experiments"][0]["expected_usd"],
        json["experiments"][0]["at_most_usd"]
    );
    assert_eq!(json["experiments"][1]["cells"][0]["known_from"], "assumed");
    assert_eq!(folder.files("results"), rows);
}

#[test]
fn what_was_committed_says_what_a_real_model_will_cost() {
    let folder = Folder::with(&["experiments", "results/local-model"]);
    let json = folder
        .run(&["run", "--dry-run", "--only", "local-model", "--json"])
        .ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    let cell = &json["experiments"][0]["cells"][0];
    assert_eq!(cell["known_from"], "committed");
    assert!(cell["expected_usd"].as_f64().unwrap() < cell["at_most_usd"].as_f64().unwrap());
    let told = |model: &str| {
        let mut command = folder.command(&["run", "--dry-run", "--only", "local-model"]);
        let output = command
            .env("LLM_BASE_URL", "http://127.0.0.1:9/v1")
            .env("LLM_MODEL", model)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    // Rows of another model say nothing of the one that is asked.
    let models = &json["experiments"][0]["committed_models"];
    let model = models[0].as_str().unwrap();
    assert!(told(model).contains(&format!("in the results that are there, by `{model}`")));
    let other = told("another");
    assert!(
        other.contains(&format!("are of `{model}`, not of `another`")),
        "{other}"
    );
    assert!(
        other.contains("assumed:") && !other.contains("committed"),
        "{other}"
    );
    // Other cells than those of the sweep say nothing of it.
    folder.change(
        "experiments/local-model.toml",
        "name = \"how many files\"",
        "name = \"other\"",
    );
    let json = folder
        .run(&["run", "--dry-run", "--only", "local-model", "--json"])
        .ok();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["experiments"][0]["cells"][1]["known_from"], "assumed");
}

#[test]
fn a_sweep_that_its_bound_ends_keeps_what_was_paid_for() {
    let folder = Folder::with(&["experiments"]);
    let spend =
        |bound: &str| folder.run(&["run", "--only", "turn-cap", "--max-spend", bound, "-q"]);
    let whole = spend("5").ok();
    assert!(
        whole.ends_with("spent $0.940404 of $5.000000, $4.059596 left\n"),
        "{whole}"
    );
    let results = folder.files("results");
    let ended = spend("0.05").exits(3);
    insta::assert_snapshot!("max_spend_ended", ended.stderr);
    assert_eq!(ended.stdout, "");
    assert_eq!(folder.files("results/turn-cap").len(), results.len());
    let all = folder.read("results/turn-cap/cells.csv");
    let kept = folder.read("results/turn-cap.partial/cells.csv");
    assert!(
        all.starts_with(&kept) && kept.lines().count() == 3,
        "{kept}"
    );
    for jobs in ["1", "2", "9"] {
        let words = [
            "run",
            "--only",
            "turn-cap",
            "--max-spend",
            "0.05",
            "--jobs",
            jobs,
        ];
        folder.run(&words).exits(3);
        assert_eq!(folder.read("results/turn-cap.partial/cells.csv"), kept);
    }
    let expected = |budget: &str| {
        folder.change("experiments/local-model.toml", "max_turns = 8\n", budget);
        let words = ["run", "--dry-run", "--only", "local-model", "--json"];
        let json: Value = serde_json::from_str(&folder.run(&words).ok()).unwrap();
        let sum = |key: &str| json["experiments"][0]["cells"][0][key].as_f64().unwrap();
        (sum("expected_usd"), sum("at_most_usd"))
    };
    let budget = "max_turns = 8\nmax_budget_usd = 0.001\nbudget_check = \"reserve\"\n";
    let (probably, most) = expected(budget);
    assert!(
        probably <= most && (most - 0.001).abs() < 1e-12,
        "{probably} {most}"
    );
    let nothing = spend("0").exits(3).stderr;
    assert!(nothing.contains("after 0 of 4 runs"), "{nothing}");
    // Once the sweep is whole, nobody needs the part.
    spend("5").ok();
    assert!(!folder.path().join("results/turn-cap.partial").exists());
}

#[test]
fn a_sweep_without_a_bound_is_refused_before_it_begins() {
    let folder = Folder::with(&["experiments"]);
    folder.change(
        "experiments/local-model.toml",
        "max_completion_tokens = 128\n",
        "",
    );
    let said = [
        &["run", "--only", "local-model", "--max-spend", "1"][..],
        &["run", "--only", "budget", "--max-spend", "-1"],
        &["run", "--only", "budget", "--max-spend", "1", "--dry-run"],
        &["run", "--only", "budget", "--json"],
        &[
            "run",
            "--only",
            "budget",
            "--max-spend",
            "1",
            "--shard",
            "1/2",
        ],
    ]
    .map(|words| {
        let mut command = folder.command(words);
        command
            .env("LLM_BASE_URL", "http://127.0.0.1:9/v1")
            .env("LLM_MODEL", "tiny");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    });
    insta::assert_snapshot!("max_spend_refused", said.join("\n"));
}
