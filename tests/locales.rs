//! The languages: complete, without strays, and with the numbers that CLDR says.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use loopmeter::document::Document;
use loopmeter::experiment::{Experiment, Experiments};
use loopmeter::money::PicoUsd;
use loopmeter::report::{Digits, Locale, NumberStyle, Variant};
use loopmeter::results::{Amount, Figure, Figures, Sign, Unit, parse_decimal};
use proptest::prelude::*;
use regex::Regex;
use rust_decimal::Decimal;

fn all() -> Vec<Locale> {
    let load = |tag| Locale::load(tag).unwrap_or_else(|error| panic!("{tag}: {error}"));
    Locale::tags().into_iter().map(load).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn decimal(text: &str) -> Decimal {
    parse_decimal(text).unwrap()
}

/// The messages of a language by key and plural category.
fn messages(locale: &Locale) -> BTreeMap<(&str, Option<&str>), &str> {
    let variants = locale.variants();
    variants.map(|v| ((v.key, v.category), v.text)).collect()
}

fn places(text: &str) -> BTreeSet<&str> {
    let after = text.split('{').skip(1);
    after
        .filter_map(|rest| Some(rest.split_once('}')?.0))
        .collect()
}

#[test]
fn there_are_the_33_languages_of_the_book() {
    let tags = "ar bg bn cs da de el en es fa fi fr he hi hr hu id it ja ko nb nl pl pt-BR ro ru \
                sv th tr uk vi zh-Hans zh-Hant";
    assert_eq!(Locale::tags(), tags.split_whitespace().collect::<Vec<_>>());
    let rtl = all().into_iter().filter(|locale| locale.dir() == "rtl");
    assert_eq!(
        rtl.map(|locale| locale.tag().to_owned())
            .collect::<Vec<_>>(),
        ["ar", "fa", "he"]
    );
}

#[test]
fn every_language_has_every_message_and_no_other_with_the_same_places() {
    let english = Locale::load("en").unwrap();
    let wanted: BTreeMap<&str, BTreeSet<&str>> = english
        .variants()
        .map(|v| (v.key, places(v.text)))
        .collect();
    for locale in all() {
        let tag = locale.tag();
        let keys: BTreeSet<&str> = locale.variants().map(|v| v.key).collect();
        let missing: Vec<_> = wanted.keys().filter(|key| !keys.contains(*key)).collect();
        let strays: Vec<_> = keys
            .iter()
            .filter(|key| !wanted.contains_key(*key))
            .collect();
        assert!(
            missing.is_empty() && strays.is_empty(),
            "{tag}: {missing:?} {strays:?}"
        );
        for Variant {
            key,
            category,
            text,
        } in locale.variants()
        {
            // "One row" may say its number in words; no other form may leave it out.
            let in_words = matches!(category, Some("zero" | "one" | "two"));
            let found = places(text);
            assert!(
                found == wanted[key] || in_words && found.is_empty(),
                "{tag}: {key}: {text}"
            );
            assert!(
                !text.trim().is_empty() && text.trim() == text,
                "{tag}: {key}: {text:?}"
            );
        }
    }
}

#[test]
fn a_message_that_counts_has_exactly_the_plural_forms_of_its_language() {
    for locale in all() {
        let wanted: BTreeSet<&str> = locale.plural_categories().into_iter().collect();
        let mut forms: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for variant in locale.variants() {
            if let Some(category) = variant.category {
                forms.entry(variant.key).or_default().insert(category);
            }
        }
        for (key, found) in forms {
            assert_eq!(found, wanted, "{}: {key}", locale.tag());
        }
    }
}

#[test]
fn slavic_and_arabic_counts_are_right() {
    let rows = |tag: &str, numbers: &[u64]| {
        let locale = Locale::load(tag).unwrap();
        let said = numbers
            .iter()
            .map(|n| locale.counted("table.rows", *n, &[]));
        said.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(rows("en", &[0, 1, 2]), "0 rows, 1 row, 2 rows");
    assert_eq!(
        rows("uk", &[1, 3, 5, 11, 21, 22]),
        "1 рядок, 3 рядки, 5 рядків, 11 рядків, 21 рядок, 22 рядки"
    );
    assert_eq!(
        rows("pl", &[1, 2, 5, 22]),
        "1 wiersz, 2 wiersze, 5 wierszy, 22 wiersze"
    );
    assert_eq!(
        rows("ar", &[0, 1, 2, 3, 11, 100]),
        "لا صفوف, صف واحد, صفان, 3 صفوف, 11 صفًا, 100 صف"
    );
    assert_eq!(rows("ro", &[1, 2, 20]), "1 rând, 2 rânduri, 20 de rânduri");
}

#[test]
fn no_message_holds_markup_or_letters_that_reorder_others() {
    let banned = [
        '|', '*', '_', '<', '>', '[', ']', '`', '\\', '$', '&', '#', '%', '~', '^',
    ];
    for locale in all() {
        for Variant { key, text, .. } in locale.variants() {
            // These stand on the page alone, which escapes them; they name variables and files.
            if matches!(key.rsplit_once('.'), Some((owner, "about")) if owner.starts_with("experiment."))
            {
                continue;
            }
            let reorders = |c: char| matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            let bad = text.contains(banned) || text.contains(reorders);
            assert!(!bad, "{}: {key}: {text}", locale.tag());
        }
    }
}

/// What of an experiment is translated, by key.
fn english_words(experiment: &Experiment) -> Vec<(String, String)> {
    let key = |part: &str| format!("experiment.{}.{part}", experiment.name());
    let mut words = vec![
        (key("title"), experiment.title().to_owned()),
        (key("about"), experiment.about().to_owned()),
    ];
    if let Some((table, _)) = &experiment.readout().table {
        words.push((key("caption"), table.caption.clone()));
    }
    words
}

#[test]
fn the_translations_are_of_what_the_experiments_say_now() {
    let english = Locale::load("en").unwrap();
    let known = messages(&english);
    let mut used = BTreeSet::new();
    for experiment in &Experiments::load(&[root().join("experiments")]).unwrap() {
        for (key, words) in english_words(experiment) {
            assert_eq!(
                known.get(&(key.as_str(), None)),
                Some(&words.as_str()),
                "{key}"
            );
            used.insert(key);
        }
    }
    let strays = known
        .keys()
        .filter(|(key, _)| key.starts_with("experiment."));
    let strays: Vec<_> = strays.filter(|(key, _)| !used.contains(*key)).collect();
    assert!(
        strays.is_empty(),
        "translations of no experiment: {strays:?}"
    );
}

#[test]
fn every_title_of_a_plot_is_translated_and_every_translation_is_of_one() {
    let english = Locale::load("en").unwrap();
    let greek = Locale::load("el").unwrap();
    let known = messages(&english).into_iter();
    let mut unused: BTreeSet<&str> = known
        .filter(|((key, _), _)| key.starts_with("plot.title."))
        .map(|(_, text)| text)
        .collect();
    for experiment in &Experiments::load(&[root().join("experiments")]).unwrap() {
        if let Some(plot) = &experiment.readout().plot {
            assert_eq!(english.plot_title(experiment), plot.title);
            let name = experiment.name();
            assert_ne!(greek.plot_title(experiment), plot.title, "{name}");
            unused.remove(plot.title.as_str());
        }
    }
    assert!(unused.is_empty(), "titles of no plot: {unused:?}");
}

/// The numbers that a text writes with digits.
fn numbers(text: &str) -> Vec<String> {
    let mut numbers = Vec::new();
    for word in text.split(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ',')) {
        let word = word.trim_matches(['.', ',']);
        if !word.is_empty() {
            numbers.push(word.replace(',', ""));
        }
    }
    numbers
}

#[test]
fn a_number_in_an_english_text_stands_in_every_translation_as_its_readers_write_it() {
    let english = Locale::load("en").unwrap();
    for locale in all() {
        let translated = messages(&locale);
        for Variant {
            key,
            text,
            category,
        } in english.variants()
        {
            for number in numbers(text) {
                let written = locale.number(decimal(&number));
                let translation = translated[&(key, category)];
                let found = translation.contains(&written);
                assert!(
                    found,
                    "{}: {key}: {written} is not in: {translation}",
                    locale.tag()
                );
            }
        }
    }
}

/// The keys that the sources name, as in `text("plot.turns"`.
fn named_keys() -> BTreeSet<String> {
    let key = Regex::new(r#""((?:table|plot|report|compared)(?:\.[a-z_]+)+)""#).unwrap();
    let mut keys = BTreeSet::new();
    let mut open = vec![root().join("src")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
            continue;
        }
        let source = fs::read_to_string(&path).unwrap();
        for found in key.captures_iter(&source) {
            let end = found[1].rsplit('.').next().unwrap_or_default();
            if !matches!(end, "csv" | "md" | "html" | "svg" | "png") {
                keys.insert(found[1].to_owned());
            }
        }
    }
    keys
}

#[test]
fn every_key_that_the_program_names_exists() {
    let english = Locale::load("en").unwrap();
    let known: BTreeSet<&str> = english.variants().map(|v| v.key).collect();
    let named = named_keys();
    assert!(named.contains("table.rows") && named.contains("compared.times_first"));
    let unknown: Vec<_> = named
        .iter()
        .filter(|key| !known.contains(key.as_str()))
        .collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn without_house_style_numbers_are_those_of_the_cldr() {
    let path = root().join("tests/data/locale_numbers.csv");
    let mut oracle = csv::Reader::from_path(path).unwrap();
    let header = oracle.headers().unwrap().clone();
    let usd: PicoUsd = "0.010780".parse().unwrap();
    let mut seen = Vec::new();
    for record in oracle.records() {
        let record = record.unwrap();
        let tag = record[0].to_owned();
        let wanted = |column: &str| {
            let index = header.iter().position(|name| name == column).unwrap();
            record[index].to_owned()
        };
        let with = |digits| {
            Locale::load(&tag)
                .unwrap()
                .with_numbers(NumberStyle::Cldr, digits)
        };
        let locale = with(Digits::Customary);
        for number in ["8864", "88649", "337299", "3.7", "0.010780"] {
            assert_eq!(
                locale.number(decimal(number)),
                wanted(&format!("n_{number}")),
                "{tag}"
            );
        }
        assert_eq!(locale.usd(usd), wanted("usd_0.010780_pattern"), "{tag}");
        assert_eq!(locale.percent(decimal("75")), wanted("pct_75"), "{tag}");
        let latin = with(Digits::Latin);
        assert_eq!(latin.count(337_299), wanted("latn_337299"), "{tag}");
        assert_eq!(latin.usd(usd), wanted("latn_usd_0.010780"), "{tag}");
        assert_eq!(latin.percent(decimal("75")), wanted("latn_pct_75"), "{tag}");
        seen.push(tag);
    }
    assert_eq!(seen, Locale::tags());
}

#[test]
fn house_style() {
    let usd: PicoUsd = "0.010780".parse().unwrap();
    let change = |locale: &Locale, value: &str, unit| {
        let (value, sign) = (decimal(value), Sign::Change);
        locale.figure(&Figure::Number(Amount { value, unit, sign }))
    };
    let lines = all().into_iter().map(|locale| {
        format!(
            "{:<8}{} {} {} {} {} {} {}",
            locale.tag(),
            locale.count(3_431),
            locale.count(337_299),
            locale.times(decimal("3.7")),
            locale.usd(usd),
            locale.percent(decimal("75")),
            change(&locale, "-0.001050", Unit::Usd),
            change(&locale, "-75", Unit::Percent),
        )
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
}

#[test]
fn native_digits_come_when_asked_for() {
    let native = |tag: &str| {
        let locale = Locale::load(tag).unwrap();
        locale
            .with_numbers(NumberStyle::Cldr, Digits::Native)
            .count(337_299)
    };
    let tags = ["ar", "fa", "hi", "bn", "th", "el"];
    let written = tags.map(native);
    assert_eq!(
        written,
        [
            "٣٣٧٬٢٩٩",
            "۳۳۷٬۲۹۹",
            "३,३७,२९९",
            "৩,৩৭,২৯৯",
            "๓๓๗,๒๙๙",
            "337.299"
        ]
    );
    // In house style dollars stay as the program prints them, whatever the digits.
    let arabic = Locale::load("ar")
        .unwrap()
        .with_numbers(NumberStyle::House, Digits::Native);
    assert_eq!(arabic.usd("0.010780".parse().unwrap()), "$0.010780");
}

/// A language's file with other lines under `[house]`.
fn with_house(tag: &str, house: &str) -> Locale {
    let text = fs::read_to_string(root().join(format!("locales/{tag}.toml"))).unwrap();
    let (before, rest) = text.split_once("[house]\n").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let text = format!("{before}[house]\n{house}\n\n{after}");
    let document = Document::parse("house.toml", &text).unwrap();
    Locale::from_document(tag, &document).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_house_may_group_with_commas_beside_a_decimal_comma() {
    let house = with_house("de", "group = \",\"");
    assert_eq!(house.count(337_299), "337,299");
    assert_eq!(house.number(decimal("3.7")), "3,7");
    assert_eq!(house.number(decimal("3000.25")), "3,000,25");
    assert_eq!(house.usd("0.010780".parse().unwrap()), "0,010780\u{a0}$");
    let spanish = |grouping: &str| with_house("es", &format!("grouping = \"{grouping}\""));
    assert_eq!(spanish("locale").count(3_431), "3431");
    assert_eq!(spanish("always").count(3_431), "3.431");
    assert_eq!(spanish("always").count(88_649), "88.649");
    assert_eq!(with_house("el", "grouping = \"five\"").count(3_431), "3431");
    assert_eq!(
        with_house("el", "grouping = \"five\"").count(88_649),
        "88.649"
    );
}

#[test]
fn an_unknown_language_comes_with_a_guess_and_case_does_not_matter() {
    assert_eq!(Locale::load("pt_br").unwrap().tag(), "pt-BR");
    let error = Locale::load("zh-Hand").unwrap_err().to_string();
    assert!(error.contains("zh-Han"), "{error}");
}

#[test]
fn what_is_wrong_in_a_file_is_told_with_its_place() {
    let text = fs::read_to_string(root().join("locales/en.toml")).unwrap();
    let broken =
        text.replacen("turns = \"turns\"", "turns = 3", 1)
            .replacen("{ one = ", "{ single = ", 1);
    let document = Document::parse("xx.toml", &broken).unwrap();
    let error = Locale::from_document("en", &document)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("not a text") && error.contains("plural category"),
        "{error}"
    );
    assert!(error.contains("xx.toml:"), "{error}");
    let document = Document::parse("xx.toml", &text).unwrap();
    let error = Locale::from_document("not a tag", &document)
        .unwrap_err()
        .to_string();
    assert!(error.contains("BCP 47"), "{error}");
}

#[test]
fn every_language_file_is_embedded() {
    let files = fs::read_dir(root().join("locales")).unwrap();
    let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), Locale::tags().len());
}

thread_local! {
    static ENGLISH: Locale = Locale::load("en").unwrap();
}

proptest! {
    #[test]
    fn english_is_what_the_program_prints(
        mantissa in -10_i64.pow(14)..10_i64.pow(14), scale in 0_u32..8, unit in 0_usize..4, change: bool,
    ) {
        let value = Decimal::new(mantissa, scale);
        let unit = [Unit::None, Unit::Usd, Unit::Times, Unit::Percent][unit];
        let sign = if change { Sign::Change } else { Sign::Amount };
        let figure = Figure::Number(Amount { value, unit, sign });
        prop_assert_eq!(ENGLISH.with(|english| english.figure(&figure)), Figures::ENGLISH.say(&figure));
    }
}
