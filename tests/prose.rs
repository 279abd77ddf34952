//! The numbers of translations: six samples in six scripts, and two hundred mistakes in them.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::print_stdout,
    reason = "each wrong digit is printed for who wants to repeat it"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assert_cmd::Command;
use loopmeter::document::Document;
use loopmeter::experiment::Experiments;
use loopmeter::report::prose::{
    Constants, Edition, Ledger, Locale, Number, Report, Standing, Status, check,
};
use proptest::prelude::*;

const SAMPLES: [&str; 6] = ["en.md", "uk.md", "el.txt", "ar.html", "hi.md", "ja.md"];

/// Of two hundred wrong digits, how many are found without an edition to compare with. The others
/// are numbers of one or two digits that happen to be another known number.
const FOUND_ALONE: usize = 130;

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

fn sample(name: &str) -> String {
    fs::read_to_string(root().join("tests/fixtures/prose").join(name)).unwrap()
}

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

#[test]
fn the_unchanged_samples_have_nothing_wrong_whichever_of_them_is_the_reference() {
    for name in SAMPLES {
        for reference in SAMPLES {
            let reference = edition(reference, &sample(reference));
            let report = check(edition(name, &sample(name)), Some(&reference), &LEDGER);
            assert_eq!(complaints(&report.unwrap()), [""; 0], "{name}");
        }
        let report = check(edition(name, &sample(name)), None, &LEDGER).unwrap();
        assert_eq!(complaints(&report), [""; 0], "{name}");
    }
}

#[test]
fn every_sample_quotes_every_published_figure() {
    let figures = fs::read_to_string(root().join("tests/data/figures.toml")).unwrap();
    let figures = Document::parse("figures.toml", &figures).unwrap();
    let ids = figures.json()["figure"].as_array().unwrap().iter();
    let ids: Vec<&str> = ids.map(|figure| figure["id"].as_str().unwrap()).collect();
    for name in SAMPLES {
        let report = check(edition(name, &sample(name)), None, &LEDGER).unwrap();
        let missing: BTreeMap<&str, &[String]> = report
            .claims
            .iter()
            .map(|claim| (claim.id.as_str(), claim.missing.as_slice()))
            .collect();
        for id in &ids {
            assert_eq!(missing.get(id), Some(&[].as_slice()), "{name}: {id}");
        }
    }
}

/// A generator of numbers that are the same on every machine.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let below = (mixed ^ (mixed >> 31)) % u64::try_from(limit).unwrap();
        usize::try_from(below).unwrap()
    }
}

/// The zero of the script that a digit belongs to.
fn zero_of(digit: char) -> Option<char> {
    let zeros = ['0', '٠', '०', '０'];
    zeros
        .into_iter()
        .find(|zero| (0..10).contains(&(i64::from(u32::from(digit)) - i64::from(u32::from(*zero)))))
}

/// The text with one digit of a number changed, and what the number was and is.
fn with_one_wrong_digit(text: &str, number: &Number, dice: &mut Dice) -> (String, String) {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let above: usize = lines[..number.place.line - 1]
        .iter()
        .map(|line| line.len())
        .sum();
    let line = lines[number.place.line - 1].char_indices();
    let start = above + line.clone().nth(number.place.column - 1).unwrap().0;
    let digits: Vec<(usize, char)> = text[start..]
        .char_indices()
        .filter(|(_, c)| zero_of(*c).is_some())
        .take(
            number
                .text
                .chars()
                .filter(|c| zero_of(*c).is_some())
                .count(),
        )
        .collect();
    let (at, old) = digits[dice.below(digits.len())];
    let zero = zero_of(old).unwrap();
    let value = u32::from(old) - u32::from(zero);
    let other = (value + 1 + u32::try_from(dice.below(9)).unwrap()) % 10;
    let new = char::from_u32(u32::from(zero) + other).unwrap();
    let at = start + at;
    let changed = format!("{}{new}{}", &text[..at], &text[at + old.len_utf8()..]);
    (
        changed,
        format!(
            "{}:{} {}: {old} → {new}",
            number.place, number.text, number.around
        ),
    )
}

