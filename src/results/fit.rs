//! A least-squares fit of a + bN + cN²: whether a bill is linear or quadratic, and how well.
//!
//! Only additions, subtractions, multiplications and divisions in a fixed order, so the same
//! bytes come out on every machine.

use std::collections::BTreeSet;
use std::fmt;

use rust_decimal::Decimal;

use super::cell::Cell;
use super::claims::Coefficient;
use super::filter::Filter;
use super::rows::{RowSet, UnknownColumn};

/// How many different N a parabola needs before its R² says anything.
pub const LEAST_DISTINCT: usize = 4;

/// Decimals of the coefficients and of R² as they are printed.
const COEFFICIENT_DECIMALS: u32 = 3;
const R_SQUARED_DECIMALS: u32 = 6;

/// The parabola a + bN + cN² nearest to a set of points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The constant.
    pub a: f64,
    /// Per N.
    pub b: f64,
    /// Per N².
    pub c: f64,
    /// The share of the variance that the parabola explains; `None` if all values are equal.
    pub r_squared: Option<f64>,
    /// How many points there were.
    pub n: usize,
}

/// The fit of the rows that have one value in common, or why there is none.
pub type GroupFit = (Cell, Result<Fit, NoFit>);

/// Why there is no fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFit {
    /// Too few different N.
    #[error("no fit: {found} different values of N, and {LEAST_DISTINCT} are needed")]
    TooFew {
        /// How many there are.
        found: usize,
    },
    /// A point, or a sum of them, is not a finite number.
    #[error("no fit: a value is not finite or too large")]
    NotFinite,
    /// A column does not exist.
    #[error("no fit: {0}")]
    Column(#[from] UnknownColumn),
}

impl Fit {
    /// Fits the points (N, value).
    ///
    /// # Errors
    /// [`NoFit`] with the reason.
    pub fn of(points: &[(f64, f64)]) -> Result<Self, NoFit> {
        if points.iter().any(|(n, y)| !n.is_finite() || !y.is_finite()) {
            return Err(NoFit::NotFinite);
        }
        // Zero has two signs and one value.
        let distinct: BTreeSet<u64> = points.iter().map(|(n, _)| (n + 0.0).to_bits()).collect();
        if distinct.len() < LEAST_DISTINCT {
            return Err(NoFit::TooFew {
                found: distinct.len(),
            });
        }
        let basis = Basis::of(points);
        let fit = basis.fit(points);
        let coefficients = [fit.a, fit.b, fit.c, fit.r_squared.unwrap_or(1.0)];
        if coefficients.iter().all(|value| value.is_finite()) {
            Ok(fit)
        } else {
            Err(NoFit::NotFinite)
        }
    }

    /// Fits one column over another; rows in which either is missing or no number are left out.
    ///
    /// # Errors
    /// [`NoFit`] with the reason.
    pub fn of_columns(rows: &RowSet, n: &str, value: &str) -> Result<Self, NoFit> {
        let pairs = rows.cells(n)?.zip(rows.cells(value)?);
        let points: Vec<(f64, f64)> = pairs
            .filter_map(|(n, value)| n.to_f64().zip(value.to_f64()))
            .collect();
        Self::of(&points)
    }

    /// Fits one column over another for each value of a third, in the order in which they come.
    ///
    /// # Errors
    /// [`UnknownColumn`]; why a group has no fit stands in its place.
    pub fn of_groups(
        rows: &RowSet,
        (n, value): (&str, &str),
        by: &str,
    ) -> Result<Vec<GroupFit>, UnknownColumn> {
        let mut groups: Vec<(Cell, Vec<(f64, f64)>)> = Vec::new();
        let pairs = rows.cells(n)?.zip(rows.cells(value)?);
        for ((n, value), group) in pairs.zip(rows.cells(by)?) {
            let found = groups.iter().position(|(known, _)| known == group);
            let at = found.unwrap_or_else(|| {
                groups.push((group.clone(), Vec::new()));
                groups.len() - 1
            });
            let point = n.to_f64().zip(value.to_f64());
            if let (Some((_, points)), Some(point)) = (groups.get_mut(at), point) {
                points.push(point);
            }
        }
        let groups = groups.into_iter();
        Ok(groups
            .map(|(group, points)| (group, Self::of(&points)))
            .collect())
    }

    /// Fits one column over another in the rows that are meant.
    ///
    /// # Errors
    /// [`NoFit`] with the reason.
    pub fn of_picked(
        rows: &RowSet,
        (n, value): (&str, &str),
        filter: &Filter,
    ) -> Result<Self, NoFit> {
        let (n, value) = (rows.index_of(n)?, rows.index_of(value)?);
        let picked = filter.pick(rows)?;
        let points = picked.into_iter().filter_map(|row| {
            let number = |at: usize| row.get(at).and_then(Cell::to_f64);
            number(n).zip(number(value))
        });
        Self::of(&points.collect::<Vec<_>>())
    }

