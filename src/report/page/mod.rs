//! A report: one page of HTML with everything that was measured, and nothing outside it.
//!
//! [`part`] is what the page says of one experiment, `claims` its published numbers, `made` what
//! made the rows and the page.

mod claims;
mod made;
mod part;

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;

use super::html::escape;
use super::locale::Locale;
use super::plot::{PlotError, script_font};
use crate::experiment::Experiment;
use crate::lab::{LabError, Measured};
use crate::results::claims::Verdict;

use part::Part;

/// How the page looks: it brings its style, and no script.
const STYLE: &str = include_str!("style.css");

/// The page of some experiments, before anybody's language.
#[derive(Debug)]
pub struct Report<'e> {
    parts: Vec<Part<'e>>,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The table or the claims of an experiment cannot be made.
    #[error("{experiment}: {source}")]
    Rows {
        /// The experiment.
        experiment: String,
        /// Why.
        source: LabError,
    },
    /// The plot of an experiment cannot be made.
    #[error("{experiment}: the plot: {source}")]
    Plot {
        /// The experiment.
        experiment: String,
        /// Why.
        source: PlotError,
    },
}

impl<'e> Report<'e> {
    /// The report of experiments and their rows, in the order that the experiments ask for.
    ///
    /// # Errors
    /// [`ReportError`] with the experiment whose rows do not give what it asks for.
    pub fn of<'m>(
        measured: impl IntoIterator<Item = (&'e Experiment, &'m Measured)>,
    ) -> Result<Self, ReportError> {
        let mut measured: Vec<_> = measured.into_iter().collect();
        measured.sort_by_key(|(experiment, _)| experiment.order().unwrap_or(u32::MAX));
        let parts = measured
            .into_iter()
            .map(|(experiment, measured)| Part::of(experiment, measured));
        Ok(Self {
            parts: parts.collect::<Result<_, _>>()?,
        })
    }

    /// The page in a language: the same bytes for the same rows.
    ///
    /// # Errors
    /// [`ReportError::Plot`] as drawing into memory fails: never in practice.
    pub fn page(&self, locale: &Locale) -> Result<String, ReportError> {
        let mut html = format!(
            "<!DOCTYPE html>\n<html lang=\"{}\" dir=\"{}\">\n",
            escape(locale.tag()),
            locale.dir()
        );
        html += &head(locale);
        html += "<body>\n";
        html += &self.intro(locale);
        html += &self.contents(locale);
        html += "<main>\n";
        let prices = made::prices(&self.parts);
        let several = prices.len() > 1;
        for (index, part) in self.parts.iter().enumerate() {
            html += &part.section((locale, index + 1), several)?;
        }
        html += "</main>\n";
        html += &made::footer(&prices, locale);
        Ok(html + "</body>\n</html>\n")
    }

    /// The title, what the page is, and how many published numbers come out.
    fn intro(&self, locale: &Locale) -> String {
        let title = escape(&locale.text("report.title", &[]));
        let lead = escape(&locale.text("report.lead", &[]));
        let mut html = format!("<header>\n<h1>{title}</h1>\n<p class=\"lead\">{lead}</p>\n");
        let verdicts = || self.parts.iter().flat_map(Part::verdicts);
        let judged = |verdict: &Verdict| !matches!(verdict, Verdict::External);
        let all = verdicts().filter(|verdict| judged(verdict)).count();
        let held = verdicts().filter(|verdict| matches!(verdict, Verdict::Held));
        let held = held.count();
        if all > 0 {
            let (all_said, held_said) = (locale.size(all), locale.size(held));
            let args = [("held", held_said.as_str()), ("all", all_said.as_str())];
            let said = escape(&locale.text("report.summary", &args));
            let mark = if held == all {
                claims::HELD
            } else {
                claims::NOT_HELD
            };
            let _ = writeln!(html, "<p class=\"summary\">{} {said}</p>", mark.sign());
        }
        if held < all {
            let word = escape(&locale.text("report.does_not_hold", &[]));
            let links: Vec<String> = self.parts.iter().flat_map(Part::broken_links).collect();
            let links = links.join(", ");
            let _ = writeln!(html, "<p class=\"broken\">{word}: {links}</p>");
        }
        html + "</header>\n"
    }

    fn contents(&self, locale: &Locale) -> String {
        let title = escape(&locale.text("report.contents", &[]));
        let entries = self.parts.iter().map(|part| {
            let (target, title) = (part.id(), part.title(locale));
            format!("<li><a href=\"#{target}\">{title}</a></li>\n")
        });
        format!(
            "<nav aria-labelledby=\"contents\">\n<h2 id=\"contents\">{title}</h2>\n<ol>\n{}</ol>\n\
             </nav>\n",
            entries.collect::<String>()
        )
    }
}

/// The letters of the language's script, for readers whose system has none of the fonts that the
/// style names first.
fn carried_font(locale: &Locale) -> String {
    let Some(font) = script_font(locale) else {
        return String::new();
    };
    let data = BASE64.encode(font);
    format!("@font-face {{ font-family: \"Carried\"; src: url(data:font/otf;base64,{data}); }}\n")
}

fn head(locale: &Locale) -> String {
    let title = escape(&locale.text("report.title", &[]));
    format!(
        "<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"{}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>{title}</title>\n<style>\n{}{STYLE}</style>\n</head>\n",
        escape(&made::program()),
        carried_font(locale)
    )
}
