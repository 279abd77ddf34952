//! Published numbers beside those that were measured, each with a mark.

use std::fmt::Write as _;

use rust_decimal::Decimal;

use super::part::code;
use crate::report::html::{anchor, escape, words};
use crate::report::locale::Locale;
use crate::report::wording::BETWEEN;
use crate::results::claims::{Claim, ClaimOutcome, Computation, Rule, Verdict};
use crate::results::{Kind, Unit, Words};

/// A claim and what became of it.
#[derive(Debug)]
pub(super) struct Judged<'e> {
    pub(super) claim: &'e Claim,
    pub(super) outcome: ClaimOutcome,
}

/// How a verdict is marked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    letter: &'static str,
    class: &'static str,
    /// The message that says the same.
    key: &'static str,
}

pub(super) const HELD: Mark = Mark {
    letter: "✓",
    class: "held",
    key: "report.reproduced",
};
pub(super) const NOT_HELD: Mark = Mark {
    letter: "✗",
    class: "not-held",
    key: "report.does_not_hold",
};
const QUOTED: Mark = Mark {
    letter: "·",
    class: "quoted",
    key: "report.quoted",
};

impl Mark {
    const fn of(verdict: &Verdict) -> Self {
        match verdict {
            Verdict::Held => HELD,
            Verdict::NotHeld | Verdict::Broken(_) => NOT_HELD,
            Verdict::External => QUOTED,
        }
    }

    /// The mark for those who see it beside the same in words.
    pub(super) fn sign(self) -> String {
        let Self { letter, class, .. } = self;
        format!("<span class=\"mark {class}\" aria-hidden=\"true\">{letter}</span>")
    }

    /// The mark, in words for those who do not see it.
    fn said(self, locale: &Locale) -> String {
        let word = escape(&locale.text(self.key, &[]));
        format!("{}<span class=\"said\">{word}</span>", self.sign())
    }
}

/// The claims of an experiment as a table of these rows.
pub(super) fn table(locale: &Locale, rows: impl Iterator<Item = String>) -> String {
    let say = |key: &str| escape(&locale.text(key, &[]));
    format!(
        "<figure class=\"claims\">\n<div class=\"box\">\n<table>\n<caption>{}</caption>\n<thead>\n\
         <tr><th scope=\"col\">{}</th><th scope=\"col\" class=\"figure\">{}</th>\
         <th scope=\"col\" class=\"figure\">{}</th><th scope=\"col\">{}</th></tr>\n</thead>\n\
         <tbody>\n{}</tbody>\n</table>\n</div>\n</figure>\n",
        say("report.claims"),
        say("report.claim"),
        say("report.published"),
        say("report.measured"),
        say("report.rule"),
        rows.collect::<String>()
    )
}

impl Judged<'_> {
    /// A link to the claim's row.
    pub(super) fn link(&self) -> String {
        let id = &self.claim.id;
        format!("<a href=\"#claim-{}\">{}</a>", anchor(id), code(id))
    }

    /// The claim's row in the table.
    pub(super) fn row(&self, locale: &Locale) -> String {
        let mark = Mark::of(&self.outcome.verdict);
        let mut html = format!(
            "<tr id=\"claim-{}\" class=\"{}\"><th scope=\"row\">{} {}</th>",
            anchor(&self.claim.id),
            mark.class,
            mark.said(locale),
            code(&self.claim.id)
        );
        let published = self.figures(&self.claim.published.values, locale);
        let measured = self.measured(locale);
        let rule = self.rule(locale);
        let _ = writeln!(
            html,
            "<td class=\"figure\">{published}</td><td class=\"figure\">{measured}</td>\
             <td>{rule}</td></tr>"
        );
        html
    }

    /// What the rows say, rounded as the publication is.
    fn measured(&self, locale: &Locale) -> String {
        match self.outcome.shown() {
            Some(values) => self.figures(&values, locale),
            None => "—".to_owned(),
        }
    }

    fn figures(&self, values: &[Decimal], locale: &Locale) -> String {
        let unit = unit(self.claim);
        let figures: Vec<String> = values
            .iter()
            .map(|value| locale.amount(*value, unit))
            .collect();
        let figures = Words::Figure(figures.join(BETWEEN));
        words(locale.direction(), &figures)
    }

    /// What must hold, or why nothing can; what does not hold is said in words too.
    fn rule(&self, locale: &Locale) -> String {
        if let Verdict::External = self.outcome.verdict {
            return escape(&locale.text("report.quoted", &[]));
        }
        let rule = match self.claim.rule {
            Rule::Exact => locale.text("report.rule_exact", &[]),
            Rule::Below => {
                let published = self.claim.published.values.iter();
                let published: Vec<String> = published
                    .map(|value| locale.amount(*value, unit(self.claim)))
                    .collect();
                limit("report.rule_below", &published.join(BETWEEN), locale)
            }
            Rule::AtMost(most) => {
                let most = locale.amount(most, unit(self.claim));
                limit("report.rule_at_most", &most, locale)
            }
            Rule::WithinPercent(percent) => {
                limit("report.rule_within", &locale.percent(percent), locale)
            }
        };
        let mut html = escape(&rule);
        if !self.outcome.holds() {
            let word = escape(&locale.text("report.does_not_hold", &[]));
            let _ = write!(html, "<br><strong>{word}</strong>");
        }
        if let Verdict::Broken(error) = &self.outcome.verdict {
            let error = Words::Data(error.to_string());
            let _ = write!(html, "<br>{}", words(locale.direction(), &error));
        }
        html
    }
}

