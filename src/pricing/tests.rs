use proptest::prelude::*;

use super::*;
use crate::message::Usage;
use crate::money::PicoUsd;

fn usage(prompt: u64, cached: Option<u64>, written: Option<u64>, completion: u64) -> Usage {
    Usage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        cached_tokens: cached,
        cache_write_tokens: written,
        reasoning_tokens: 0,
    }
}

fn origin() -> Origin {
    Origin {
        source: "t 1".to_owned(),
        url: "u".to_owned(),
        licence: "MIT".to_owned(),
        date: "2026-11-30".parse().unwrap(),
    }
}

fn shipped() -> ModelTable {
    ModelTable::shipped().unwrap()
}

fn table(data: &str) -> ModelTable {
    ModelTable::parse(&import(data, &origin()).unwrap().text).unwrap()
}

#[test]
fn the_dearest_request_and_the_dearest_token_are_looked_for_in_every_tier() {
    let plain = |input, output| {
        let [input, output] = [input, output].map(PicoUsd::from_pico);
        Rates::plain(input, output)
    };
    let tier = |above_prompt_tokens, rates| Tier {
        above_prompt_tokens,
        rates,
    };
    // The second tier is cheaper than the first: a prompt of 200 costs most there.
    let price = Price {
        name: String::new(),
        rates: plain(1, 2),
        tiers: vec![tier(100, plain(10, 3)), tier(200, plain(4, 5))],
        source: String::new(),
        date: String::new(),
    };
    let worst = |prompt| price.worst_cost(prompt, 1).pico();
    assert_eq!(worst(100), 100 + 2);
    assert_eq!(worst(101), 1_010 + 3);
    assert_eq!([worst(200), worst(201)], [2_003, 2_003]);
    assert_eq!(worst(1_000), 4_005);
    assert_eq!(price.dearest_token(), PicoUsd::from_pico(10));
}

#[test]
fn cached_and_written_tokens_are_parts_of_the_prompt() {
    let rates = Rates {
        input: PicoUsd::from_pico(100),
        cached_read: Some(PicoUsd::from_pico(10)),
        cache_write: Some(PicoUsd::from_pico(125)),
        output: PicoUsd::from_pico(1_000),
    };
    let cost = |usage| rates.cost(&usage).pico();
    assert_eq!(cost(usage(50, None, None, 2)), 7_000);
    assert_eq!(cost(usage(50, Some(30), Some(20), 0)), 30 * 10 + 20 * 125);
    assert_eq!(
        cost(usage(50, Some(30), Some(5), 0)),
        30 * 10 + 5 * 125 + 15 * 100
    );
    // Parts beyond their whole are cut, and nothing is billed below zero.
    assert_eq!(cost(usage(50, Some(80), Some(80), 0)), 500);
    let unpriced = Rates::plain(rates.input, rates.output);
    assert_eq!(
        unpriced.cost(&usage(50, Some(30), Some(20), 0)).pico(),
        5_000
    );
}

#[test]
fn a_tier_holds_for_the_whole_request_above_its_length() {
    let price = find("openai/gpt-5.4").unwrap();
    let cost = |prompt| price.cost(&usage(prompt, None, None, 0)).to_string();
    assert_eq!(cost(272_000), "0.680000");
    assert_eq!(cost(272_001), "1.360005");
    assert_eq!(
        price
            .cost(&usage(300_000, Some(200_000), None, 1_000))
            .to_string(),
        "0.622500"
    );
}

#[test]
fn a_price_is_that_of_its_day() {
    let input = |name: &str| find(name).unwrap().rates.input.pico();
    assert_eq!(input("openai/o3@2025-06-09"), 10_000_000);
    assert_eq!(input("openai/o3@2025-06-10"), 2_000_000);
    assert_eq!(input("openai/o3"), 2_000_000);
    let dated = find("o3@2025-06-09").unwrap();
    assert_eq!(dated.name, "openai/o3@2025-06-09");
    assert_eq!(dated.date, shipped().origin.date.to_string());
}

#[test]
fn a_bare_name_means_the_maker_where_several_sell_it() {
    assert_eq!(find("gpt-4o").unwrap().name, "openai/gpt-4o");
    assert_eq!(find("azure/phi-4").unwrap().name, "azure/phi-4");
    assert_eq!(find("gpt-4o-2024-08-06").unwrap().name, "openai/gpt-4o");
    assert_eq!(
        find("openrouter/openai/gpt-4o").unwrap().name,
        "openrouter/openai/gpt-4o"
    );
    assert_eq!(find("chapter").unwrap().name, CHAPTER_PRICE);
}

