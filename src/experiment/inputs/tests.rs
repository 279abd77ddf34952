use super::*;
use crate::document::Document;
use crate::experiment::{Experiment, Experiments, Home};

fn experiment(text: &str) -> Experiment {
    let head = "title = \"A\"\nabout = \"B\"\n";
    let document = Document::parse("a.toml", &format!("{head}{text}")).unwrap();
    Experiment::from_document("a", &document, &Home::Embedded).unwrap()
}

const PLAIN: &str = "[settings]\nscenario = \"plan\"\nmax_turns = 9\n";

/// What the inputs of one text have that those of another have not, in words.
fn told(was: &str, is: &str) -> Vec<String> {
    let (was, is) = (experiment(was).inputs(), experiment(is).inputs());
    was.changes_to(&is)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn inputs_are_one_line_each_and_read_back() {
    let inputs = experiment(PLAIN).inputs();
    let text = inputs.to_text();
    assert_eq!(Inputs::parse(text.as_bytes()).unwrap(), inputs);
    assert_eq!(text.lines().count(), inputs.entries.len() + 2);
    for line in [
        "  \"settings.scenario\": \"plan\",",
        "  \"default.dedupe\": \"off\",",
        "  \"price.chapter\": {\"input_usd_per_million\":\"2\",\"output_usd_per_million\":\"12\"}\n",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    assert!(!text.contains(env!("CARGO_PKG_VERSION")), "{text}");
    assert!(Inputs::parse(b"[1]").is_err());
}

#[test]
fn the_inputs_of_every_experiment_are_small() {
    for experiment in &Experiments::embedded().unwrap() {
        let text = experiment.inputs().to_text();
        assert!(text.len() < 8_000, "{}: {}", experiment.name(), text.len());
    }
}

#[test]
fn nothing_changes_where_the_same_is_written_in_another_order() {
    let turned = "[settings]\nmax_turns = 9\nscenario = \"plan\"\n";
    assert_eq!(told(PLAIN, turned), Vec::<String>::new());
}

#[test]
fn a_changed_setting_is_named_with_what_it_was() {
    let capped = PLAIN.replace('9', "10");
    assert_eq!(told(PLAIN, &capped), ["`max_turns` is `10`, which was `9`"]);
    let deduped = format!("{PLAIN}dedupe = \"all\"\n");
    assert_eq!(
        told(PLAIN, &deduped),
        ["`dedupe` is `all`, which was `off`"]
    );
    assert_eq!(
        told(&deduped, PLAIN),
        ["by default `dedupe` is `off`, which was `all`"]
    );
    let swept = format!("{PLAIN}[[axis]]\nsetting = \"dedupe\"\nvalues = [\"off\", \"all\"]\n");
    assert_eq!(told(PLAIN, &swept), ["the axis `dedupe` is new"]);
}

#[test]
fn a_changed_tool_is_named_with_what_of_it_changed() {
    let described = format!("{PLAIN}descriptions = {{ list_files = \"Lists.\" }}\n");
    let changes = experiment(PLAIN)
        .inputs()
        .changes_to(&experiment(&described).inputs());
    let names: Vec<_> = changes.iter().map(|change| change.name.as_str()).collect();
    assert_eq!(names, ["tool.list_files"]);
    assert_eq!(
        changes[0].to_string(),
        "the tool description of `list_files` changed"
    );
    let fewer = format!("{PLAIN}tools = [\"list_files\", \"read_file\"]\n");
    assert!(told(PLAIN, &fewer).contains(&"the tool `delete_file` is gone".to_owned()));
}

#[test]
fn a_changed_tool_of_a_sub_agent_is_named_where_the_run_itself_does_not_have_it() {
    let delegating = |settings: &str| {
        let tools = "tools = [\"read_file\", \"survey\"]\n";
        let child = "[[subagent]]\nname = \"survey\"\ndescription = \"Looks.\"\n\
                     scenario = \"plan\"\nmax_turns = 4\n";
        format!("{PLAIN}{tools}{settings}{child}")
    };
    let described = "descriptions = { list_files = \"Lists.\" }\n";
    assert_eq!(
        told(&delegating(""), &delegating(described)),
        ["the tool description of `list_files` changed"]
    );
}

#[test]
fn what_a_change_can_reach_follows_from_what_it_is_of() {
    let change = |name: &str| InputChange {
        name: name.to_owned(),
        was: None,
        is: None,
    };
    assert!(change("tool.list_files").concerns("a"));
    assert!(change("case.a").concerns("a") && !change("case.a").concerns("b"));
    assert_eq!(change("axis.max_turns").reach(), Reach::Cells);
    assert_eq!(change("table").reach(), Reach::Readout);
}

#[test]
fn a_price_is_told_by_the_part_that_changed() {
    let of = |text: &str| Inputs::parse(text.as_bytes()).unwrap();
    let was = of(r#"{"price.a": {"input_usd_per_million":"2","output_usd_per_million":"12"}}"#);
    let is = of(r#"{"price.a": {"input_usd_per_million":"2.5","output_usd_per_million":"12"}}"#);
    assert_eq!(
        was.changes_to(&is)[0].to_string(),
        "the price `a` is $2.5 per million prompt tokens, which was $2"
    );
}
