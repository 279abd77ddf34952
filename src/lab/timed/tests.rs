use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

/// How many comparisons an experiment of the simulation has: four cells of two columns.
const COMPARISONS: usize = 8;

/// Whether something is slower is decided without the bounds of the ratio.
const FEW_DRAWS: Bootstrap = Bootstrap {
    seed: 0,
    resamples: 40,
    level: 950,
};

/// Times like those of a run: log-normal around 100 ms, of a spread.
struct Machine {
    rng: ChaCha8Rng,
    sigma: f64,
}

impl Machine {
    fn new(seed: u64, sigma: f64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            sigma,
        }
    }

    fn uniform(&mut self) -> f64 {
        let bits = u32::try_from(self.rng.next_u64() >> 32).unwrap();
        (f64::from(bits) + 0.5) / 4_294_967_296.0
    }

    /// A number below `n`.
    fn below(&mut self, n: usize) -> usize {
        let product = u128::from(self.rng.next_u64()) * (n as u128);
        usize::try_from(product >> 64).unwrap()
    }

    /// `n` times, so many times as long as they are where nothing is slow.
    fn times(&mut self, n: usize, slowdown: f64) -> Vec<f64> {
        let one = |machine: &mut Self| {
            let (a, b) = (machine.uniform(), machine.uniform());
            let normal = libm::sqrt(-2.0 * libm::log(a)) * libm::cos(std::f64::consts::TAU * b);
            100.0 * slowdown * libm::exp(machine.sigma * normal)
        };
        (0..n).map(|_| one(self)).collect()
    }

    /// Checks an experiment of which the last comparison is so much slower.
    fn check(&mut self, n: usize, slowdown: f64) -> Vec<Timing> {
        let compared = (0..COMPARISONS).map(|at| {
            let now = if at + 1 == COMPARISONS { slowdown } else { 1.0 };
            let (was, is) = (self.times(n, 1.0), self.times(n, now));
            (
                format!("cell={at}"),
                "wall_ms".to_owned(),
                shift(&was, &is, FEW_DRAWS),
            )
        });
        judged(compared.collect())
    }
}

fn is_slower(timing: &Timing) -> bool {
    matches!(timing.outcome, Outcome::Slower(_))
}

/// Of 100 checks, how many say that something is slower.
fn alarms(seed: u64, sigma: f64, (n, slowdown): (usize, f64)) -> usize {
    let mut machine = Machine::new(seed, sigma);
    let checks = (0..100).map(|_| machine.check(n, slowdown));
    checks
        .filter(|timings| timings.iter().any(is_slower))
        .count()
}

/// The numbers of samples that the documentation recommends, by the spread of the times.
const RECOMMENDED: [(f64, usize); 3] = [(0.02, 10), (0.05, 20), (0.10, 60)];

#[test]
fn a_hundred_reruns_without_a_change_raise_no_more_false_alarms_than_stated() {
    for (sigma, n) in RECOMMENDED {
        let found = alarms(1, sigma, (n, 1.0));
        assert!(found <= 1, "{found} of 100 at sigma {sigma}, n {n}");
    }
}

#[test]
fn a_tenth_is_found_with_the_recommended_number_of_samples() {
    for (sigma, n) in RECOMMENDED {
        let found = alarms(2, sigma, (n, 1.1));
        assert!(found >= 90, "{found} of 100 at sigma {sigma}, n {n}");
    }
}

/// The times that ship, each cell's columns on their own.
fn committed_times() -> Vec<Vec<f64>> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("results/harness-share/cells.csv");
    let rows = RowSet::read_csv(&path, crate::results::Schema::ByName).unwrap();
    let columns = ["wall_ms", "harness_share_ms", "bare_socket_ms"];
    let columns = columns
        .iter()
        .flat_map(|column| samples(&rows, &["transport"], column));
    let times = columns.map(|(_, times)| times);
    times.filter(|times| times.len() == 30).collect()
}

#[test]
fn reruns_drawn_from_committed_times_raise_no_more_false_alarms_than_stated() {
    let committed = committed_times();
    assert_eq!(committed.len(), 8, "three cells, one without a socket");
    let mut machine = Machine::new(6, 0.0);
    let mut check = || {
        let compared = committed.iter().map(|times| {
            let mut rerun = || -> Vec<f64> {
                let drawn = times.iter().map(|_| machine.below(times.len()));
                drawn.map(|at| times[at]).collect()
            };
            let (was, is) = (rerun(), rerun());
            (
                "cell".to_owned(),
                "ms".to_owned(),
                shift(&was, &is, FEW_DRAWS),
            )
        });
        judged(compared.collect())
    };
    let alarms = (0..100).filter(|_| check().iter().any(is_slower)).count();
    assert!(alarms <= 1, "{alarms} of 100");
}

#[test]
#[ignore = "prints the rates that the documentation states"]
#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn the_rates_of_the_documentation() {
    for (sigma, n) in RECOMMENDED {
        let of_many = |slowdown| -> usize {
            (10..20)
                .map(|seed| alarms(seed, sigma, (n, slowdown)))
                .sum()
        };
        println!(
            "sigma {sigma}, n {n}: false {} of 1000, a tenth found {} of 1000",
            of_many(1.0),
            of_many(1.1)
        );
    }
}

fn compared(was: &[f64], is: &[f64]) -> Outcome {
    let one = (
        "cell".to_owned(),
        "wall_ms".to_owned(),
        shift(was, is, Bootstrap::default()),
    );
    judged(vec![one]).remove(0).outcome
}

#[test]
fn what_the_measurements_do_not_say_is_called_inconclusive() {
    let mut noisy = Machine::new(3, 0.5);
    let (was, is) = (noisy.times(12, 1.0), noisy.times(12, 1.05));
    let outcome = compared(&was, &is);
    assert!(
        matches!(outcome, Outcome::Inconclusive(Doubt::Spread(_))),
        "{outcome}"
    );
    let few = compared(&[1.0; 7], &[2.0; 7]);
    assert_eq!(
        few.to_string(),
        "inconclusive, n = 7 is too small: 10 measurements are needed"
    );
}

#[test]
fn a_quiet_machine_says_that_nothing_moved_and_that_something_got_faster() {
    let mut quiet = Machine::new(4, 0.01);
    let before = quiet.times(20, 1.0);
    let same = compared(&before, &quiet.times(20, 1.0));
    assert!(matches!(same, Outcome::Same(_)), "{same}");
    let faster = compared(&before, &quiet.times(20, 0.8));
    assert!(matches!(faster, Outcome::Faster(_)), "{faster}");
    let slower = compared(&before, &quiet.times(20, 1.2));
    assert!(
        slower.to_string().starts_with("slower, the median is 1.1"),
        "{slower}"
    );
}

#[test]
fn a_certain_but_tiny_change_is_no_alarm() {
    let mut quiet = Machine::new(5, 0.005);
    let before = quiet.times(40, 1.0);
    let tiny = compared(&before, &quiet.times(40, 1.02));
    assert!(matches!(tiny, Outcome::Same(_)), "{tiny}");
}
