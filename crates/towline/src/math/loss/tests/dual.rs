//! Gaps and dual steps.
use super::*;

/// The arguments of a dual step.
#[derive(Clone, Copy, Debug)]
struct Row {
    loss: AnyLoss,
    y: f64,
    z: f64,
    beta: f64,
    q: f64,
    c: f64,
}

fn row() -> impl Strategy<Value = Row> {
    (loss_and_target(), margin(), sq_norm(), magnitude(-6.0, 6.0), place())
        .prop_map(|((loss, y), z, q, c, place)| Row { loss, y, z, beta: beta_at(loss, y, c, place), q, c })
}

impl Row {
    /// The dual over the row as a function of the new β, from the definition of [`Loss::dual_step`].
    fn dual(self, b: f64) -> f64 {
        let d = b - self.beta;
        -0.5 * self.q * d * d - self.z * d + self.loss.dual_value(self.y, b, self.c)
    }

    /// How large the terms of that are, which is what rounding is relative to.
    fn scale(self, b: f64) -> f64 {
        let d = (b - self.beta).abs();
        let values = [b, self.beta].map(|beta| self.loss.dual_value(self.y, beta, self.c).abs());
        0.5 * self.q * d * d + self.z.abs() * d + values[0] + values[1]
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn gaps_are_fenchel_young((loss, y) in loss_and_target(), z in margin(), c in magnitude(-6.0, 6.0), place in place()) {
        let beta = beta_at(loss, y, c, place);
        let gap = loss.gap(y, z, beta, c);
        let terms = [c * loss.value(y, z), -loss.dual_value(y, beta, c), beta * z];
        let scale: f64 = terms.iter().map(|term| term.abs()).sum();
        prop_assert!(gap >= 0.0, "{gap}");
        prop_assert!((gap - terms.iter().sum::<f64>()).abs() <= 1e-12 * scale, "{gap} for {terms:?}");
    }

    #[test]
    fn within_the_slack_beta_stays(row in row(), part in -0.999f64..0.999) {
        let Row { loss, y, z, beta, q, c } = row;
        let slack = loss.slack(y, z, beta, c);
        prop_assert!(slack >= 0.0);
        if slack > 1e-9 * (1.0 + z.abs()) && q > 0.0 {
            prop_assert_eq!(loss.dual_step(y, z + part * slack, beta, q, c), beta);
        }
    }

    #[test]
    fn gradients_are_derivatives_of_the_dual(row in row()) {
        let Row { loss, y, z, beta, c, .. } = row;
        let (low, high) = loss.dual_bounds(y, c);
        let h = 1e-4 * c;
        let gradient = loss.dual_gradient(y, z, beta, c);
        let slack = loss.slack(y, z, beta, c);
        let sign = if loss.is_classification() { y } else { 1.0 };
        if slack > 0.0 {
            // It pushes against the bound that holds the row, or says nothing.
            let pushed = beta + sign * gradient.signum() * h;
            prop_assert!(gradient == 0.0 || (gradient.abs() - slack).abs() <= 1e-9 * (1.0 + z.abs()));
            prop_assert!(gradient == 0.0 || pushed <= low || pushed >= high, "{gradient}");
        } else if beta - h > low.max(-5.0 * c) && beta + h < high.min(5.0 * c) && (beta.abs() > 2.0 * h) {
            let value = |b: f64| loss.dual_value(y, b, c) - z * (b - beta);
            let difference = sign * (value(beta + h) - value(beta - h)) / (2.0 * h);
            let scale = 1.0 + z.abs() + y.abs();
            // The conjugate of the logistic loss curves without limit at its ends.
            let curve = if matches!(loss, AnyLoss::Logistic(_)) { c / (beta - low).min(high - beta) } else { 0.0 };
            prop_assert!((gradient - difference).abs() <= 1e-4 * (scale + curve), "{gradient} {difference}");
        }
    }

    #[test]
    fn gaps_vanish_at_the_slope((loss, y) in loss_and_target(), z in margin(), c in magnitude(-6.0, 6.0)) {
        let (low, high) = loss.dual_bounds(y, c);
        // The clamp is for Huber's cδ, a product that rounds.
        let beta = (-c * loss.slope(y, z)).clamp(low, high);
        let gap = loss.gap(y, z, beta, c);
        // Far below what the sum of the three terms could resolve; but near c a logistic β itself is rounded to 1e-16
        // of c.
        let rounded = matches!(loss, AnyLoss::Logistic(_)) && y * z < 0.0;
        let allowed = if rounded { 1e-15 * c } else { 1e-25 * c * (1.0 + z * z) };
        prop_assert!(gap >= 0.0 && gap <= allowed, "{gap:e}");
    }

    #[test]
    fn gaps_grow_as_the_square_near_the_slope(
        (loss, y) in loss_and_target(),
        z in -3.0..3.0,
        c in magnitude(-6.0, 6.0),
        off in magnitude(-7.0, -4.0),
    ) {
        // A smooth loss with L''(z) = h has gap (Δβ)²/(2ch) to first order: a test of digits that no cancellation
        // passes.
        let second = loss.visit_smooth(Second { y, z }).unwrap_or(0.0);
        if second == 0.0 || kinks(loss, y).iter().any(|kink| (z - kink).abs() < 0.01) {
            return Ok(());
        }
        let at = -c * loss.slope(y, z);
        let beta = at * (1.0 + off);
        let (low, high) = loss.dual_bounds(y, c);
        prop_assume!(beta > low && beta < high && at != 0.0);
        let expected = (beta - at) * (beta - at) / (2.0 * c * second);
        let gap = loss.gap(y, z, beta, c);
        prop_assert!((gap / expected - 1.0).abs() <= 1e-2, "{gap:e} for {expected:e}");
    }

    #[test]
    fn dual_steps_beat_a_search(row in row()) {
        let Row { loss, y, z, beta, q, c } = row;
        let step = loss.dual_step(y, z, beta, q, c);
        let (low, high) = loss.dual_bounds(y, c);
        prop_assert!(step >= low && step <= high, "{step} outside {low}..{high}");
        // Unbounded sides belong to losses of curvature κ, whose β is at most κc times the largest residual on the way.
        let reach = 10.0 * (c * (1.0 + z.abs() + y.abs() + q * beta.abs()) + beta.abs());
        let (brute, at) = golden(|b| row.dual(b), low.max(-reach), high.min(reach));
        let scale = row.scale(step).min(row.scale(at));
        // And one rounding of β itself, which shows where the optimum is within a few spacings of c.
        let rounding = f64::EPSILON * step.abs() * (z.abs() + q * (step - beta).abs());
        let found = row.dual(step);
        prop_assert!(found >= brute - 1e-9 * scale - rounding, "{found:e} at {step:e}, search {brute:e} at {at:e}");
    }

    #[test]
    fn dual_steps_close_the_gap(row in row()) {
        // After the step the row satisfies its optimality condition; sharper than values, which are flat at the top.
        let Row { loss, y, z, beta, q, c } = row;
        let step = loss.dual_step(y, z, beta, q, c);
        let z = z + q * (step - beta);
        // What rounding of the margin alone may cost: a shift e of z moves the gap by e·c at a kink, and e²c elsewhere.
        let shift = 1e-15 * (z.abs() + q * beta.abs().max(step.abs()) + y.abs() + 1.0);
        let allowed = 4.0 * shift * (step.abs() + c) + 10.0 * c * shift * shift;
        let gap = loss.gap(y, z, step, c);
        prop_assert!(gap <= allowed, "{gap:e} over {allowed:e} at {step:e}");
    }

    #[test]
    fn dual_steps_are_idempotent(row in row()) {
        let Row { loss, y, z, beta, q, c } = row;
        let step = loss.dual_step(y, z, beta, q, c);
        // An empty row keeps its margin, and at a kink all β are equally good.
        let z = z + q * (step - beta);
        let again = loss.dual_step(y, z, step, q, c);
        let size = step.abs() + c.min((z.abs() + y.abs() + 1.0) / q) + beta.abs();
        prop_assert!((again - step).abs() <= 1e-12 * size, "{step:e}, then {again:e}");
    }

    #[test]
    fn starts_are_inside((loss, y) in loss_and_target(), c in magnitude(-8.0, 8.0)) {
        let start = loss.initial_dual(y, c);
        let (low, high) = loss.dual_bounds(y, c);
        prop_assert!(low <= start && start <= high && start.abs() <= 1e-8);
        prop_assert_eq!(start != 0.0, matches!(loss, AnyLoss::Logistic(_)));
        prop_assert!(start == 0.0 || (low < start && start < high));
    }
}
