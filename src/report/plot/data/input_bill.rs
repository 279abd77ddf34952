//! The bill of a run that never ends, at several caps: it grows with the square of the turns, and
//! is taken for one that grows with the turns.

use rust_decimal::Decimal;

use super::super::PlotError;
use super::super::picture::{Axis, Curve, Look, Mark, Plane};
use super::super::rows::{Row, size};
use super::super::scene::Marker;
use crate::lab::Measured;
use crate::report::locale::Locale;
use crate::results::Cell;
use crate::results::fit::Fit;

/// Along how many pieces the fit is drawn.
const PIECES: u64 = 60;

/// Turns and prompt tokens of each run.
#[derive(Debug)]
pub(in super::super) struct InputBill {
    /// Turns and the prompt tokens of all of them, by turns.
    runs: Vec<(u64, u64)>,
    /// The prompt tokens of a first turn.
    first: u64,
    /// The parabola, where there are enough runs for one.
    fit: Option<Fit>,
}

impl InputBill {
    /// Reads `turns` and `prompt_tokens` of the cells, and of the turns the first.
    pub(super) fn of(measured: &Measured) -> Result<Self, PlotError> {
        let mut runs = Row::all(&measured.cells)
            .map(|row| Ok((row.count("turns")?, row.count("prompt_tokens")?)))
            .collect::<Result<Vec<_>, PlotError>>()?;
        runs.sort_unstable();
        let first = Row::all(&measured.turns).next();
        let first = first.ok_or(PlotError::Rows("no turn to draw a bill of"))?;
        Ok(Self {
            runs,
            first: first.count("prompt_tokens")?,
            fit: Fit::of_columns(&measured.cells, "turns", "prompt_tokens").ok(),
        })
    }

    /// The bill over the turns.
    pub(super) fn plane(&self, locale: &Locale) -> Plane {
        let (turns, tokens) = self.runs.last().copied().unwrap_or_default();
        let linear = Curve {
            points: vec![(0.0, 0.0), (size(turns), size(turns * self.first))],
            look: Look::Compared,
            label: vec![
                locale.text("plot.linear", &[]),
                locale.ltr(&format!("N × {}", locale.count(self.first))),
            ],
            labelled_at_end: false,
        };
        Plane {
            x: Axis {
                title: locale.text("plot.turns", &[]),
                most: size(turns),
                whole: true,
            },
            y: Axis {
                title: locale.text("plot.prompt_tokens", &[]),
                most: size(tokens),
                whole: true,
            },
            curves: vec![self.quadratic(locale), linear],
            marks: self.marks(locale),
            key: Vec::new(),
            legend: Vec::new(),
        }
    }

    /// The fit, or the runs joined by lines where there is none.
    fn quadratic(&self, locale: &Locale) -> Curve {
        let mut label = vec![locale.text("plot.quadratic", &[])];
        let most = self.runs.last().map_or(0, |(turns, _)| *turns);
        let points = match &self.fit {
            Some(fit) => {
                label.extend(fit_label(locale, fit));
                let at = |piece: u64| {
                    let n = size(piece * most) / size(PIECES);
                    (n, (fit.a + fit.b * n + fit.c * n * n).max(0.0))
                };
                (0..=PIECES).map(at).collect()
            }
            None => self
                .runs
                .iter()
                .map(|(n, y)| (size(*n), size(*y)))
                .collect(),
        };
        Curve {
            points,
            look: Look::Measured,
            label,
            labelled_at_end: false,
        }
    }

    fn marks(&self, locale: &Locale) -> Vec<Mark> {
        let last = self.runs.len().saturating_sub(1);
        let marks = self
            .runs
            .iter()
            .enumerate()
            .map(|(index, (turns, tokens))| {
                let mut label = vec![super::count(locale, *tokens)];
                if index == last {
                    label.push(locale.text("plot.measured", &[]));
                }
                Mark {
                    at: (size(*turns), size(*tokens)),
                    between: None,
                    marker: Marker::Disc,
                    label,
                }
            });
        marks.collect()
    }
}

/// The parabola and how well it explains the values.
fn fit_label(locale: &Locale, fit: &Fit) -> Vec<String> {
    let formula = formula(locale, fit);
    let mut label = vec![locale.text("plot.fit", &[("formula", &formula)])];
    if let Some(share) = fit.r_squared.map(|share| Cell::statistic(share, 6)) {
        let share = locale.number(share.to_decimal().unwrap_or_default());
        label.push(locale.ltr(&format!("R² = {share}")));
    }
    label
}

/// `−1 + 173 N + 32 N²`, with the decimals that the coefficients have, three at most.
fn formula(locale: &Locale, fit: &Fit) -> String {
    let mut formula = String::new();
    for (value, power) in [(fit.a, ""), (fit.b, " N"), (fit.c, " N²")] {
        let value = Cell::statistic(value, 3).to_decimal().unwrap_or_default();
        let (value, sign) = (value.abs().normalize(), value.is_sign_negative());
        if value.is_zero() {
            continue;
        }
        formula += match (formula.is_empty(), sign) {
            (true, false) => "",
            (true, true) => "−",
            (false, false) => " + ",
            (false, true) => " − ",
        };
        // One N is written as N.
        if value != Decimal::ONE || power.is_empty() {
            formula += &locale.number(value);
            formula += power;
        } else {
            formula += power.trim_start();
        }
    }
    locale.ltr(&formula)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(a: f64, b: f64, c: f64) -> Fit {
        let (n, r_squared) = (4, Some(1.0));
        Fit {
            a,
            b,
            c,
            r_squared,
            n,
        }
    }

    #[test]
    fn a_formula_is_written_as_one_writes_it() {
        let english = Locale::load("en").unwrap();
        assert_eq!(
            formula(&english, &fit(-1.0, 173.0, 32.0)),
            "−1 + 173 N + 32 N²"
        );
        assert_eq!(formula(&english, &fit(0.0, 1.0, -0.5)), "N − 0.5 N²");
        let greek = Locale::load("el").unwrap();
        assert_eq!(formula(&greek, &fit(1204.25, 1.0, 0.0)), "1.204,25 + N");
    }
}