#[test]
fn two_hundred_wrong_digits_are_all_found_beside_a_reference_and_many_without() {
    let mut dice = Dice(20_260_907);
    let mut alone = 0;
    let mut missed = Vec::new();
    for round in 0..200 {
        let name = SAMPLES[round % SAMPLES.len()];
        let reference = if name == "en.md" { "el.txt" } else { "en.md" };
        let reference = edition(reference, &sample(reference));
        let text = sample(name);
        let whole = check(edition(name, &text), None, &LEDGER).unwrap();
        let quoted: Vec<&Number> = whole
            .edition
            .numbers
            .iter()
            .filter(|number| whole.status(number) == Status::Claim)
            .collect();
        let number = quoted[dice.below(quoted.len())];
        let (changed, what) = with_one_wrong_digit(&text, number, &mut dice);
        let by_itself = check(edition(name, &changed), None, &LEDGER).unwrap();
        let found_alone = !complaints(&by_itself).is_empty();
        let beside = check(edition(name, &changed), Some(&reference), &LEDGER).unwrap();
        let found_beside = beside
            .edition
            .numbers
            .iter()
            .any(|number| number.place.line == quoted_line(&what) && !number.is_fine());
        println!("{name}:{what}  alone: {found_alone}, beside a reference: {found_beside}");
        alone += usize::from(found_alone);
        if !found_beside {
            missed.push(format!("{name}:{what}"));
        }
    }
    println!(
        "found of 200: {} beside a reference, {alone} alone",
        200 - missed.len()
    );
    assert!(missed.is_empty(), "missed:\n{}", missed.join("\n"));
    assert!(alone >= FOUND_ALONE, "only {alone} found alone");
}

/// The line of a change.
fn quoted_line(what: &str) -> usize {
    what.split(':').next().unwrap().parse().unwrap()
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

fn prose(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::cargo_bin("loopmeter")
        .unwrap()
        .current_dir(folder)
        .arg("prose")
        .args(args)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn the_exit_code_and_the_place_tell_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| fs::write(folder.path().join(name), text).unwrap();
    write("right.txt", "Від 88 649 до 337 299.\n".as_bytes());
    write(
        "near.txt",
        "Добре.\nВід 88 649 до 337 229, і 4711.\n".as_bytes(),
    );
    write("other.txt", b"4711\n");
    let run = |args: &[&str]| prose(folder.path(), &[&["--locale", "uk"], args].concat());

    let (code, out, _) = run(&["right.txt"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(
        out.contains("right.txt:1:5: 88 649 claim turn_cap.50.prompt_tokens\n"),
        "{out}"
    );

    let (code, out, _) = run(&["near.txt", "--quiet"]);
    assert_eq!(code, Some(1));
    let found = "near.txt:2:15: 337 229 contradicts 337299 (turn_cap.100.prompt_tokens): one digit differs\n    … Від 88 649 до 337 229, і 4711. …\n";
    assert!(out.starts_with(found), "{out}");

    assert_eq!(run(&["other.txt"]).0, Some(1));
    assert_eq!(run(&["other.txt", "--lenient"]).0, Some(0));
    assert_eq!(run(&["near.txt", "--lenient"]).0, Some(1));
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
fn a_reference_without_a_number_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("de.txt"), "Mal 3,8.\n").unwrap();
    fs::write(folder.path().join("empty.txt"), "\n").unwrap();
    let args = ["--locale", "de", "de.txt", "--reference", "empty.txt"];
    let (code, _, told) = prose(folder.path(), &args);
    assert_eq!(code, Some(2));
    assert!(told.contains("there is no number in it"), "{told}");
}

#[test]
fn a_wrong_digit_that_is_another_claim_shows_beside_the_reference() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write(
        "el.txt",
        "Από 50 σε 100 επί 3,7. Είσοδος 88.649, 337.299, επί 3,8.\nturns=3 status=completed\n",
    );
    write(
        "de.txt",
        "Von 50 auf 100 mal 3,8. Eingabe 88.649, 337.299, mal 3,8.\nturns=2 status=completed\n",
    );
    let args = ["--locale", "de", "de.txt", "--quiet"];
    assert_eq!(prose(folder.path(), &args).0, Some(0));
    let (code, out, _) = prose(
        folder.path(),
        &[args.as_slice(), &["--reference", "el.txt"]].concat(),
    );
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("de.txt:1:20: 3,8 contradicts the reference, which has 3,7"),
        "{out}"
    );
    assert!(
        out.contains("de.txt:2:7: 2 contradicts the reference, which has 3"),
        "{out}"
    );
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

/// The keys of a JSON object, in order.
fn keys(value: &serde_json::Value) -> String {
    let keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.join(" ")
}

#[test]
fn json_has_the_keys_that_scripts_rely_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a,b.md"), "50 %: 75%, then 337,229.\n").unwrap();
    let (code, out, _) = prose(
        folder.path(),
        &["--locale", "en", "a,b.md", "--format", "json"],
    );
    assert_eq!(code, Some(1));
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(keys(&json), "locale files tally asides numbers claims");
    let tally = "numbers claims rows constants contradictions uncovered";
    assert_eq!(keys(&json["tally"]), tally);
    let number = &json["numbers"][2];
    let expected = "file line column text around values unit key status matches contradicts";
    assert_eq!(keys(number), expected);
    assert_eq!(
        (number["line"].as_u64(), number["column"].as_u64()),
        (Some(1), Some(17))
    );
    assert_eq!(
        number["contradicts"]["ids"][0],
        "turn_cap.100.prompt_tokens"
    );
    assert_eq!(json["numbers"][1]["matches"][0], "repeat.extra_percent");
    let claims = json["claims"].as_array().unwrap();
    let quoted = claims
        .iter()
        .find(|claim| claim["id"] == "repeat.extra_percent")
        .unwrap();
    assert_eq!(keys(quoted), "id status published missing");
    assert_eq!(quoted["status"], "quoted");
}

