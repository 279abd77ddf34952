//! The numbers of translations: sentences of many languages, the samples, and the command.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::print_stdout,
    reason = "each wrong digit is printed for who wants to repeat it"
)]

#[path = "prose/command.rs"]
mod command;
#[path = "prose/samples.rs"]
mod samples;

use std::path::PathBuf;
use std::sync::LazyLock;

use loopmeter::experiment::Experiments;
use loopmeter::report::prose::{
    Constants, Edition, Ledger, Locale, Number, Report, Standing, Status, check,
};
use proptest::prelude::*;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

static LEDGER: LazyLock<Ledger> = LazyLock::new(|| {
    let experiments = Experiments::load(&[root().join("experiments")]);
    let experiments = experiments.unwrap_or_else(|error| panic!("{error}"));
    let constants = Constants::embedded().unwrap_or_else(|error| panic!("{error}"));
    let mut ledger = Ledger::new(&experiments, &constants).unwrap();
    ledger.add_results(&root().join("results")).unwrap();
    ledger
});

fn edition(name: &str, text: &str) -> Edition {
    let locale = Locale::parse(name.split('.').next().unwrap()).unwrap();
    let mut edition = Edition::default();
    edition.add(name, text, &locale, &LEDGER);
    edition
}

fn complaints(report: &Report) -> Vec<String> {
    let wrong = report
        .edition
        .numbers
        .iter()
        .filter(|number| !number.is_fine());
    wrong.map(|number| report.line(number)).collect()
}

fn standing_of(text: &str, written: &str) -> Standing {
    let report = check(edition("en.txt", text), None, &LEDGER).unwrap();
    let found = report
        .edition
        .numbers
        .iter()
        .find(|number| number.text == written);
    found
        .unwrap_or_else(|| panic!("no {written:?} in {text:?}"))
        .standing
        .clone()
}

#[test]
fn a_known_number_is_known_in_every_style_and_script() {
    for text in [
        "337,299",
        "337.299",
        "337 299",
        "337\u{A0}299",
        "337\u{202F}299",
        "337’299",
        "337'299",
        "3,37,299",
        "337299",
        "٣٣٧٬٢٩٩",
        "۳۳۷٬۲۹۹",
        "३,३७,२९९",
        "৩,৩৭,২৯৯",
        "３３７，２９９",
        "๓๓๗,๒๙๙",
        "$0.010780",
        "0,010780 $",
        "US$ 0,010780",
        "‏0.010780 US$",
        "۰٫۰۱۰۷۸۰",
        "0.01078",
        "75 %",
        "75%",
        "%75",
        "٧٥٪",
        "75‎%‎",
        "75\u{202F}%",
        "3,7",
        "3.7",
        "٣٫٧",
        "×3,7",
        "3.7×",
        "6,908ms",
        "6.908 s",
        "6 908",
    ] {
        let report = check(edition("fr.txt", text), None, &LEDGER).unwrap();
        let [number] = report.edition.numbers.as_slice() else {
            panic!("{text:?}: {:?}", report.edition.numbers)
        };
        assert!(number.is_fine(), "{}", report.line(number));
        assert_eq!(report.status(number), Status::Claim, "{text}");
    }
}

#[test]
fn a_number_beside_another_in_a_list_is_two_numbers() {
    for text in [
        "204,269,342",
        "204 269 342",
        "204，269，342",
        "[204,269,342]",
        "8 204",
    ] {
        let report = check(edition("ja.txt", text), None, &LEDGER).unwrap();
        assert_eq!(complaints(&report), [""; 0], "{text}");
        assert!(report.edition.numbers.len() > 1, "{text}");
    }
}