#[test]
fn a_name_that_means_none_or_several_is_told_what_there_is() {
    let message = |name: &str| find(name).unwrap_err().to_string();
    assert_eq!(
        message("gtp-4o"),
        "no price \"gtp-4o\"; did you mean openai/gpt-4o, openai/gpt-4? \
         `loopmeter list prices PATTERN` lists what there is"
    );
    assert!(!message("no such thing at all").contains("did you mean"));
    let several = table(
        r#"[{"id":"a","models":[{"id":"m","match":{"equals":"m"},"prices":{"input_mtok":1,"output_mtok":2}}]},
            {"id":"b","models":[{"id":"x","match":{"or":[{"equals":"m"}]},"prices":{"input_mtok":1,"output_mtok":2}}]}]"#,
    );
    let error = several.find("m").unwrap_err().to_string();
    assert_eq!(error, "several providers sell \"m\": write one of a/m, b/x");
    assert_eq!(
        message("perplexity/sonar"),
        "perplexity/sonar is not billed here: it has a fee for each request"
    );
}

#[test]
fn every_listed_price_is_whole_and_every_name_means_its_model() {
    let table = shipped();
    assert!(table.models.len() > 1_000);
    for model in &table.models {
        let name = model.full_name();
        assert_eq!(table.model(&name).unwrap(), model, "{name}");
        let Listing::Priced(periods) = &model.listing else {
            continue;
        };
        let rates = periods.iter().flat_map(|period| {
            let tiers = period.tiers.iter().map(|tier| &tier.rates);
            tiers.chain([&period.rates])
        });
        for rates in rates {
            let kinds = [
                Some(rates.input),
                rates.cached_read,
                rates.cache_write,
                Some(rates.output),
            ];
            assert!(
                kinds.iter().flatten().all(|price| *price >= PicoUsd::ZERO),
                "{name}"
            );
        }
        let dated = name
            .rsplit_once('@')
            .is_some_and(|(_, day)| day.parse::<Day>().is_ok());
        assert!(!dated, "{name} would be read as a day's price");
    }
}

#[test]
fn the_digits_of_the_data_are_taken_as_they_stand() {
    let data = r#"[{"id":"p","other":1,"models":[
        {"id":"fine","match":{"equals":"f"},"prices":{"input_mtok":0.000001,"output_mtok":0.00362500}},
        {"id":"too-fine","match":{"starts_with":"t"},"prices":{"input_mtok":0.0000001,"output_mtok":1}},
        {"id":"noise","match":{"contains":"n"},"prices":{"input_mtok":0.18000000000000002,"output_mtok":1}},
        {"id":"hours","match":{"regex":"h"},"prices":[{"prices":{"input_mtok":1,"output_mtok":1}},
            {"constraint":{"start_time":"00:30:00Z","end_time":"16:30:00Z"},"prices":{"input_mtok":2,"output_mtok":1}}]},
        {"id":"ears","match":{"equals":"e"},"prices":{"audio_hours":3}}]}]"#;
    let imported = import(data, &origin()).unwrap();
    assert_eq!((imported.priced, imported.other), (1, 1));
    assert_eq!(imported.left.values().copied().collect::<Vec<_>>(), [1, 2]);
    let table = ModelTable::parse(&imported.text).unwrap();
    let fine = table.find("p/fine").unwrap().rates;
    assert_eq!((fine.input.pico(), fine.output.pico()), (1, 3_625));
    let why = |name: &str| table.find(name).unwrap_err().to_string();
    assert_eq!(
        why("hours"),
        "p/hours is not billed here: its price depends on the hour of the day"
    );
    assert!(why("noise").ends_with("no whole number of pico-dollars per token"));
    let exponent = data.replace("0.00362500", "1e-3");
    assert!(matches!(
        import(&exponent, &origin()),
        Err(ImportError::Number { .. })
    ));
}

#[test]
fn kinds_with_tiers_of_their_own_are_told_apart() {
    let table = table(
        r#"[{"id":"p","models":[{"id":"m","match":{"equals":"m"},"prices":[{"prices":{
            "input_mtok":{"base":1,"tiers":[{"start":10,"price":2},{"start":30,"price":4}]},
            "cache_read_mtok":0.5,
            "output_mtok":{"base":3,"tiers":[{"start":20,"price":6}]}}},
            {"constraint":{"start_date":"2026-12-01"},"prices":{"input_mtok":9,"output_mtok":9}}]}]}]"#,
    );
    let price = table.find("m").unwrap();
    let at = |prompt| {
        let rates = price.rates_at(prompt);
        [Some(rates.input), rates.cached_read, Some(rates.output)]
            .map(|price| price.unwrap().pico() / 100_000)
    };
    assert_eq!(
        [10, 11, 20].map(at),
        [[10, 5, 30], [20, 5, 30], [20, 5, 30]]
    );
    assert_eq!(
        [21, 30, 31].map(at),
        [[20, 5, 60], [20, 5, 60], [40, 5, 60]]
    );
    assert_eq!(
        table.find("m@2026-12-01").unwrap().rates.input.pico(),
        9_000_000
    );
}

