//! What a page says of one experiment.

use std::fmt::Write as _;

use super::ReportError;
use super::claims::Judged;
use super::made::Made;
use crate::experiment::Experiment;
use crate::lab::{Measured, judged};
use crate::report::ExperimentTable;
use crate::report::html::{anchor, escape, notes, table, words};
use crate::report::locale::Locale;
use crate::report::plot::{ExperimentPlot, Ground};
use crate::results::Words;
use crate::results::claims::Verdict;

/// From how many columns on a table is printed smaller, so that it fits on a sheet.
const WIDE: usize = 9;

/// One experiment with everything that was read from its rows.
#[derive(Debug)]
pub(super) struct Part<'e> {
    experiment: &'e Experiment,
    table: Option<ExperimentTable<'e>>,
    plot: Option<ExperimentPlot<'e>>,
    claims: Vec<Judged<'e>>,
    made: Made<'e>,
}

impl<'e> Part<'e> {
    pub(super) fn of(experiment: &'e Experiment, measured: &Measured) -> Result<Self, ReportError> {
        let rows = |source| ReportError::Rows {
            experiment: experiment.name().to_owned(),
            source,
        };
        let plot = |source| ReportError::Plot {
            experiment: experiment.name().to_owned(),
            source,
        };
        let summary = measured.summary(experiment).map_err(rows)?;
        let outcomes = judged(experiment, measured, summary.as_ref());
        let claims = experiment.readout().claims.iter().zip(outcomes);
        let table = ExperimentTable::of(experiment, measured).map_err(rows)?;
        let table_rows = table.as_ref().map(ExperimentTable::len);
        Ok(Self {
            experiment,
            table,
            plot: ExperimentPlot::of(experiment, measured).map_err(plot)?,
            claims: claims
                .map(|(claim, outcome)| Judged { claim, outcome })
                .collect(),
            made: Made::of(experiment, measured, table_rows),
        })
    }

    pub(super) fn made(&self) -> &Made<'e> {
        &self.made
    }

    /// The name of its place in the page.
    pub(super) fn id(&self) -> String {
        format!("experiment-{}", anchor(self.experiment.name()))
    }

    pub(super) fn title(&self, locale: &Locale) -> String {
        self.said("title", self.experiment.title(), locale)
    }

    pub(super) fn verdicts(&self) -> impl Iterator<Item = &Verdict> {
        self.claims.iter().map(|judged| &judged.outcome.verdict)
    }

    /// Links to the claims that do not hold.
    pub(super) fn broken_links(&self) -> impl Iterator<Item = String> {
        let broken = self.claims.iter().filter(|judged| !judged.outcome.holds());
        broken.map(Judged::link)
    }

    /// The section about it, the `number`th of the page.
    pub(super) fn section(
        &self,
        (locale, number): (&Locale, usize),
        several_prices: bool,
    ) -> Result<String, ReportError> {
        let id = self.id();
        let name = anchor(self.experiment.name());
        let mut html = format!("<section id=\"{id}\" aria-labelledby=\"title-{name}\">\n");
        let label = escape(&locale.text("report.experiment", &[]));
        let _ = writeln!(
            html,
            "<p class=\"label\">{label} {} · {}</p>\n<h2 id=\"title-{name}\">{}</h2>\n\
             <p class=\"about\">{}</p>",
            locale.size(number),
            code(self.experiment.name()),
            self.title(locale),
            spans(&self.said("about", self.experiment.about(), locale)),
        );
        html += &self.figures(locale)?;
        if !self.claims.is_empty() {
            let judged = self.claims.iter().map(|judged| judged.row(locale));
            html += &super::claims::table(locale, judged);
        }
        html += &self.made.list(locale, several_prices);
        Ok(html + "</section>\n")
    }

    fn figures(&self, locale: &Locale) -> Result<String, ReportError> {
        let mut html = String::new();
        if let Some(plot) = &self.plot {
            let svg = plot.svg(locale, Ground::Page);
            let svg = svg.map_err(|source| ReportError::Plot {
                experiment: self.experiment.name().to_owned(),
                source,
            })?;
            let _ = write!(
                html,
                "<figure class=\"plot\">\n<div class=\"box\">\n{svg}</div>\n</figure>\n"
            );
        }
        if let Some(made) = &self.table {
            let shown = made.shown(locale);
            // The first line is about the clock, which the list at the end of the section names.
            let below = shown.below.get(1..).unwrap_or_default();
            let wide = if shown.headings.len() < WIDE {
                ""
            } else {
                " wide"
            };
            let _ = write!(
                html,
                "<figure class=\"rows{wide}\">\n<div class=\"box\">\n{}</div>\n{}</figure>\n",
                table(&shown),
                notes(shown.direction, below)
            );
        }
        Ok(html)
    }

    /// What the experiment says of itself, translated where somebody has done so.
    fn said(&self, part: &str, said: &str, locale: &Locale) -> String {
        let known = locale.translated(self.experiment, part, said);
        let said = known.map_or_else(
            || Words::Author(said.to_owned()),
            |known| Words::Own(known.to_owned()),
        );
        words(locale.direction(), &said)
    }
}

/// A name out of files or rows, which reads from left to right wherever it stands.
pub(super) fn code(name: &str) -> String {
    let name = escape(&crate::results::visible(name));
    // Where a long one may break.
    let name = name.replace('.', ".<wbr>").replace('_', "_<wbr>");
    format!("<code dir=\"ltr\">{name}</code>")
}

/// Escaped text with what stands between backticks as code.
fn spans(escaped: &str) -> String {
    let mut html = String::new();
    let mut rest = escaped;
    while let Some((before, open)) = rest.split_once('`') {
        let Some((code, after)) = open.split_once('`') else {
            break;
        };
        let _ = write!(html, "{before}<code dir=\"ltr\">{code}</code>");
        rest = after;
    }
    html + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_in_pairs_are_code_and_a_single_one_is_itself() {
        assert_eq!(
            spans("run `a` or `b`."),
            "run <code dir=\"ltr\">a</code> or <code dir=\"ltr\">b</code>."
        );
        assert_eq!(spans("it`s"), "it`s");
        assert_eq!(spans("`a` and `b"), "<code dir=\"ltr\">a</code> and `b");
    }

    #[test]
    fn a_name_hides_nothing_and_breaks_behind_its_marks() {
        assert_eq!(code("a.b_c"), "<code dir=\"ltr\">a.<wbr>b_<wbr>c</code>");
        assert_eq!(
            code("<i>\u{202e}"),
            "<code dir=\"ltr\">&lt;i&gt;\\u{202e}</code>"
        );
    }
}
