//! What a mended document is, and what is in doubt in it.

use super::*;

/// Mends a stall whose last line is `line`.
fn mended(line: &str) -> Mended {
    parse(&format!("owner = 'Ann'\n{line}")).mended::<Stall>()
}

#[test]
fn a_mended_text_becomes_its_type_whatever_is_wrong_in_it() {
    for line in [
        "ownr = 'x'",
        "max_crates = 0",
        "max_crates = 'many'",
        "level = 300",
        "price = nan",
        "ripeness = 'rpe'",
        "ripeness = [1]",
        "open = 'true'",
        "packing = 5",
        "packing = { type = 'bog', litres = 1 }",
        "packing = { type = 'bog', x = 1 }",
        "packing = { litres = 3 }",
        "packing = { type = 'box', sides = [1, true] }",
        "crates = 7",
        "crates = [7, { fruit = '' }, { count = 1, cuont = 2 }, {}]",
    ] {
        let mended = mended(line);
        mended.findings().finish().unwrap_err();
        let stall: Stall = mended.decode().unwrap_or_else(|e| panic!("{line}: {e}"));
        let left = schema::faults(mended.document().json(), &schema_of::<Stall>());
        assert!(left.is_empty(), "{line}: {left:?} in {stall:?}");
    }
}

#[test]
fn what_was_mended_is_in_doubt_and_all_else_is_not() {
    let mended = mended(
        "max_crate = 3\nprice = 'x'\nripeness = 'rpe'\nlevel = 3\nopne = true\nopen = true\n\
         [[crates]]\nfruit = 'fig'\ncount = 1\n[[crates]]\nfruit = 'nut'\nnumber = 1\n",
    );
    let mut findings = mended.findings();
    for (pointer, certain, sound) in [
        ("/owner", true, true),
        ("/max_crates", false, false), // `max_crate` may be it
        ("/price", false, false),
        ("/ripeness", false, false),
        ("/level", true, true),
        ("/open", true, true), // `opne` cannot be it too
        ("/crates", true, false),
        ("/crates/0", true, true),
        ("/crates/1", true, false),
        ("/crates/1/fruit", true, true),
        ("/crates/1/count", false, false),
    ] {
        assert_eq!(findings.is_certain(pointer), certain, "{pointer}");
        assert_eq!(findings.is_sound(pointer), sound, "{pointer}");
    }
    let stall: Stall = mended.decode().unwrap();
    assert_eq!(stall.max_crates, Some(3));
    assert_eq!(stall.crates[1].fruit, "nut");
    assert!(findings.is_key_certain("/price"));
    assert!(!findings.is_key_certain("/max_crates"));
    assert!(findings.is_unreadable("/price"));
    assert!(!findings.is_unreadable("/ripeness"));
    let before = mended.findings().finish().unwrap_err();
    findings.add("/price", "follows from a mistake", "");
    findings.add("/max_crates", "follows from a mistake", "");
    assert_eq!(findings.finish().unwrap_err(), before);
}

#[test]
fn an_unknown_key_that_is_spelt_like_none_may_be_any_of_its_kind() {
    let mended = mended("zz = 'x'");
    let findings = mended.findings();
    assert!(!findings.is_certain("/ripeness"));
    for of_another_kind in ["/max_crates", "/packing", "/crates", "/open"] {
        assert!(findings.is_certain(of_another_kind), "{of_another_kind}");
    }
}

#[test]
fn a_key_can_be_wrong_where_its_value_is_in_doubt() {
    let mended = mended("price = 'x'\n[[crates]]\ncount = 1\n");
    let mut findings = mended.findings();
    findings.add_to_key("/price", "this key", "");
    findings.add_to_key("/level", "no key", "");
    findings.add_to_key("/crates/0/fruit", "not written", "");
    findings.add_to_table("/crates/0", "fruit", "this crate", "");
    findings.add_to_table("/crates/0", "count", "that crate", "");
    let problems = findings.finish().unwrap_err();
    let found: Vec<_> = problems
        .iter()
        .map(|p| (p.line, p.column, p.message.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (1, 1, "no key"),
            (2, 1, "this key"),
            (2, 9, "expected a number, found a text"),
            (3, 1, "missing key `fruit`"),
            (3, 1, "this crate"),
            (4, 9, "that crate"),
        ]
    );
}