#[test]
fn annotations_name_the_place_and_escape_what_would_end_them() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a,b.md"), "50 %: 75%, then 337,229.\n").unwrap();
    let (_, out, _) = prose(
        folder.path(),
        &["--locale", "en", "a,b.md", "--format", "github"],
    );
    let first =
        "::error file=a%2Cb.md,line=1,col=1,title=uncovered number::50 is covered by nothing";
    assert!(out.starts_with(first), "{out}");
    assert!(out.contains("::error file=a%2Cb.md,line=1,col=17,title=contradicted number::337,229 contradicts 337299"), "{out}");
    assert!(out.contains("50 %25: 75%25"), "{out}");
}

#[test]
fn files_that_are_no_texts_are_all_named_and_nothing_is_checked() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("fine.txt"), "4711").unwrap();
    fs::write(path("latin.txt"), b"one\ncaf\xe9\n").unwrap();
    fs::write(path("image.png"), b"\x89PNG\0").unwrap();
    fs::write(path("zero.txt"), b"1\0").unwrap();
    fs::File::create(path("large.txt"))
        .unwrap()
        .set_len(100 << 20)
        .unwrap();
    let files = [
        "fine.txt",
        "latin.txt",
        "image.png",
        "zero.txt",
        "large.txt",
        "gone.txt",
        ".",
    ];
    let (code, out, errors) = prose(
        folder.path(),
        &[&["--locale", "en"], files.as_slice()].concat(),
    );
    assert_eq!((code, out.as_str()), (Some(2), ""));
    for said in [
        "latin.txt:2:4: not UTF-8",
        "image.png:1:1: not UTF-8",
        "zero.txt:1:2: a zero byte",
        "large.txt: too large",
        "gone.txt: cannot be read",
        ".: not a regular file",
    ] {
        assert!(errors.contains(said), "{said}: {errors}");
    }
    assert_eq!(
        prose(folder.path(), &["--locale", "x", "fine.txt"]).0,
        Some(2)
    );
    assert_eq!(prose(folder.path(), &["--locale", "en"]).0, Some(2));
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