    /// One of its coefficients, as it is printed.
    #[must_use]
    pub fn coefficient(&self, which: Coefficient) -> Option<Decimal> {
        let value = match which {
            Coefficient::A => self.a,
            Coefficient::B => self.b,
            Coefficient::C => self.c,
        };
        Cell::statistic(value, COEFFICIENT_DECIMALS).to_decimal()
    }
}

/// `a + bN + cN²: a = -1.000, b = 173.000, c = 32.000, R² = 1.000000, n = 12`.
impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounded = |value| Cell::statistic(value, COEFFICIENT_DECIMALS);
        let (a, b, c) = (rounded(self.a), rounded(self.b), rounded(self.c));
        write!(f, "a + bN + cN²: a = {a}, b = {b}, c = {c}, ")?;
        match self.r_squared {
            Some(share) => write!(f, "R² = {}, ", Cell::statistic(share, R_SQUARED_DECIMALS))?,
            None => f.write_str("no R² as all values are equal, ")?,
        }
        write!(f, "n = {}", self.n)
    }
}

/// Polynomials of degree 0, 1 and 2 that are orthogonal over the given N, so that the normal
/// equations fall apart into three divisions and nothing cancels: 1, x, and x² − `tilt`·x −
/// `level`, with x = (N − `centre`) / `scale`.
struct Basis {
    centre: f64,
    scale: f64,
    tilt: f64,
    level: f64,
}

impl Basis {
    fn of(points: &[(f64, f64)]) -> Self {
        let count = count(points);
        let centre = points.iter().map(|(n, _)| n).sum::<f64>() / count;
        let scale = points
            .iter()
            .map(|(n, _)| (n - centre).abs())
            .fold(0.0, f64::max);
        let xs = || points.iter().map(|(n, _)| (n - centre) / scale);
        let squares: f64 = xs().map(|x| x * x).sum();
        let cubes: f64 = xs().map(|x| x * x * x).sum();
        Self {
            centre,
            scale,
            tilt: cubes / squares,
            level: squares / count,
        }
    }

    fn x(&self, n: f64) -> f64 {
        (n - self.centre) / self.scale
    }

    fn second(&self, x: f64) -> f64 {
        x * x - self.tilt * x - self.level
    }

    fn fit(&self, points: &[(f64, f64)]) -> Fit {
        let mean = points.iter().map(|(_, y)| y).sum::<f64>() / count(points);
        let slope = project(points, |n| self.x(n));
        let bend = project(points, |n| self.second(self.x(n)));
        let fitted = |n| {
            let x = self.x(n);
            mean + slope * x + bend * self.second(x)
        };
        let missed: f64 = points.iter().map(|&(n, y)| square(y - fitted(n))).sum();
        let varied: f64 = points.iter().map(|&(_, y)| square(y - mean)).sum();
        // Back from x to N: expand the three polynomials.
        let constant = mean - bend * self.level;
        let linear = (slope - bend * self.tilt) / self.scale;
        let c = bend / self.scale / self.scale;
        Fit {
            a: constant - linear * self.centre + c * self.centre * self.centre,
            b: linear - 2.0 * c * self.centre,
            c,
            r_squared: (varied > 0.0).then(|| 1.0 - missed / varied),
            n: points.len(),
        }
    }
}

/// The coefficient of one orthogonal polynomial.
fn project(points: &[(f64, f64)], polynomial: impl Fn(f64) -> f64) -> f64 {
    let product: f64 = points.iter().map(|&(n, y)| y * polynomial(n)).sum();
    let norm: f64 = points.iter().map(|&(n, _)| square(polynomial(n))).sum();
    product / norm
}

fn square(value: f64) -> f64 {
    value * value
}