fn limit(key: &str, figure: &str, locale: &Locale) -> String {
    locale.text(key, &[("n", &locale.ltr(figure))])
}

/// What the numbers of a claim are, as far as how it is computed tells.
fn unit(claim: &Claim) -> Unit {
    let kind = match &claim.computed {
        Computation::Ratio { .. } => Some(Kind::Ratio),
        Computation::Fit { y, .. } => Kind::of_name(y),
        Computation::PercentChange { .. } => Some(Kind::Percent),
        Computation::Count { .. } | Computation::CountDistinct(_) => Some(Kind::Count),
        Computation::Cell(pick) | Computation::Cells(pick) | Computation::Sum(pick) => {
            Kind::of_name(&pick.column)
        }
        Computation::Difference { of, .. } => Kind::of_name(&of.column),
        Computation::Setting { path } => setting_kind(path),
        Computation::External => Kind::of_name(&claim.id),
    };
    match kind {
        Some(Kind::Usd) => Unit::Usd,
        Some(Kind::Ratio) => Unit::Times,
        Some(Kind::Percent) => Unit::Percent,
        _ => Unit::None,
    }
}

/// A price is dollars per million tokens; other settings end in their unit.
fn setting_kind(path: &str) -> Option<Kind> {
    let per_million = path.strip_suffix("_per_million");
    Kind::of_name(per_million.unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Filter;
    use crate::results::claims::{Pick, Published, RowsRef};

    fn claim(id: &str, computed: Computation) -> Claim {
        Claim {
            id: id.to_owned(),
            published: Published::parse("[1, 2.50]").unwrap(),
            decimals: None,
            rule: Rule::Exact,
            computed,
        }
    }

    fn pick(column: &str) -> Pick {
        Pick {
            rows: RowsRef::Cells,
            column: column.to_owned(),
            filter: Filter::default(),
        }
    }

    fn setting(path: &str) -> Computation {
        let path = path.to_owned();
        Computation::Setting { path }
    }

    #[test]
    fn the_unit_of_a_claim_is_that_of_what_it_is_computed_from() {
        let (of, to) = (pick("cost_usd"), pick("cost_usd"));
        let ratio = Computation::Ratio { of, to };
        let (of, less) = (pick("cost_usd"), pick("cost_usd"));
        let difference = Computation::Difference { of, less };
        let (from, to) = (pick("cost_usd"), pick("cost_usd"));
        let change = Computation::PercentChange { from, to };
        let units = [
            (Computation::Cell(pick("turns")), Unit::None),
            (Computation::Cell(pick("cost_usd")), Unit::Usd),
            (Computation::Sum(pick("replayed_percent")), Unit::Percent),
            (ratio, Unit::Times),
            (difference, Unit::Usd),
            (change, Unit::Percent),
            (setting("price.input_usd_per_million"), Unit::Usd),
            (setting("max_turns"), Unit::None),
            (Computation::External, Unit::None),
        ];
        for (computed, wanted) in units {
            let found = unit(&claim("x.mean_turn_ms", computed.clone()));
            assert_eq!(found, wanted, "{computed:?}");
        }
        assert_eq!(
            unit(&claim("x.spent_usd", Computation::External)),
            Unit::Usd
        );
    }

    #[test]
    fn a_row_says_its_verdict_in_words_too() {
        let claim = claim("x.cost_usd", Computation::Cells(pick("cost_usd")));
        let row = |verdict: Verdict, tag: &str| {
            let outcome = ClaimOutcome {
                id: claim.id.clone(),
                published: claim.published.clone(),
                decimals: None,
                measured: Some(vec![Decimal::ONE, Decimal::TWO]),
                verdict,
            };
            let claim = &claim;
            Judged { claim, outcome }.row(&Locale::load(tag).unwrap())
        };
        let held = row(Verdict::Held, "en");
        for piece in [
            "<tr id=\"claim-x.cost_usd\" class=\"held\">",
            "aria-hidden=\"true\">✓</span><span class=\"said\">reproduced</span>",
            "<td class=\"figure\">$1 · $2.50</td><td class=\"figure\">$1.00 · $2.00</td>",
            "<td>exact</td>",
        ] {
            assert!(held.contains(piece), "{piece}: {held}");
        }
        let broken = row(Verdict::NotHeld, "de");
        let piece = "<td>genau<br><strong>trifft nicht zu</strong></td>";
        assert!(broken.contains(piece) && broken.contains("✗"), "{broken}");
        let quoted = row(Verdict::External, "ar");
        assert!(
            quoted.contains("<bdi dir=\"ltr\">$1 · $2.50</bdi>"),
            "{quoted}"
        );
        assert!(quoted.contains("<td>مقتبس، لم يُقَس هنا</td>"), "{quoted}");
    }
}
