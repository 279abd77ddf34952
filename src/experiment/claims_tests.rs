use super::setting;
use crate::document::Document;
use crate::experiment::{Experiment, Home};
use rust_decimal::Decimal;

const SETTINGS: &str = "title = \"t\"\nabout = \"a\"\n[settings]\nscenario = \"plan\"\n";

const CHILD: &str = "[[subagent]]\nname = \"research\"\ndescription = \"d\"\n\
                     scenario = \"research\"\nmax_turns = 6\nmax_budget_usd = 0.05\n";

fn load(text: &str) -> Result<Experiment, Vec<String>> {
    let document = Document::parse("x.toml", &format!("{SETTINGS}{text}")).unwrap();
    let loaded = Experiment::from_document("x", &document, &Home::Embedded);
    loaded.map_err(|problems| problems.iter().map(|one| one.message.clone()).collect())
}

#[test]
fn a_setting_is_one_of_the_file_a_price_per_million_or_a_limit_of_a_sub_agent() {
    let experiment = load(&format!("max_turns = 5\n{CHILD}")).unwrap();
    let text = |path| setting(&experiment, path).map(|value| value.normalize().to_string());
    assert_eq!(text("max_turns").as_deref(), Some("5"));
    assert_eq!(text("price.input_usd_per_million").as_deref(), Some("2"));
    assert_eq!(text("price.output_usd_per_million").as_deref(), Some("12"));
    assert_eq!(text("subagent.research.max_turns").as_deref(), Some("6"));
    assert_eq!(
        setting(&experiment, "subagent.research.max_budget_usd"),
        Some(Decimal::new(5, 2))
    );
    for none in [
        "price.input",
        "subagent.other.max_turns",
        "subagent.research.name",
        "a.b.c.d",
        "scenario",
    ] {
        assert_eq!(text(none), None, "{none}");
    }
}

#[test]
fn a_price_is_a_setting_where_the_file_names_it() {
    let name = crate::pricing::CHAPTER_PRICE;
    let text = format!("max_turns = 5\n[[axis]]\nsetting = \"price\"\nvalues = [\"{name}\"]\n");
    let experiment = load(&text).unwrap();
    let input = setting(&experiment, "price.input_usd_per_million");
    assert_eq!(input, Some(Decimal::from(2)));
}

#[test]
fn what_is_wrong_elsewhere_is_not_held_against_a_claim() {
    let claim = |settings: &str, claim: &str| {
        load(&format!(
            "{settings}\n[[claim]]\nid = \"c\"\nvalue = 5\n{claim}\n"
        ))
        .err()
        .unwrap_or_default()
    };
    let bad_cap = claim("max_turns = -1", "setting = \"max_turns\"");
    assert_eq!(bad_cap.len(), 1, "{bad_cap:?}");
    let bad_price = claim(
        "max_turns = 5\nprice = \"nobody's\"",
        "setting = \"price.input_usd_per_million\"",
    );
    assert_eq!(bad_price.len(), 1, "{bad_price:?}");
    let bad_cell = claim("max_turns = 5", "cell = 3");
    assert_eq!(bad_cell.len(), 1, "{bad_cell:?}");
    let quoted = claim("max_turns = 5", "clock = \"real\"\nexternal = true");
    assert_eq!(quoted, Vec::<String>::new());
}

#[test]
fn a_claim_is_read_with_what_was_published_and_one_that_is_no_number_is_told() {
    let claim = |value: &str| format!("max_turns = 5\n[[claim]]\nid = \"c\"\nvalue = {value}\n");
    let setting = "setting = \"max_turns\"\n";
    let experiment = load(&(claim("5") + setting)).unwrap();
    let [read] = experiment.readout().claims.as_slice() else {
        panic!("one claim");
    };
    assert_eq!(read.id, "c");
    assert_eq!(read.published.values, [Decimal::from(5)]);
    let refused = load(&(claim("\"five\"") + setting)).unwrap_err();
    assert_eq!(refused.len(), 1, "{refused:?}");
}

#[test]
fn where_one_of_two_ways_may_be_a_slip_of_the_pen_nothing_is_said_of_the_other() {
    let ways = |ways: &str| {
        let claim = format!("max_turns = 5\n[[claim]]\nid = \"c\"\nvalue = 5\n{ways}\n");
        load(&claim).unwrap_err()
    };
    let two = ways("setting = \"max_turns\"\nexternal = true");
    assert_eq!(two.len(), 1);
    assert!(two[0].starts_with("2 ways to compute"), "{two:?}");
    let none = ways("");
    assert!(none[0].starts_with("0 ways to compute"), "{none:?}");
    let slip = ways("extrenal = true");
    assert_eq!(slip.len(), 1, "{slip:?}");
    assert!(!slip[0].contains("ways to compute"), "{slip:?}");
    let wrong = ways("external = \"yes\"");
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(!wrong[0].contains("ways to compute"), "{wrong:?}");
}