#[test]
fn a_near_miss_contradicts_and_any_other_number_is_covered_by_nothing() {
    for wrong in [
        "337,229",
        "373,299",
        "33,299",
        "3,372,999",
        "$0.010790",
        "76 %",
        "3.6",
        "$2.10",
        "88 648",
    ] {
        let standing = standing_of(
            &format!("so {wrong} it is"),
            wrong.trim_matches(['$', '%', ' ']),
        );
        assert!(
            matches!(standing, Standing::Contradicts(_)),
            "{wrong}: {standing:?}"
        );
    }
    for other in ["4711", "61", "999,999", "7.0.94", "2026-09-08", "$7"] {
        let standing = standing_of(&format!("so {other} it is"), other.trim_start_matches('$'));
        assert_eq!(standing, Standing::Uncovered, "{other}");
    }
}

#[test]
fn a_line_of_output_is_held_to_the_run_that_it_is_of() {
    assert!(matches!(
        standing_of("turns=3  cost=$0.001570  messages=6", "3"),
        Standing::Contradicts(_)
    ));
    assert!(matches!(
        standing_of("turns=2  cost=$0.001570  messages=6", "2"),
        Standing::Covered(_)
    ));
}

#[test]
fn a_wrong_constant_shows_where_the_numbers_around_it_are_those_of_the_reference() {
    let right = "Chapter 14: the cap from 50 to 100 turns multiplies the input by 3.8.";
    let reference = edition("en.txt", right);
    for (from, to) in [("50", "70"), ("100", "200"), ("14", "16")] {
        let wrong = edition("en.txt", &right.replace(from, to));
        let alone = check(wrong.clone(), None, &LEDGER).unwrap();
        assert_eq!(alone.tally().contradictions, 0, "{to} is a constant, too");
        let beside = check(wrong, Some(&reference), &LEDGER).unwrap();
        assert_eq!(beside.tally().contradictions, 1, "{from} became {to}");
    }
    let same = check(edition("en.txt", right), Some(&reference), &LEDGER).unwrap();
    assert_eq!(same.tally().contradictions, 0);
}

#[test]
fn what_one_language_writes_in_words_or_elsewhere_in_the_sentence_is_no_contradiction() {
    let reference = edition(
        "el.txt",
        "Από 88.649 σε 337.299 στα εκατό· τρία από τα 5, και Κεφάλαιο 14: 429.",
    );
    let other = edition(
        "ja.txt",
        "100で88,649から337,299へ。5つのうち3つ。429、第14章。",
    );
    let report = check(other, Some(&reference), &LEDGER).unwrap();
    assert_eq!(complaints(&report), [""; 0]);
}

/// Sentences that were once complained about, each right, in the language of its file.
const RIGHT: [(&str, &str); 13] = [
    (
        "fr.txt",
        "Coût par budget :\n0,005 $\t6\t0,006034 $\n0,050 $\t24\t0,051790 $\n",
    ),
    (
        "fr.md",
        "Lire la note[5], puis § 14.3 : en moyenne 6\u{202F}908 ms, presque 6,9 s.",
    ),
    (
        "fr.html",
        "<p>+75&#8239;%, soit 0,001050&nbsp;$ ; 88&#x202F;649 &rarr; 337&thinsp;299</p>",
    ),
    (
        "de.md",
        "## 23.1 Grenzen\n\n| in Worten | 1,9× | 4,7× |\n\n## 23.2 Kosten\n",
    ),
    (
        "zh-Hans.html",
        "<p>输入涨到337,299个，约33.7万；每百万token２.００美元，平均6.908秒。</p>",
    ),
    (
        "ja.txt",
        "入力は33万7299トークン、平均は約6.9秒、停止まで２ミリ秒。75％増。",
    ),
    (
        "ko.md",
        "입력은 8만 8649토큰에서 33만 7299토큰으로, 평균 6.9초.",
    ),
    (
        "hi.md",
        "इनपुट ३,३७,२९९ टोकन; दस लाख यानी 10,00,000 पर $2.00।",
    ),
    (
        "ar.html",
        "<p dir=rtl>بزيادة ٪٧٥، من 88,649 إلى ٣٣٧٬٢٩٩، بدل ‎$0.010‎ أُنفق ‎$0.010780‎.</p>",
    ),
    (
        "fa.txt",
        "میانگین ۶٬۹۰۸ میلی‌ثانیه؛ در تاریخ ۱۴۰۵/۶/۱۶ خوانده شد.",
    ),
    ("th.txt", "อ่านเมื่อ 7/9/2569 อินพุต ๓๓๗,๒๙๙ โทเคน เพิ่มขึ้น 75%"),
    (
        "uk.md",
        "Хід тривав 6 908 мс (6,9 с), а Stop за 1,2 с спрацював на 1 202 мс.",
    ),
    (
        "sv.md",
        "Kodad med o200k_base, UTF-8 och HTTP/1.1; GPT-4o och SHA-256 nämns, se RFC 9110.",
    ),
];