#[test]
fn a_broken_table_names_its_line() {
    let header = crate::message::to_json(&origin());
    let line = |rest: &str| format!("{header}\n{{\"provider\":\"p\",\"model\":\"m\"{rest}}}\n");
    let fails = |text: &str| ModelTable::parse(text).unwrap_err().to_string();
    assert!(fails("").starts_with("line 1 "));
    assert!(fails(&line("")).starts_with("line 2 "));
    assert!(fails(&line(r#","prices":[{"rates":{"input":"x","output":"1"}}]"#)).contains("\"x\""));
    let late = r#","prices":[{"from":"2026-01-01","rates":{"input":"1","output":"1"}}]"#;
    assert!(fails(&line(late)).contains("from the first day on"));
}

#[test]
fn a_price_that_was_stored_before_there_were_caches_is_read() {
    let old = r#"{"name":"chapter","input":2000000,"output":12000000,"source":"s","date":"d"}"#;
    let price: Price = serde_json::from_str(old).unwrap();
    assert_eq!(
        price.rates,
        Rates::plain(
            PicoUsd::from_pico(2_000_000),
            PicoUsd::from_pico(12_000_000)
        )
    );
    assert_eq!(serde_json::to_string(&price).unwrap(), old);
    let new = find("openai/gpt-5.4").unwrap();
    let text = serde_json::to_string(&new).unwrap();
    assert_eq!(serde_json::from_str::<Price>(&text).unwrap(), new);
}

fn rates() -> impl Strategy<Value = Rates> {
    let price = || (0_i64..100_000_000).prop_map(PicoUsd::from_pico);
    let optional = || proptest::option::of(price());
    (price(), optional(), optional(), price()).prop_map(
        |(input, cached_read, cache_write, output)| Rates {
            input,
            cached_read,
            cache_write,
            output,
        },
    )
}

proptest! {
    #[test]
    fn without_a_cache_the_bill_is_the_plain_formula(
        rates in rates(), prompt in 0_u64..2_000_000, completion in 0_u64..2_000_000,
    ) {
        let plain = i128::from(rates.input.pico()) * i128::from(prompt)
            + i128::from(rates.output.pico()) * i128::from(completion);
        let cost = rates.cost(&usage(prompt, None, None, completion));
        prop_assert_eq!(i128::from(cost.pico()), plain);
        prop_assert_eq!(cost, rates.cost(&usage(prompt, Some(0), Some(0), completion)));
    }

    #[test]
    fn a_bill_is_never_above_the_worst(
        rates in rates(), prompt in 0_u64..2_000_000,
        cached in 0_u64..3_000_000, written in 0_u64..3_000_000, completion in 0_u64..10_000,
    ) {
        let price = Price {
            name: String::new(), rates, tiers: Vec::new(), source: String::new(), date: String::new(),
        };
        let cost = price.cost(&usage(prompt, Some(cached), Some(written), completion));
        prop_assert!(cost <= price.worst_cost(prompt, completion));
        prop_assert!(cost >= PicoUsd::ZERO);
    }

    #[test]
    fn a_longer_prompt_never_costs_less_where_tiers_rise(
        rates in rates(), rises in proptest::collection::vec((1_u64..500_000, 0_i64..1_000_000), 0..4),
        (a, b) in (0_u64..2_000_000, 0_u64..2_000_000), completion in 0_u64..10_000,
    ) {
        let (mut above, mut dearer) = (0, rates);
        let tiers = rises.into_iter().map(|(length, rise)| {
            above += length;
            dearer.input += PicoUsd::from_pico(rise);
            dearer.output += PicoUsd::from_pico(rise);
            Tier { above_prompt_tokens: above, rates: dearer }
        });
        let price = Price {
            name: String::new(), rates, tiers: tiers.collect(), source: String::new(), date: String::new(),
        };
        let cost = |prompt| price.cost(&usage(prompt, None, None, completion));
        prop_assert!(cost(a.min(b)) <= cost(a.max(b)));
    }
}

#[test]
fn a_price_has_rates_for_a_cache_where_it_names_either() {
    let rate = Some(PicoUsd::from_pico(1));
    for (cached_read, cache_write, has) in [
        (None, None, false),
        (rate, None, true),
        (None, rate, true),
        (rate, rate, true),
    ] {
        let rates = Rates {
            cached_read,
            cache_write,
            ..Rates::plain(PicoUsd::ZERO, PicoUsd::ZERO)
        };
        let price = Price {
            name: String::new(),
            rates,
            tiers: Vec::new(),
            source: String::new(),
            date: String::new(),
        };
        assert_eq!(
            price.has_cache_rates(),
            has,
            "{cached_read:?} {cache_write:?}"
        );
    }
}
