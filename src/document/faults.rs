//! Putting mistakes into a right file, to see that each is reported whatever else is wrong.

use std::collections::BTreeSet;

use super::Problems;

/// A text that occurs once in a right file, what is written instead, and the problems of that:
/// how many lines above the text, and the message.
pub(crate) type Fault = (&'static str, &'static str, &'static [(usize, &'static str)]);

type Read = fn(&str) -> Result<(), Problems>;

/// Puts every one of `faults`, every two and all of them into `right`, and compares what `read`
/// reports with the problems of each: no more and no fewer. No two faults may meet in a text.
#[track_caller]
pub(crate) fn every_two_are_reported(right: &str, faults: &[Fault], read: Read) {
    let beside = |index: usize| faults.iter().skip(index + 1);
    let each = faults.iter().enumerate();
    let pairs = each.flat_map(|(index, one)| beside(index).map(move |other| vec![one, other]));
    check(right, faults, pairs.collect(), read);
}

/// Does the same with fewer files: every one of `faults`, all, and halves of them, each time
/// those with and those without one bit in their index.
#[track_caller]
pub(crate) fn every_half_is_reported(right: &str, faults: &[Fault], read: Read) {
    let bits = faults.len().next_power_of_two().trailing_zeros();
    let half = |bit: u32, value: usize| {
        let each = faults.iter().enumerate();
        let half = each.filter(move |(index, _)| index >> bit & 1 == value);
        half.map(|(_, fault)| fault).collect()
    };
    let halves = (0..bits).flat_map(|bit| [half(bit, 0), half(bit, 1)]);
    check(right, faults, halves.collect(), read);
}

#[track_caller]
fn check<'f>(right: &str, faults: &'f [Fault], mut subsets: Vec<Vec<&'f Fault>>, read: Read) {
    assert_eq!(read(right), Ok(()));
    subsets.extend(faults.iter().map(|fault| vec![fault]));
    subsets.push(faults.iter().collect());
    let subsets = subsets.iter();
    let wrong: Vec<String> = subsets
        .filter_map(|subset| mismatch(right, subset, read))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is reported too little or too much of some faults together.
fn mismatch(right: &str, faults: &[&Fault], read: Read) -> Option<String> {
    let mut text = right.to_owned();
    let mut expected = BTreeSet::new();
    for (written, wrong, problems) in faults {
        assert_eq!(text.matches(written).count(), 1, "{written} in {text}");
        assert_eq!(written.matches('\n').count(), wrong.matches('\n').count());
        let before = text.split(written).next().unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let problems = problems.iter();
        expected.extend(problems.map(|(above, message)| (line - above, (*message).to_owned())));
        text = text.replace(written, wrong);
    }
    let problems = read(&text).expect_err(&text).into_vec();
    let found = problems.into_iter().map(|p| (p.line, p.message)).collect();
    (found != expected).then(|| {
        let wrong: Vec<_> = faults.iter().map(|(_, wrong, _)| wrong).collect();
        let missing: Vec<_> = expected.difference(&found).collect();
        let spurious: Vec<_> = found.difference(&expected).collect();
        format!("{wrong:?}: missing {missing:?}, spurious {spurious:?}")
    })
}
