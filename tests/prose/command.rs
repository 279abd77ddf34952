//! `loopmeter prose` from outside: exit codes, and what people and scripts read.

use std::fs;
use std::path::Path;

use assert_cmd::Command;

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