fn count(points: &[(f64, f64)]) -> f64 {
    f64::from(u32::try_from(points.len()).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::results::Schema;

    /// Input tokens of a run of `n` turns whose prompt grows by 64 a turn, added up turn by turn.
    fn runaway(n: u32) -> u32 {
        let mut prompt = 204;
        let mut total = 0;
        for turn in 0..n {
            total += prompt;
            prompt += if turn == 0 { 65 } else { 64 };
        }
        total
    }

    fn points(ns: &[u32], y: impl Fn(u32) -> u32) -> Vec<(f64, f64)> {
        ns.iter()
            .map(|&n| (f64::from(n), f64::from(y(n))))
            .collect()
    }

    #[test]
    fn the_runaway_bill_is_exactly_quadratic() {
        assert_eq!(
            [runaway(8), runaway(50), runaway(100)],
            [3_431, 88_649, 337_299]
        );
        let fit = Fit::of(&points(&[8, 16, 32, 50, 100], runaway)).unwrap();
        assert_eq!(
            fit.to_string(),
            "a + bN + cN²: a = -1.000, b = 173.000, c = 32.000, R² = 1.000000, n = 5"
        );
        let coefficients = [Coefficient::A, Coefficient::B, Coefficient::C];
        assert_eq!(
            coefficients.map(|which| fit.coefficient(which)),
            [-1, 173, 32].map(|value| Some(Decimal::from(value)))
        );
        let fit = Fit::of(&points(&[1, 2, 4, 500, 1_000], runaway)).unwrap();
        assert!(
            fit.to_string().contains("c = 32.000, R² = 1.000000"),
            "{fit}"
        );
    }

    #[test]
    fn points_off_the_parabola_lower_r_squared() {
        let fit = Fit::of(&points(&[1, 2, 3, 4, 5, 6], |n| n * n + (n % 2) * 9)).unwrap();
        let share = fit.r_squared.unwrap();
        assert!(share > 0.5 && share < 0.95, "{share}");
    }

    #[test]
    fn equal_values_have_no_r_squared() {
        let fit = Fit::of(&points(&[1, 2, 3, 4], |_| 7)).unwrap();
        assert_eq!(fit.r_squared, None);
        assert_eq!(
            fit.to_string(),
            "a + bN + cN²: a = 7.000, b = 0.000, c = 0.000, no R² as all values are equal, n = 4"
        );
    }

    #[test]
    fn too_few_different_n_are_refused_with_the_reason() {
        let refused = Fit::of(&points(&[8, 50, 100, 8, 50], runaway)).unwrap_err();
        assert_eq!(refused, NoFit::TooFew { found: 3 });
        assert_eq!(
            refused.to_string(),
            "no fit: 3 different values of N, and 4 are needed"
        );
        assert_eq!(Fit::of(&[]), Err(NoFit::TooFew { found: 0 }));
        let zeros = [(0.0, 1.0), (-0.0, 1.0), (1.0, 2.0), (2.0, 3.0)];
        assert_eq!(Fit::of(&zeros), Err(NoFit::TooFew { found: 3 }));
        assert_eq!(Fit::of(&[(f64::NAN, 1.0)]), Err(NoFit::NotFinite));
        let huge = [
            (1.0, f64::MAX),
            (2.0, -f64::MAX),
            (3.0, f64::MAX),
            (4.0, 0.0),
        ];
        assert_eq!(Fit::of(&huge), Err(NoFit::NotFinite));
    }

    #[test]
    fn each_group_has_a_fit_of_its_own_in_the_order_in_which_they_come() {
        let csv =
            "model,n,y\nb,1,2\na,1,1\nb,2,4\na,2,4\nb,3,6\na,3,9\nb,4,8\na,4,16\nc,1,1\na,5,\n";
        let rows = RowSet::from_reader("x", csv.as_bytes(), Schema::ByName).unwrap();
        let groups = Fit::of_groups(&rows, ("n", "y"), "model").unwrap();
        let told = groups.into_iter().map(|(group, fit)| match fit {
            Ok(fit) => format!("{group}: {fit}"),
            Err(error) => format!("{group}: {error}"),
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            [
                "b: a + bN + cN²: a = 0.000, b = 2.000, c = 0.000, R² = 1.000000, n = 4",
                "a: a + bN + cN²: a = 0.000, b = 0.000, c = 1.000, R² = 1.000000, n = 4",
                "c: no fit: 1 different values of N, and 4 are needed",
            ]
        );
        assert!(Fit::of_groups(&rows, ("n", "y"), "none").is_err());
    }

    #[test]
    fn missing_values_are_left_out_and_not_counted_as_zero() {
        let csv = "turns,prompt_tokens\n1,1\n2,4\n3,9\n4,16\n5,\n";
        let rows = RowSet::from_reader("x", csv.as_bytes(), Schema::ByName).unwrap();
        let fit = Fit::of_columns(&rows, "turns", "prompt_tokens").unwrap();
        assert!(
            fit.to_string().ends_with("c = 1.000, R² = 1.000000, n = 4"),
            "{fit}"
        );
        assert!(matches!(
            Fit::of_columns(&rows, "turn", "x"),
            Err(NoFit::Column(_))
        ));
    }

    proptest! {
        #[test]
        fn a_parabola_is_found_again(a in -999_i32..999, b in -999_i32..999, c in -999_i32..999) {
            let (a, b, c) = (f64::from(a), f64::from(b), f64::from(c));
            let points: Vec<_> =
                [1.0, 3.0, 10.0, 40.0, 90.0].map(|n: f64| (n, a + b * n + c * n * n)).to_vec();
            let fit = Fit::of(&points).unwrap();
            for (found, meant) in [(fit.a, a), (fit.b, b), (fit.c, c)] {
                prop_assert!((found - meant).abs() < 1e-6, "{}", fit);
            }
        }
    }
}
