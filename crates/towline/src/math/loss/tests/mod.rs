//! Properties that hold for every loss in the table, for random inputs, against searches that know nothing of formulas.
mod dual;
mod primal;

use proptest::prelude::*;

use super::*;

/// The table, and the ends of the parameters' ranges.
fn losses() -> Vec<AnyLoss> {
    let mut all = ALL.to_vec();
    for (name, parameter) in
        [("epsilon-insensitive", 0.0), ("squared-epsilon-insensitive", 1.5), ("huber", 0.05), ("quantile", 0.9)]
    {
        let parameters = LossParameters { epsilon: parameter, delta: parameter, quantile: parameter };
        all.push(AnyLoss::from_name(name, parameters).unwrap());
    }
    all
}

fn any_loss() -> impl Strategy<Value = AnyLoss> {
    proptest::sample::select(losses())
}

/// A loss and a target that suits it.
fn loss_and_target() -> impl Strategy<Value = (AnyLoss, f64)> {
    (any_loss(), any::<bool>(), -5.0..5.0).prop_map(|(loss, positive, real)| {
        (loss, if !loss.is_classification() { real } else { f64::from(i8::from(positive)) * 2.0 - 1.0 })
    })
}

/// A number from 10^low to 10^high, each magnitude alike.
fn magnitude(low: f64, high: f64) -> impl Strategy<Value = f64> {
    (low..high).prop_map(|power| 10f64.powf(power))
}

fn margin() -> impl Strategy<Value = f64> {
    prop_oneof![-3.0..3.0, -40.0..40.0]
}

fn sq_norm() -> impl Strategy<Value = f64> {
    prop_oneof![4 => magnitude(-3.0, 3.0), 2 => magnitude(-12.0, 8.0), 1 => Just(0.0)]
}

/// A place in the interval of β: its ends, a hair from them, or anywhere.
fn place() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), magnitude(-18.0, -1.0), magnitude(-15.0, -1.0).prop_map(|x| 1.0 - x), 0.0..1.0]
}

/// β at that place; an unbounded side is cut at ten times the weight.
fn beta_at(loss: AnyLoss, y: f64, c: f64, place: f64) -> f64 {
    let (low, high) = loss.dual_bounds(y, c);
    let (low, high) = (low.max(-10.0 * c), high.min(10.0 * c));
    (low + place * (high - low)).clamp(low, high)
}

/// The largest value of a concave function on an interval, by golden section, and where.
fn golden(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> (f64, f64) {
    const RATIO: f64 = 0.618_033_988_749_894_8;
    let mut best = (f64::NEG_INFINITY, low);
    let mut see = |x: f64| {
        let value = f(x);
        if value > best.0 {
            best = (value, x);
        }
        value
    };
    see(low);
    see(high);
    let (mut a, mut b) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_a, mut at_b) = (see(a), see(b));
    for _ in 0..150 {
        if at_a < at_b {
            (low, a, at_a) = (a, b, at_b);
            b = low + RATIO * (high - low);
            at_b = see(b);
        } else {
            (high, b, at_b) = (b, a, at_a);
            a = high - RATIO * (high - low);
            at_a = see(a);
        }
    }
    best
}

/// The residual at which the slope jumps or bends.
fn kinks(loss: AnyLoss, y: f64) -> Vec<f64> {
    match loss {
        AnyLoss::Hinge(_) | AnyLoss::SquaredHinge(_) => vec![y],
        AnyLoss::EpsilonInsensitive(l) => vec![y - l.epsilon(), y + l.epsilon()],
        AnyLoss::SquaredEpsilonInsensitive(l) => vec![y - l.epsilon(), y + l.epsilon()],
        AnyLoss::Huber(l) => vec![y - l.delta(), y + l.delta()],
        AnyLoss::Quantile(_) => vec![y],
        AnyLoss::Logistic(_) | AnyLoss::Squared(_) => vec![],
    }
}

struct Second {
    y: f64,
    z: f64,
}

impl SmoothLossVisitor for Second {
    type Out = f64;

    fn visit<L: SmoothLoss>(self, loss: L) -> f64 {
        loss.second(self.y, self.z)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn extreme_inputs_stay_numbers(
        loss in any_loss(),
        z in proptest::sample::select(vec![-1e6, -800.0, -1.0, 0.0, 1e-300, 1.0, 800.0, 1e6]),
        q in proptest::sample::select(vec![0.0, 1e-300, 1e-12, 1.0, 1e12]),
        c in proptest::sample::select(vec![1e-8, 1.0, 1e8]),
        y in proptest::sample::select(vec![-1.0, 1.0]),
        place in place(),
    ) {
        let beta = beta_at(loss, y, c, place);
        let step = loss.dual_step(y, z, beta, q, c);
        let (low, high) = loss.dual_bounds(y, c);
        prop_assert!(step.is_finite() && step >= low && step <= high);
        for beta in [beta, step] {
            prop_assert!(loss.gap(y, z, beta, c) >= 0.0 && loss.gap(y, z, beta, c).is_finite());
            prop_assert!(loss.dual_value(y, beta, c).is_finite());
        }
        prop_assert!(loss.value(y, z).is_finite() && loss.slope(y, z).is_finite());
        let second = loss.visit_smooth(Second { y, z }).unwrap_or(0.0);
        prop_assert!(second.is_finite());
    }
}

#[test]
fn a_broken_margin_does_not_certify_itself() {
    for loss in losses() {
        for beta in [0.0, 0.3, 1e-3] {
            assert!(loss.value(1.0, f64::NAN).is_nan(), "{loss:?}");
            let gap = loss.gap(1.0, f64::NAN, beta, 1.0);
            assert!(gap.is_nan() || gap == f64::INFINITY, "{loss:?}: {gap}");
        }
    }
}
