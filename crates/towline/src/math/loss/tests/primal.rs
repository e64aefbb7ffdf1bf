//! Values, slopes and conjugates.
use super::*;

struct Curvature;

impl LossVisitor for Curvature {
    type Out = f64;

    fn visit<L: Loss>(self, loss: L) -> f64 {
        loss.curvature()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn slopes_are_differences_of_values((loss, y) in loss_and_target(), z in margin()) {
        let h = 1e-5;
        prop_assume!(kinks(loss, y).iter().all(|kink| (z - kink).abs() > 2.0 * h));
        let difference = (loss.value(y, z + h) - loss.value(y, z - h)) / (2.0 * h);
        let slope = loss.slope(y, z);
        prop_assert!((difference - slope).abs() <= 1e-7 * (1.0 + slope.abs()), "{difference} for {slope}");
        if let Ok(second) = loss.visit_smooth(Second { y, z }) {
            let difference = (loss.slope(y, z + h) - loss.slope(y, z - h)) / (2.0 * h);
            prop_assert!((difference - second).abs() <= 1e-7, "{difference} for {second}");
        }
    }

    #[test]
    fn values_lie_above_their_tangents((loss, y) in loss_and_target(), z in margin(), other in margin()) {
        let tangent = loss.value(y, z) + loss.slope(y, z) * (other - z);
        prop_assert!(loss.value(y, other) >= tangent - 1e-12 * (1.0 + tangent.abs() + loss.value(y, z)));
        prop_assert!(loss.value(y, z) >= 0.0);
    }

    #[test]
    fn slopes_change_no_faster_than_the_curvature(
        (loss, y) in loss_and_target(),
        z in margin(),
        step in magnitude(-6.0, 2.0),
    ) {
        let change = loss.slope(y, z + step) - loss.slope(y, z);
        prop_assert!(change >= -1e-15);
        prop_assert!(change <= loss.curvature() * step * (1.0 + 1e-6) + 1e-14 * (1.0 + z.abs()), "{change} in {step}");
    }

    #[test]
    fn conjugates_are_suprema((loss, y) in loss_and_target(), place in place()) {
        let u = -beta_at(loss, y, 1.0, place);
        // Far enough for every loss at hand: the logistic one is within 1e-300 of its asymptotes there.
        let (brute, _) = golden(|z| u * z - loss.value(y, z), -1000.0, 1000.0);
        let conjugate = loss.conjugate(y, u);
        prop_assert!((conjugate - brute).abs() <= 1e-9 * (1.0 + conjugate.abs()), "{conjugate} for {brute}");
    }

    #[test]
    fn conjugates_are_infinite_outside_the_bounds(
        (loss, y) in loss_and_target(),
        c in magnitude(-3.0, 3.0),
        beyond in magnitude(-3.0, 1.0),
    ) {
        let (low, high) = loss.dual_bounds(y, c);
        for beta in [low - beyond * c, high + beyond * c] {
            if beta.is_infinite() {
                continue;
            }
            prop_assert_eq!(loss.conjugate(y, -beta / c), f64::INFINITY);
            prop_assert_eq!(loss.dual_value(y, beta, c), f64::NEG_INFINITY);
            prop_assert_eq!(loss.gap(y, 0.3, beta, c), f64::INFINITY);
            // And rightly: the supremum grows without end.
            let far = |z: f64| -beta / c * z - loss.value(y, z);
            prop_assert!(far(1e6).max(far(-1e6)) > 0.5 * beyond * 1e6);
        }
    }
}

#[test]
fn curvatures_are_attained() {
    for loss in losses() {
        let most = (-4000..4000)
            .filter_map(|k| loss.visit_smooth(Second { y: 1.0, z: f64::from(k) * 1e-3 }).ok())
            .fold(f64::NAN, f64::max);
        let curvature = loss.visit(Curvature);
        assert!((most - curvature).abs() < 1e-12 || curvature.is_infinite() && most.is_nan(), "{loss:?}: {most}");
    }
}
