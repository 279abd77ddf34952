//! `loopmeter report`: one page of HTML for each language, and nothing outside it.
#![cfg(feature = "cli")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assert_cmd::Command;
use loopmeter::experiment::Experiments;
use loopmeter::report::Locale;
use scraper::{ElementRef, Html, Node, Selector};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn loopmeter(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::cargo_bin("loopmeter").unwrap();
    command.args(args).current_dir(folder);
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    let both = [output.stdout.as_slice(), &output.stderr].concat();
    String::from_utf8_lossy(&both).into_owned()
}

/// Writes pages with these arguments and returns the folder.
#[track_caller]
fn pages(args: &[&str]) -> tempfile::TempDir {
    let out = tempfile::tempdir().unwrap();
    let to = out.path().to_str().unwrap();
    let output = loopmeter(&root(), &[&["report", "--out", to], args].concat());
    assert!(output.status.success(), "{}", said(&output));
    out
}

fn all<'h>(html: &'h Html, selector: &str) -> Vec<ElementRef<'h>> {
    let selector = Selector::parse(selector).unwrap();
    html.select(&selector).collect()
}

fn text(element: &ElementRef<'_>) -> String {
    let text: String = element.text().collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn attributes<'h>(html: &'h Html, name: &str) -> Vec<&'h str> {
    let elements = all(html, "*").into_iter();
    elements.filter_map(|one| one.value().attr(name)).collect()
}

/// Reads a page, and holds it to what every page has to be.
#[track_caller]
fn read(page: &str, place: &str) -> Html {
    let html = Html::parse_document(page);
    assert!(html.errors.is_empty(), "{place}: {:?}", html.errors);
    let ids = attributes(&html, "id");
    let once: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(once.len(), ids.len(), "{place}: an id stands twice");
    for link in all(&html, "a, use") {
        let href = link.value().attr("href").unwrap();
        let target = href.strip_prefix('#');
        assert!(
            target.is_some_and(|id| once.contains(id)),
            "{place}: {href}"
        );
    }
    for name in ["aria-labelledby", "aria-describedby"] {
        for id in attributes(&html, name)
            .iter()
            .flat_map(|ids| ids.split(' '))
        {
            assert!(once.contains(id), "{place}: {name}={id}");
        }
    }
    stands_alone(page, &html, place);
    html
}

/// Nothing is fetched, and nothing runs.
#[track_caller]
fn stands_alone(page: &str, html: &Html, place: &str) {
    let fetch =
        "script, img, iframe, object, embed, base, form, source, image, audio, video, a[target]";
    assert!(all(html, fetch).is_empty(), "{place}");
    for element in all(html, "*") {
        for (name, value) in element.value().attrs() {
            let fetches = ["src", "srcset", "data", "background", "ping", "action"].contains(&name);
            assert!(
                !fetches && !name.starts_with("on"),
                "{place}: {name}={value}"
            );
            let namespace = name.starts_with("xmlns");
            assert!(
                namespace || !value.contains("//"),
                "{place}: {name}={value}"
            );
        }
    }
    let links = all(html, "link");
    let links: Vec<_> = links.iter().map(|link| link.value().attr("href")).collect();
    assert_eq!(links, [Some("data:,")], "{place}");
    let style: String = all(html, "style").iter().map(text).collect();
    // A font that the page carries is not fetched from anywhere.
    let style = style.replace("url(data:font/otf;base64,", "");
    assert!(!style.is_empty() && !page.contains("<?"), "{place}");
    for word in ["url(", "@import", "expression("] {
        assert!(!style.contains(word), "{place}: {word}");
    }
}

#[test]
fn what_it_is_told_and_how() {
    insta::assert_snapshot!("help", said(&loopmeter(&root(), &["report", "--help"])));
}