#[test]
fn right_sentences_of_many_languages_have_nothing_wrong() {
    for (name, text) in RIGHT {
        let report = check(edition(name, text), None, &LEDGER).unwrap();
        assert_eq!(complaints(&report), [""; 0], "{name}");
    }
}

#[test]
fn a_rounded_figure_is_known_and_a_wrongly_rounded_one_is_not() {
    for (right, wrong) in [
        ("6.9 s", "6.8 s"),
        ("33.7万", "33.8万"),
        ("約8.9万", "約8.8万"),
        ("33万7299", "33万7229"),
    ] {
        let complain =
            |text: &str| complaints(&check(edition("ja.txt", text), None, &LEDGER).unwrap()).len();
        assert_eq!((complain(right), complain(wrong)), (0, 1), "{right}");
    }
}

#[test]
fn numbers_of_the_reference_that_are_left_out_are_not_looked_for_in_others_nearby() {
    let reference = edition(
        "el.txt",
        "Το Κεφάλαιο 13, μετά το Κεφάλαιο 14 και πάλι το 14· δεκαπέντε ms, 29 και 30 κεφάλαια.",
    );
    for text in [
        "Chapitre 13 : le 1er jeton, chapitre 14, puis 15 ms.",
        "Kapitel 13 und 14: 15 ms.",
        "अध्याय 13, 14; 50 करोड़।",
    ] {
        let report = check(edition("fr.txt", text), Some(&reference), &LEDGER).unwrap();
        assert_eq!(complaints(&report), [""; 0], "{text}");
    }
}

#[test]
fn texts_made_to_be_slow_are_read_to_their_end() {
    for unit in [
        "1,",
        "1.",
        "1 234 ",
        "<",
        "<a ",
        "<a '",
        "$n",
        "$$",
        "`",
        "`` ` ",
        "[^",
        "](",
        "![](",
        "://",
        "&",
        "<!--",
        "**",
        "9",
        "x9",
        "12,345,678.",
        "\n1. ",
        "1e",
        "\u{200F}1",
        "٣٬",
        "<sup>",
        "<code>",
        "=1",
    ] {
        let text = unit.repeat(10_000 / unit.len());
        for name in ["en.txt", "en.md", "en.html"] {
            let report = check(edition(name, &text), None, &LEDGER).unwrap();
            assert!(report.edition.numbers.len() <= text.len());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_text_is_read_without_fault(
        text in prop_oneof![
            any::<String>(),
            "[0-9.,'  $%\u{660}-\u{669}०-९０-９万a-z<>&;`*_\\[\\]()!\n=:/-]{0,200}",
        ],
    ) {
        let text = text.replace('\0', "");
            for name in ["de.txt", "de.md", "de.html"] {
                let read = edition(name, &text);
                for number in &read.numbers {
                    let line = text.split('\n').nth(number.place.line - 1).unwrap();
                    prop_assert!(number.place.column <= line.chars().count());
                }
                let reference = edition(name, &text);
                let before: Vec<bool> = read.numbers.iter().map(Number::is_fine).collect();
                let report = check(read, Some(&reference), &LEDGER).unwrap();
                let after: Vec<bool> = report.edition.numbers.iter().map(Number::is_fine).collect();
                prop_assert!(before.iter().zip(&after).all(|(before, after)| *before || !after));
            }
    }
}
