//! What holds for every plot in every language, and that the values are those of the rows.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::data::Data;
use super::picture::{Bars, Body, Fill, Plane};
use super::scene::{Bounds, Label, MARKER, Shape};
use super::text::FaceId;
use super::*;
use crate::experiment::Experiments;
use crate::lab::PLOT;
use crate::report::NumberStyle;
use crate::report::number::Digits;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn experiments() -> Experiments {
    Experiments::load(&[root().join("experiments")]).unwrap()
}

fn rows(experiment: &Experiment) -> Measured {
    let folder = root().join("results").join(experiment.name());
    Measured::read(experiment, &folder).unwrap()
}

/// Every experiment that asks for a plot, with its rows.
fn plotted(experiments: &Experiments) -> Vec<(&Experiment, Measured)> {
    let asks = |experiment: &&Experiment| experiment.readout().plot.is_some();
    let asking = experiments.iter().filter(asks);
    asking
        .map(|experiment| (experiment, rows(experiment)))
        .collect()
}

fn all_locales() -> Vec<Locale> {
    let tags = Locale::tags().into_iter();
    tags.map(|tag| Locale::load(tag).unwrap()).collect()
}

/// Languages that are also tried with figures of their own.
const OTHER_FIGURES: [&str; 6] = ["ar", "bn", "de", "fa", "hi", "th"];

/// Every plot in every language, with a name for each; made once for all tests.
static SCENES: LazyLock<Vec<(String, Scene)>> = LazyLock::new(|| {
    let experiments = experiments();
    let mut locales = all_locales();
    // Other digits, and dollars as the language writes them.
    locales.extend(OTHER_FIGURES.map(|tag| {
        let locale = Locale::load(tag).unwrap();
        locale.with_numbers(NumberStyle::Cldr, Digits::Native)
    }));
    let mut scenes = Vec::new();
    for (experiment, rows) in plotted(&experiments) {
        let plot = ExperimentPlot::of(experiment, &rows).unwrap().unwrap();
        for locale in &locales {
            let name = format!("{} in {}", experiment.name(), locale.tag());
            scenes.push((name, plot.scene(locale)));
        }
    }
    scenes
});

/// Calls `check` with each plot in each language.
fn each_scene(check: impl Fn(&str, &Scene)) {
    let languages = Locale::tags().len() + OTHER_FIGURES.len();
    assert_eq!(SCENES.len(), 21 * languages);
    for (name, scene) in SCENES.iter() {
        check(name, scene);
    }
}

#[test]
fn every_letter_of_every_plot_is_a_glyph_of_a_font() {
    each_scene(|name, scene| {
        for Label { text, shaped, .. } in &scene.labels {
            assert_eq!(shaped.missing, Vec::<char>::new(), "{name}: {text}");
            let is_drawn = |glyph: &super::text::Glyph| glyph.id != 0;
            assert!(shaped.glyphs.iter().all(is_drawn), "{name}: {text}");
            assert!(!shaped.glyphs.is_empty(), "{name}: a label says nothing");
        }
    });
}

#[test]
fn every_letter_of_every_locale_file_is_in_a_font() {
    for locale in all_locales() {
        let mut texts: Vec<String> = locale.variants().map(|v| v.text.to_owned()).collect();
        texts.push(locale.name().to_owned());
        let tag = locale.tag().to_owned();
        for digits in [Digits::Latin, Digits::Customary, Digits::Native] {
            for style in [NumberStyle::House, NumberStyle::Cldr] {
                let locale = Locale::load(&tag).unwrap().with_numbers(style, digits);
                let number = rust_decimal::Decimal::new(-12_345_678_905, 1);
                texts.extend([locale.number(number), locale.percent(number)]);
                texts.push(locale.usd(crate::money::PicoUsd::from_pico(10_780_000_000)));
            }
        }
        for text in texts {
            let shaped = Typesetter::new(&locale).shape(&text);
            let help = "run assets/fonts/subset";
            assert_eq!(shaped.missing, Vec::<char>::new(), "{tag}: {text}: {help}");
        }
    }
}

