//! The functions behind the distributions, over the portable logarithm.

/// Terms of a series after which it has converged, or never will.
const MOST_TERMS: u32 = 100_000;
/// When a term adds nothing any more.
const NOTHING: f64 = 1e-15;

/// The derivative of ln Γ(x), for x > 0: taken up to where the asymptotic series is exact to a
/// double, and down again by ψ(x) = ψ(x + 1) − 1/x.
pub(super) fn digamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below -= 1.0 / x;
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series =
        y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y / 132.0))));
    below + libm::log(x) - 0.5 / x - series
}

/// The second derivative of ln Γ(x), for x > 0, in the same way.
pub(super) fn trigamma(x: f64) -> f64 {
    let (mut x, mut below) = (x, 0.0);
    while x < 10.0 {
        below += 1.0 / (x * x);
        x += 1.0;
    }
    let y = 1.0 / (x * x);
    let series =
        1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * 5.0 / 66.0)));
    below + 1.0 / x + 0.5 * y + series * y / x
}

/// The share of a standard normal distribution below `z`.
pub(super) fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The share of a gamma distribution of this shape and of scale 1 below `x`: the regularised lower
/// incomplete gamma function, by its series on the left and by Lentz's continued fraction on the
/// right.
pub(super) fn gamma_below(shape: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    let scale = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 {
        return (scale * series(shape, x)).clamp(0.0, 1.0);
    }
    (1.0 - scale * fraction(shape, x)).clamp(0.0, 1.0)
}

fn series(shape: f64, x: f64) -> f64 {
    let mut term = 1.0 / shape;
    let mut sum = term;
    for n in 1..MOST_TERMS {
        term *= x / (shape + f64::from(n));
        sum += term;
        if term < sum * NOTHING {
            break;
        }
    }
    sum
}

fn fraction(shape: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut denominator = x + 1.0 - shape;
    let mut above = 1.0 / TINY;
    let mut below = 1.0 / away_from_zero(denominator);
    let mut value = below;
    for term in 1..MOST_TERMS {
        let term = f64::from(term);
        let numerator = term * (shape - term);
        denominator += 2.0;
        below = 1.0 / away_from_zero(numerator * below + denominator);
        above = away_from_zero(denominator + numerator / above);
        let step = below * above;
        value *= step;
        if (step - 1.0).abs() < NOTHING {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Gamma, Normal};

    use super::*;

    fn close(ours: f64, theirs: f64) -> bool {
        (ours - theirs).abs() <= 1e-9 * theirs.abs().max(1.0)
    }

    proptest! {
        #[test]
        fn the_functions_are_those_of_statrs(shape in 0.01_f64..500.0, times in 0.001_f64..4.0, z in -8.0_f64..8.0) {
            let x = shape * times;
            prop_assert!(close(digamma(shape), statrs::function::gamma::digamma(shape)));
            prop_assert!(close(gamma_below(shape, x), Gamma::new(shape, 1.0).unwrap().cdf(x)));
            prop_assert!(close(normal_below(z), Normal::new(0.0, 1.0).unwrap().cdf(z)));
        }

        #[test]
        fn trigamma_is_the_slope_of_digamma(x in 0.05_f64..500.0) {
            let h = 1e-5 * x;
            let slope = (digamma(x + h) - digamma(x - h)) / (2.0 * h);
            prop_assert!((trigamma(x) / slope - 1.0).abs() < 1e-5);
        }
    }
}