#[test]
fn every_language_has_a_whole_page_of_its_own() {
    let out = pages(&["--locale", "all"]);
    let experiments = Experiments::load(&[root().join("experiments")]).unwrap();
    let claims: usize = experiments
        .iter()
        .map(|one| one.readout().claims.len())
        .sum();
    let plots = experiments
        .iter()
        .filter(|one| one.readout().plot.is_some());
    let plots = plots.count();
    for tag in Locale::tags() {
        let locale = Locale::load(tag).unwrap();
        let page = fs::read_to_string(out.path().join(format!("{tag}.html"))).unwrap();
        let html = read(&page, tag);
        let whole = html.root_element().value();
        assert_eq!(whole.attr("lang"), Some(tag));
        assert_eq!(whole.attr("dir"), Some(locale.dir()), "{tag}");
        let carries = page.contains("@font-face");
        let needs = [
            "ar", "fa", "he", "hi", "bn", "th", "ja", "ko", "zh-Hans", "zh-Hant",
        ];
        assert_eq!(carries, needs.contains(&tag), "{tag}");
        let title = locale.text("report.title", &[]);
        assert_eq!(text(&all(&html, "title")[0]), title, "{tag}");
        assert_eq!(text(&all(&html, "h1")[0]), title, "{tag}");
        let counted = |selector: &str| all(&html, selector).len();
        assert_eq!(counted("main > section > h2"), experiments.len(), "{tag}");
        assert_eq!(counted("nav li > a"), experiments.len(), "{tag}");
        assert_eq!(counted(".rows table > caption"), experiments.len(), "{tag}");
        assert_eq!(counted("figure.plot svg"), plots, "{tag}");
        assert_eq!(counted(".claims tbody > tr"), claims, "{tag}");
        assert_eq!(counted(".not-held"), 0, "{tag}");
        let untranslated: Vec<_> = all(&html, "h2 bdi, .about bdi, caption bdi");
        assert!(
            untranslated.is_empty(),
            "{tag}: {:?}",
            text(&untranslated[0])
        );
        let words: String = html.root_element().text().collect();
        for sign in ["{n}", "{held}", "report.", "column.", "table.", "undefined"] {
            assert!(!words.contains(sign), "{tag}: {sign}");
        }
        // What the text says of its direction, it says by markup or in pairs.
        let opened = words.matches('\u{2066}').count();
        assert_eq!(opened, words.matches('\u{2069}').count(), "{tag}");
    }
}

/// The elements of a page outside its plots, with the beginning of what they say.
fn outline(element: ElementRef<'_>, depth: usize, lines: &mut String) {
    let value = element.value();
    let _ = write!(lines, "{}{}", "  ".repeat(depth), value.name());
    let mut attributes: Vec<_> = value.attrs().collect();
    attributes.sort_unstable();
    for (name, value) in attributes {
        let _ = write!(lines, " {name}={value:?}");
    }
    let own = element
        .children()
        .filter_map(|child| child.value().as_text());
    let own: String = own.map(|text| text.text.as_ref()).collect();
    let own = own.split_whitespace().collect::<Vec<_>>().join(" ");
    if !own.is_empty() && value.name() != "style" {
        let _ = write!(lines, ": {own}");
    }
    lines.push('\n');
    if value.name() == "svg" {
        return;
    }
    for child in element.children() {
        if matches!(child.value(), Node::Element(_)) {
            outline(ElementRef::wrap(child).unwrap(), depth + 1, lines);
        }
    }
}

#[test]
fn the_structure_of_a_page() {
    let args = [
        "--only",
        "cancel-real",
        "--only",
        "approval",
        "--locale",
        "en,ar",
    ];
    let out = pages(&args);
    for tag in ["en", "ar"] {
        let page = fs::read_to_string(out.path().join(format!("{tag}.html"))).unwrap();
        let mut lines = String::new();
        outline(read(&page, tag).root_element(), 0, &mut lines);
        insta::assert_snapshot!(format!("outline_{tag}"), lines);
    }
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (one, other) = (pages(&["--locale", "hi"]), pages(&["--locale", "hi"]));
    let read = |folder: &tempfile::TempDir| fs::read(folder.path().join("hi.html")).unwrap();
    assert!(read(&one) == read(&other));
}

#[test]
fn experiments_stand_in_the_order_that_they_ask_for() {
    let experiments = Experiments::load(&[root().join("experiments")]).unwrap();
    let mut wanted: Vec<_> = experiments.iter().collect();
    wanted.sort_by_key(|one| one.order().unwrap());
    let orders: BTreeSet<_> = wanted.iter().map(|one| one.order()).collect();
    assert_eq!(orders.len(), wanted.len(), "two have one place");
    let out = pages(&[]);
    let html = read(
        &fs::read_to_string(out.path().join("en.html")).unwrap(),
        "en",
    );
    let found = all(&html, "main > section");
    let found: Vec<_> = found
        .iter()
        .filter_map(|one| one.value().attr("id"))
        .collect();
    let wanted = wanted
        .iter()
        .map(|one| format!("experiment-{}", one.name()));
    assert_eq!(found, wanted.collect::<Vec<_>>());
}

/// An experiment that was written to be misread, in a file whose name was too.
const HOSTILE: &str = r#"
title = "</h2><script>alert(1)</script> \u202e&amp; \"quoted\" 'single'\nsecond"
about = "<img src=x onerror=alert(1)> `</code><b>` \u2066 and ` alone"

[settings]
scenario = "plan"
max_turns = 5

[[case]]
name = "</td><script>alert(2)</script>"
[[case]]
name = "נשר \u202e<b>"

[table]
caption = "</caption><iframe src=//evil.example>"
columns = ["case", "turns"]
headings = { turns = "<svg onload=alert(3)>" }

[plot]
kind = "prompt_tokens"

[[claim]]
id = "\"><script>alert(4)</script> x"
value = [3, 4]
cells = { column = "turns" }

[[claim]]
id = "claim.below"
value = 4
rule = { below = true }
cell = { column = "turns", where = { case = "נשר \u202e<b>" } }
"#;