#[test]
fn every_script_is_set_in_its_own_font() {
    let faces = |tag: &str, text: &str| -> Vec<usize> {
        let locale = Locale::load(tag).unwrap();
        let glyphs = Typesetter::new(&locale).shape(text).glyphs.into_iter();
        let mut faces: Vec<usize> = glyphs.map(|glyph| glyph.face.0).collect();
        faces.dedup();
        faces
    };
    let FaceId(latin) = FaceId(0);
    assert_eq!(faces("el", "Τι αγοράζει"), [latin]);
    assert_eq!(faces("ar", "ميزانية").len(), 1);
    let kinds = [
        ("ar", "ب"),
        ("he", "ב"),
        ("hi", "ब"),
        ("bn", "ব"),
        ("th", "บ"),
    ];
    let regions = [
        ("ja", "具"),
        ("ko", "한"),
        ("zh-Hans", "具"),
        ("zh-Hant", "具"),
    ];
    let all = kinds.into_iter().chain(regions);
    let mut used: Vec<usize> = all.flat_map(|(tag, text)| faces(tag, text)).collect();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 9, "{used:?}");
}

#[test]
fn every_label_stands_inside_the_picture() {
    each_scene(|name, scene| {
        let canvas = Bounds {
            left: 0,
            top: 0,
            right: scene.width,
            bottom: scene.height,
        };
        for label in &scene.labels {
            let bounds = label.bounds().grown(40);
            assert!(canvas.holds(bounds), "{name}: {}: {bounds:?}", label.text);
        }
    });
}

#[test]
fn no_label_lies_on_another() {
    each_scene(|name, scene| {
        for (index, one) in scene.labels.iter().enumerate() {
            for other in scene.labels.iter().skip(index + 1) {
                let apart = !one.bounds().meets(other.bounds());
                assert!(apart, "{name}: {:?} on {:?}", one.text, other.text);
            }
        }
    });
}

#[test]
fn no_label_lies_on_what_is_drawn() {
    each_scene(|name, scene| {
        for label in &scene.labels {
            for shape in &scene.shapes {
                let is_under = lies_on(label.bounds(), shape);
                assert!(!is_under, "{name}: {:?} on {shape:?}", label.text);
            }
        }
    });
}

fn lies_on(label: Bounds, shape: &Shape) -> bool {
    match shape {
        Shape::Line(spots, _) => {
            let mut pieces = spots.iter().zip(spots.iter().skip(1));
            pieces.any(|(from, to)| label.is_crossed((*from, *to)))
        }
        Shape::Rect(one, other, _) | Shape::Hatch(one, other, _) => label.meets(Bounds {
            left: one.0.min(other.0),
            top: one.1.min(other.1),
            right: one.0.max(other.0),
            bottom: one.1.max(other.1),
        }),
        Shape::Marker(spot, _) => label.meets(Bounds::around(*spot, MARKER)),
    }
}

#[test]
fn two_labels_on_one_another_would_be_seen() {
    let english = Locale::load("en").unwrap();
    let at = |x| {
        let spot = ((x, 100), super::scene::Anchor::Left);
        Label::new(
            Typesetter::new(&english),
            "label",
            super::scene::Role::Label,
            spot,
        )
    };
    let (one, other) = (at(0), at(100));
    assert!(one.bounds().meets(other.bounds()));
    assert!(!one.bounds().meets(at(one.width()).bounds()));
}

#[test]
fn a_language_written_from_the_right_has_its_lists_mirrored() {
    let experiments = experiments();
    let experiment = experiments.get("tool-errors").unwrap();
    let plot = ExperimentPlot::of(experiment, &rows(experiment))
        .unwrap()
        .unwrap();
    let left_of = |tag: &str, text: &str| {
        let scene = plot.scene(&Locale::load(tag).unwrap());
        let label = scene.labels.iter().find(|label| label.text.contains(text));
        label.map(|label| label.bounds().left).unwrap()
    };
    assert!(left_of("en", "0.000756") > left_of("en", "fatal"));
    assert!(left_of("ar", "0.000756") < left_of("ar", "قاتل"));
}

#[test]
fn a_plot_is_a_whole_document_with_names_of_its_own() {
    let experiments = experiments();
    let english = Locale::load("en").unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (experiment, rows) in plotted(&experiments) {
        let plot = ExperimentPlot::of(experiment, &rows).unwrap().unwrap();
        let svg = plot.svg(&english, Ground::Paper).unwrap();
        let options = resvg::usvg::Options::default();
        assert!(resvg::usvg::Tree::from_str(&svg, &options).is_ok());
        for id in svg.split(" id=\"").skip(1) {
            let id = id.split('"').next().unwrap().to_owned();
            assert!(
                id.starts_with(&format!("plot-{}-", experiment.name())),
                "{id}"
            );
            assert!(names.insert(id.clone()), "{id} twice");
        }
        for used in svg.split("href=\"#").skip(1) {
            let used = used.split('"').next().unwrap();
            // A space has no outline, and nothing to use.
            assert!(names.contains(used), "{used} is not there");
        }
        assert!(
            !svg.contains("http://") || svg.matches("http").count() == 1,
            "it loads something"
        );
        let page = plot.svg(&english, Ground::Page).unwrap();
        for own in ["#FFFFFF", "#1F1F1F", "#555555", "#DDDDDD"] {
            assert!(svg.contains(own), "{own}");
            assert!(!page.contains(own), "{own} in a page");
        }
        assert!(!page.contains("#9CC9E3"), "a paler blue in a page");
    }
}

#[test]
fn the_committed_plots_are_those_of_the_committed_rows() {
    let experiments = experiments();
    for (experiment, rows) in plotted(&experiments) {
        let fresh = committed(experiment, &rows).unwrap().unwrap();
        let file = root().join("results").join(experiment.name()).join(PLOT);
        let stored = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            fresh == stored,
            "{}: `loopmeter run` makes it",
            file.display()
        );
    }
    assert!(!Path::new("results/exits/plot.svg").exists());
}

#[test]
fn a_png_has_the_size_of_its_svg_and_the_same_bytes_each_time() {
    let experiments = experiments();
    let experiment = experiments.get("plan").unwrap();
    let plot = ExperimentPlot::of(experiment, &rows(experiment))
        .unwrap()
        .unwrap();
    for tag in ["en", "hi"] {
        let locale = Locale::load(tag).unwrap();
        let png = plot.png(&locale).unwrap();
        assert!(png == plot.png(&locale).unwrap());
        let picture = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
        let height = plot.scene(&locale).height / 5;
        assert_eq!(picture.width(), 1440);
        assert!(picture.height().abs_diff(height.unsigned_abs()) <= 2);
        // There is ink where the title is.
        let dark = picture.pixels().iter().filter(|pixel| pixel.red() < 90);
        assert!(dark.count() > 2_000, "{tag}");
    }
}

fn plane(name: &str) -> Plane {
    match body(name) {
        Body::Plane(plane) => plane,
        Body::Bars(_) => panic!("{name} has bars"),
    }
}

fn bars(name: &str) -> Bars {
    match body(name) {
        Body::Bars(bars) => bars,
        Body::Plane(_) => panic!("{name} has a plane"),
    }
}

fn body(name: &str) -> Body {
    let experiments = experiments();
    let experiment = experiments.get(name).unwrap();
    let kind = experiment.readout().plot.as_ref().unwrap().kind;
    let data = Data::of(kind, experiment, &rows(experiment)).unwrap();
    data.picture((&Locale::load("en").unwrap(), experiment))
        .body
}

/// What stands behind the bars of a panel.
fn labels(bars: &Bars, panel: usize) -> Vec<String> {
    let bars = bars.panels[panel].bars.iter();
    bars.map(|bar| bar.label.join(", ")).collect()
}

#[test]
fn the_input_bill_is_that_of_the_caps() {
    let plane = plane("turn-cap");
    let marks: Vec<_> = plane.marks.iter().map(|mark| mark.at).collect();
    let measured = [
        (8.0, 3431.0),
        (20.0, 16259.0),
        (50.0, 88649.0),
        (100.0, 337_299.0),
    ];
    assert_eq!(marks, measured);
    let linear = &plane.curves[1];
    assert_eq!(linear.points.last(), Some(&(100.0, 20400.0)));
    assert_eq!(linear.label, ["linear bill", "N × 204"]);
    let fit = &plane.curves[0];
    assert_eq!(
        fit.label,
        ["quadratic bill", "fit: −1 + 173 N + 32 N²", "R² = 1.000000"]
    );
    let end = fit.points.last().unwrap();
    assert!((end.1 - 337_299.0).abs() < 0.01, "{end:?}");
}