/// Runs an experiment in a folder and returns the page about it.
#[track_caller]
fn page_of(folder: &Path, name: &str, experiment: &str, tag: &str) -> String {
    fs::write(folder.join(format!("{name}.toml")), experiment).unwrap();
    let file = format!("{name}.toml");
    let ran = loopmeter(folder, &["run", &file, "--quiet"]);
    assert!(matches!(ran.status.code(), Some(0 | 1)), "{}", said(&ran));
    let output = loopmeter(
        folder,
        &["report", &file, "--locale", tag, "--out", "page.html"],
    );
    assert_eq!(said(&output), "1 page of 1 experiment: page.html\n");
    fs::read_to_string(folder.join("page.html")).unwrap()
}

#[test]
fn what_was_written_to_be_misread_is_shown_letter_by_letter() {
    let name = "it's <b> \"o\" & so";
    for tag in ["en", "fa"] {
        let folder = tempfile::tempdir().unwrap();
        let page = page_of(folder.path(), name, HOSTILE, tag);
        let html = read(&page, tag);
        assert!(all(&html, "b, i, section script, section svg svg").is_empty());
        let heading = text(&all(&html, "main h2")[0]);
        let title = "</h2><script>alert(1)</script> \\u{202e}&amp; \"quoted\" 'single'second";
        assert_eq!(heading, title, "{tag}");
        let about = text(&all(&html, ".about")[0]);
        let shown = "<img src=x onerror=alert(1)> </code><b> \\u{2066} and ` alone";
        assert_eq!(about, shown, "{tag}");
        let cells: Vec<_> = all(&html, ".rows td").iter().map(text).collect();
        assert_eq!(cells[0], "</td><script>alert(2)</script>", "{tag}");
        assert_eq!(cells[2], "נשר \\u{202e}<b>", "{tag}");
        assert!(!all(&html, ".rows td bdi").is_empty(), "{tag}");
        let heading = text(&all(&html, ".rows th")[1]);
        assert_eq!(heading, "<svg onload=alert(3)>", "{tag}");
        let claims: Vec<_> = all(&html, ".claims code").iter().map(text).collect();
        assert_eq!(claims[0], "\"><script>alert(4)</script> x", "{tag}");
        assert_eq!(text(&all(&html, ".label code")[0]), name, "{tag}");
        let outside = page
            .split("<svg")
            .filter_map(|part| part.split("</svg>").last());
        let outside: String = outside.collect();
        assert!(!outside.contains('\u{202e}'), "{tag}");
    }
}

#[test]
fn a_number_that_does_not_come_out_is_seen_at_the_top_and_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let page = page_of(folder.path(), "mine", HOSTILE, "en");
    let html = read(&page, "mine");
    assert_eq!(
        text(&all(&html, ".summary")[0]),
        "✗ 1 of 2 claims reproduced"
    );
    let told = text(&all(&html, ".broken")[0]);
    assert_eq!(told, "does not hold: \"><script>alert(4)</script> x");
    let rows: Vec<_> = all(&html, ".claims tbody tr").iter().map(text).collect();
    assert!(rows[0].starts_with("✗does not hold"), "{rows:?}");
    assert!(
        rows[0].ends_with("3 · 43 · 3exactdoes not hold"),
        "{rows:?}"
    );
    assert_eq!(rows[1], "✓reproduced claim.below43below 4");
}

#[test]
fn an_experiment_of_ones_own_needs_neither_table_nor_claims() {
    let folder = tempfile::tempdir().unwrap();
    let bare = "title = \"Mine\"\nabout = \"x\"\n[settings]\nscenario = \"plan\"\nmax_turns = 5\nseed = 7\n";
    let html = read(&page_of(folder.path(), "mine", bare, "de"), "mine");
    let made = text(&all(&html, "section .made")[0]);
    assert_eq!(made, "Uhr virtuell Seed 7");
    assert!(all(&html, "section table, section svg, .summary").is_empty());
    let footer = text(&all(&html, "footer")[0]);
    let version = env!("CARGO_PKG_VERSION");
    let start = format!("Erstellt mit loopmeter Version {version} Sprache Deutsch Preis chapter:");
    assert!(footer.starts_with(&start), "{footer}");
    assert!(footer.ends_with("Preisstand 2026-09-06"), "{footer}");
}

#[test]
fn what_cannot_be_reported_is_told_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let root = root();
    let out = folder.path().join("x.html");
    let (to, empty) = (out.to_str().unwrap(), folder.path().to_str().unwrap());
    let refused = |args: &[&str], told: &str| {
        let output = loopmeter(&root, &[&["report", "--out", to], args].concat());
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(told), "{}", said(&output));
        assert!(!out.exists());
    };
    refused(
        &["--locale", "en", "uk"],
        "one file for 2 languages; name a folder",
    );
    refused(&["--locale", "tlh"], "no locale \"tlh\"");
    let none = "`loopmeter run --only plan` makes them";
    refused(&["--only", "plan", "--results", empty], none);
}