#[test]
fn a_budget_is_crossed_by_the_last_turn_alone() {
    let bars = bars("budget");
    assert_eq!(bars.names, ["$0.005000", "$0.010000", "$0.050000"]);
    assert_eq!(
        labels(&bars, 0)[1],
        "$0.010780, overshoot $0.000780, 9 turns"
    );
    for bar in &bars.panels[0].bars {
        let over = bar
            .pieces
            .iter()
            .filter(|piece| piece.fill == Fill::Hatched);
        assert_eq!(over.count(), 1);
        assert_eq!(bar.pieces.last().unwrap().fill, Fill::Hatched);
    }
    // The band begins at the budget and ends at the cost.
    let band = bars.panels[0].bars[1].pieces.last().unwrap();
    assert!((band.from - 0.01).abs() < 1e-12 && (band.to - 0.010_780).abs() < 1e-12);
}

#[test]
fn only_the_tools_own_words_bring_an_answer() {
    let wording = bars("tool-errors");
    assert_eq!(wording.names, ["fatal", "generic", "worded"]);
    assert_eq!(
        labels(&wording, 0),
        [
            "$0.000756, no answer",
            "$0.001462, no answer, “I could not read the file, so I do not know.”",
            "$0.003550, answers the question, “errors.log mentions a timeout.”",
        ]
    );
    let denied = labels(&bars("permanent-error"), 0);
    assert_eq!(denied[1], "$0.018622, no answer");
}

#[test]
fn a_cache_saves_tool_runs_and_no_money() {
    let repeat = bars("repeat");
    assert_eq!(labels(&repeat, 0), ["1", "2", "1"]);
    assert_eq!(labels(&repeat, 1), ["$0.001396", "$0.002446", "$0.002446"]);
    let writes = bars("dedupe-writes");
    assert_eq!(labels(&writes, 0), ["1", "2"]);
    assert_eq!(labels(&writes, 1), ["1", "2"]);
    assert_eq!(writes.heading.as_deref(), Some("cache"));
}

#[test]
fn wall_time_is_turns_times_latency_in_virtual_time_and_nearly_so_in_real() {
    let exact = plane("ttft");
    let marks: Vec<_> = exact.marks.iter().map(|mark| mark.at).collect();
    let measured = [
        (0.0, 0.0),
        (200.0, 600.0),
        (500.0, 1500.0),
        (1000.0, 3000.0),
        (2000.0, 6000.0),
    ];
    assert_eq!(marks, measured);
    assert_eq!(exact.curves[2].points.last(), Some(&(2000.0, 6000.0)));
    let real = plane("ttft-real");
    assert_eq!(real.marks.len(), 8);
    for mark in &real.marks {
        let (latency, wall) = mark.at;
        let (low, high) = mark.between.unwrap();
        assert!(low <= wall && wall <= high);
        assert!((0.0..15.0).contains(&(wall - 3.0 * latency)), "{mark:?}");
    }
    let key: Vec<_> = real.key.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(key, ["real time · HTTP", "real time · HTTP, streamed"]);
}

#[test]
fn a_timeline_has_the_model_the_tool_its_progress_and_stop() {
    use super::picture::TickKind::{Diamond, Notch, Stop};
    let bars = bars("cancel");
    let lanes = &bars.panels[0].bars;
    let at = |lane: usize, kind| -> Vec<f64> {
        let ticks = lanes[lane].ticks.iter().filter(|tick| tick.kind == kind);
        ticks.map(|tick| tick.at).collect()
    };
    let reach: Vec<f64> = lanes.iter().map(super::picture::Bar::reach).collect();
    assert_eq!(reach, [3000.0, 1200.0, 3000.0, 3000.0]);
    assert_eq!(at(1, Notch), [500.0, 1000.0]);
    assert_eq!((at(0, Stop), at(1, Stop)), (vec![], vec![1200.0]));
    // Nobody asks the model again where the run was interrupted.
    assert_eq!(
        (at(0, Diamond), at(1, Diamond)),
        (vec![0.0, 3000.0], vec![0.0])
    );
    assert_eq!(labels(&bars, 0)[1], "interrupted, 1,200");
}

#[test]
fn every_turn_sends_the_one_before_again() {
    let bars = bars("plan");
    assert_eq!(labels(&bars, 0), ["204", "269", "342"]);
    let again: Vec<_> = bars.panels[0]
        .bars
        .iter()
        .map(|bar| bar.pieces[0].to)
        .collect();
    assert_eq!(again, [204.0, 204.0, 269.0]);
}
