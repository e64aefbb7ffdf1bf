//! Every formula against a search that knows only R.
use proptest::prelude::*;

use super::*;
use crate::block::{Block, Layout, RowInfo, ValueKind};

/// Three rows of two weights, or two of three.
const COLUMNS: usize = 6;

/// Every penalty of the table, those of matrices for several numbers of outputs, and those with a bound at 0.
fn all(lambda: f64, l1_ratio: f64) -> Vec<AnyPenalty> {
    let groups = GroupMap::new(vec![0, 1, 0, 1, 2, 2], vec![1.0, 0.7, 2.0]).unwrap();
    let given = PenaltyParameters { lambda, l1_ratio, groups: Some(groups) };
    let bounded = [lambda, 0.0].map(|lambda| AnyPenalty::NonNegative(NonNegative { lambda, l1_ratio }));
    let named = Regularizer::ALL.iter().flat_map(|name| {
        let penalty = name.with(given.clone()).unwrap();
        let outputs: &[usize] = if let Structure::Matrix(_) = penalty.structure() { &[1, 2, 3, 6] } else { &[1] };
        outputs.iter().map(move |&outputs| penalty.clone().for_outputs(outputs))
    });
    named.chain(bounded).collect()
}

/// The adaptive lasso (Zou 2006) as a program would bring it: λω_j|w_j|.
#[derive(Clone)]
struct Outside {
    lambda: f64,
}

impl Penalty for Outside {
    fn along(&self, w: &[f64]) -> (f64, f64) {
        (w.iter().enumerate().map(|(j, w)| self.lambda * (1.0 + j as f64) * w.abs()).sum(), 0.0)
    }

    fn prox(&self, eta: f64, u: &mut [f64]) {
        u.iter_mut().enumerate().for_each(|(j, u)| *u = self.prox_at(j, eta, *u));
    }

    fn conjugate(&self, v: &[f64], scale: f64) -> f64 {
        if scale <= self.feasible_scale(v) * (1.0 + ROUNDING) { 0.0 } else { f64::INFINITY }
    }

    fn feasible_scale(&self, v: &[f64]) -> f64 {
        let most = v.iter().enumerate().map(|(j, v)| v.abs() / (self.lambda * (1.0 + j as f64))).fold(0.0, f64::max);
        (1.0 / most).min(1.0)
    }
}

impl CoordinatePenalty for Outside {
    fn prox_at(&self, j: usize, eta: f64, u: f64) -> f64 {
        soft(u, eta * self.lambda * (1.0 + j as f64))
    }
}

#[test]
fn a_penalty_from_outside_is_mapped_coordinate_by_coordinate() {
    let mut map = ProxByCoordinate::new(Outside { lambda: 0.3 });
    map.set_eta(2.0);
    let u = [1.0, -3.0, 0.5, 4.0];
    let (mut all, mut wanted) = ([0.0; 4], u);
    map.map(&u, &mut all);
    Outside { lambda: 0.3 }.prox(2.0, &mut wanted);
    assert_eq!(all, wanted);
    assert!((0..4).all(|j| map.weight(j, u[j]) == wanted[j]));
    assert_eq!(Outside { lambda: 0.3 }.dual_scales(&[0.6]), [0.5; 2]);
}

fn vector() -> impl Strategy<Value = Vec<f64>> {
    proptest::collection::vec(prop_oneof![Just(0.0), -3.0..3.0f64], COLUMNS)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn prox(penalty: &AnyPenalty, eta: f64, u: &[f64]) -> Vec<f64> {
    let mut w = u.to_vec();
    penalty.prox(eta, &mut w);
    w
}

/// For a matrix of rank two at most: (σ₁ + σ₂)² = Σσ² + 2σ₁σ₂, and (σ₁σ₂)² is the sum of all squared minors
/// (Cauchy–Binet).
fn sum_of_singular_values(w: &[f64], outputs: usize) -> f64 {
    let rows: Vec<&[f64]> = w.chunks(outputs).collect();
    let mut minors = 0.0;
    for i in 0..rows.len() {
        for j in 0..i {
            for m in 0..outputs {
                minors += (0..m).map(|n| (rows[i][m] * rows[j][n] - rows[i][n] * rows[j][m]).powi(2)).sum::<f64>();
            }
        }
    }
    (dot(w, w) + 2.0 * minors.sqrt()).sqrt()
}

/// R from the definition, without any of the code under test.
fn naive(penalty: &AnyPenalty, w: &[f64]) -> f64 {
    let l1: f64 = w.iter().map(|w| w.abs()).sum();
    match penalty {
        AnyPenalty::L1(p) => p.lambda * l1,
        AnyPenalty::L2(p) => 0.5 * p.lambda * dot(w, w),
        AnyPenalty::ElasticNet(p) => p.lambda * (p.l1_ratio * l1 + 0.5 * (1.0 - p.l1_ratio) * dot(w, w)),
        AnyPenalty::Group(p) => {
            let norm = |a: f64, b: f64| (a * a + b * b).sqrt();
            p.lambda * (norm(w[0], w[2]) + 0.7 * norm(w[1], w[3]) + 2.0 * norm(w[4], w[5]))
        }
        AnyPenalty::Nuclear(p) => p.lambda * sum_of_singular_values(w, p.outputs as usize),
        AnyPenalty::NonNegative(_) if w.iter().any(|&w| w < 0.0) => f64::INFINITY,
        AnyPenalty::NonNegative(p) => p.lambda * (p.l1_ratio * l1 + 0.5 * (1.0 - p.l1_ratio) * dot(w, w)),
        AnyPenalty::None(_) => 0.0,
    }
}

proptest! {
    #[test]
    fn values_are_those_of_the_definition(w in vector(), lambda in 0.1..3.0f64, ratio in 0.0..=1.0f64, t in 0.0..3.0f64) {
        for penalty in all(lambda, ratio) {
            // Both may be infinite.
            let near = |found: f64, wanted: f64| found == wanted || (found - wanted).abs() <= 1e-12 * (1.0 + wanted);
            prop_assert!(near(penalty.value(&w), naive(&penalty, &w)), "{}", penalty.name());
            let (a, b) = penalty.along(&w);
            let scaled: Vec<f64> = w.iter().map(|w| t * w).collect();
            prop_assert!(near(t * a + t * t * b, naive(&penalty, &scaled)), "{}", penalty.name());
        }
    }

    #[test]
    fn no_point_is_better_than_the_proximal_one(
        u in vector(), other in vector(), step in 1e-4..1.0f64, lambda in 0.1..3.0f64, ratio in 0.0..=1.0f64, eta in 0.1..5.0f64
    ) {
        for penalty in all(lambda, ratio) {
            let value = |w: &[f64]| {
                let off: Vec<f64> = w.iter().zip(&u).map(|(w, u)| w - u).collect();
                naive(&penalty, w) + dot(&off, &off) / (2.0 * eta)
            };
            let w = prox(&penalty, eta, &u);
            // Near and far: on the way to another point, and at it.
            let near: Vec<f64> = w.iter().zip(&other).map(|(w, o)| w + step * o).collect();
            prop_assert!(value(&w) <= value(&near) + 1e-12 && value(&w) <= value(&other) + 1e-12, "{}", penalty.name());
        }
    }

    #[test]
    fn fenchel_and_young_hold(w in vector(), v in vector(), lambda in 0.1..3.0f64, ratio in 0.0..=1.0f64) {
        for penalty in all(lambda, ratio) {
            prop_assert!(penalty.value(&w) + penalty.conjugate(&v, 1.0) >= dot(&w, &v) - 1e-9, "{}", penalty.name());
        }
    }

    #[test]
    fn moreau_decomposes(u in vector(), lambda in 0.1..3.0f64, ratio in 0.0..=1.0f64, eta in 0.1..5.0f64) {
        // w = prox_{ηR}(u) leaves v = (u - w)/η ∈ ∂R(w): equality in Fenchel–Young, so the conjugate is exact there.
        for penalty in all(lambda, ratio) {
            let w = prox(&penalty, eta, &u);
            let v: Vec<f64> = u.iter().zip(&w).map(|(u, w)| (u - w) / eta).collect();
            if matches!(penalty, AnyPenalty::None(_)) {
                prop_assert_eq!(&w, &u);
                continue;
            }
            let gap = penalty.value(&w) + penalty.conjugate(&v, 1.0) - dot(&w, &v);
            prop_assert!(gap.abs() <= 1e-9, "{}: {gap}", penalty.name());
        }
    }

    #[test]
    fn the_scale_is_the_largest_feasible_one(v in vector(), lambda in 0.1..3.0f64, ratio in 0.0..=1.0f64) {
        for penalty in all(lambda, ratio) {
            let s = penalty.feasible_scale(&v);
            prop_assert!((0.0..=1.0).contains(&s));
            let at = |s: f64| penalty.conjugate(&v, s);
            prop_assert!(at(s).is_finite(), "{}", penalty.name());
            prop_assert!(s == 1.0 || at(s * 1.0001 + 1e-9).is_infinite(), "{}", penalty.name());
        }
    }

    #[test]
    fn strong_convexity_is_what_is_left_convex(a in vector(), b in vector(), lambda in 0.1..3.0f64, ratio in 0.0..=1.0f64) {
        for penalty in all(lambda, ratio) {
            let rest = |w: &[f64]| naive(&penalty, w) - 0.5 * penalty.strong_convexity() * dot(w, w);
            let middle: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.5 * (a + b)).collect();
            prop_assert!(rest(&middle) <= 0.5 * (rest(&a) + rest(&b)) + 1e-9, "{}", penalty.name());
        }
    }

    #[test]
    fn lazy_maps_follow_every_change(u in vector(), changes in proptest::collection::vec((0..COLUMNS, -2.0..2.0f64), 0..20),
                                     lambda in 0.1..3.0f64, ratio in 0.0..=1.0f64, eta in 0.1..5.0f64) {
        for penalty in all(lambda, ratio) {
            let mut u = u.clone();
            let mut lazy: Box<dyn LazyProx> = match penalty.structure() {
                Structure::Matrix(_) => continue,
                Structure::Groups(group) => Box::new(GroupShrinkage::new(group.clone(), eta)),
                Structure::Coordinates(terms) => Box::new(SoftThresholding::new(terms, eta)),
            };
            lazy.renew(&u);
            for &(j, by) in &changes {
                let old = u[j];
                u[j] += by;
                lazy.moved(j, old, u[j]);
            }
            let w = prox(&penalty, eta, &u);
            for j in 0..COLUMNS {
                prop_assert!((lazy.weight(j, u[j]) - w[j]).abs() <= 1e-9, "{}", penalty.name());
            }
        }
    }
}

proptest! {
    /// Margins of a row, and the map itself, while rows change U: for maps by coordinates and for the one by
    /// eigenvectors.
    #[test]
    fn matrices_follow_every_row(u in vector(), outputs in prop_oneof![Just(1usize), Just(2), Just(3)], intercept: bool,
                                 steps in proptest::collection::vec((0usize..3, -2.0..2.0f64, 0usize..3, -1.0..1.0f64), 1..12),
                                 lambda in 0.1..3.0f64, eta in 0.1..2.0f64) {
        let columns = COLUMNS / outputs;
        let nuclear = Nuclear { lambda, outputs: outputs as u32 };
        let rowwise = Group { lambda, groups: GroupMap::of_each(columns).unwrap().repeated(outputs) };
        let maps: [(AnyPenalty, Box<dyn MatrixProx>); 2] = [
            (AnyPenalty::Group(rowwise.clone()), Box::new(GroupShrinkage::new(rowwise, eta))),
            (AnyPenalty::Nuclear(nuclear), Box::new(NuclearShrinkage::new(nuclear, eta).always_fresh())),
        ];
        for (penalty, mut map) in maps {
            let mut u = u.clone();
            map.renew(&u);
            // The last column is that of the constant feature.
            let mut block = Block::new(Layout::new(false, ValueKind::F64), columns);
            for &(j, x, m, step) in &steps {
                block.clear();
                block.push(RowInfo { label: 0.0, weight: 1.0, group: 0, id: 0 }, [((j % (columns - 1).max(1)) as u32, x)]);
                let constant = if intercept || columns == 1 { 0.0 } else { 0.5 };
                let row = WholeRow { row: block.row(0), constant, sq_norm: x * x + constant * constant };
                let (mut products, mut margins) = (vec![0.0; outputs], vec![0.0; outputs]);
                map.margins(&u, row, &mut products, &mut margins);
                let w = prox(&penalty, eta, &u);
                for (m, margin) in margins.iter().enumerate() {
                    let expected = x * w[(j % (columns - 1).max(1)) * outputs + m] + constant * w[COLUMNS - outputs + m];
                    prop_assert!((margin - expected).abs() < 1e-9, "{}: {margin} {expected}", penalty.name());
                }
                map.add(&mut u, row, &products, &[((m % outputs) as u32, step)]);
            }
            let mut w = vec![0.0; COLUMNS];
            map.map(&u, &mut w);
            let expected = prox(&penalty, eta, &u);
            prop_assert!(w.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{}", penalty.name());
        }
    }
}

/// Between two eigenvector searches the map is right to first order: ten times smaller steps make a hundred times
/// smaller errors.
#[test]
fn the_nuclear_map_is_followed_to_first_order() {
    let nuclear = Nuclear { lambda: 1.0, outputs: 3 };
    let (eta, start) = (0.7, [1.4, -0.3, 0.2, 0.5, 1.1, -0.4]);
    let error = |size: f64| {
        let mut u = start.to_vec();
        let mut map = NuclearShrinkage::new(nuclear, eta);
        map.renew(&u);
        let mut block = Block::new(Layout::new(false, ValueKind::F64), 2);
        block.push(RowInfo { label: 0.0, weight: 1.0, group: 0, id: 0 }, [(0, 1.0), (1, -0.6)]);
        let row = WholeRow { row: block.row(0), constant: 0.0, sq_norm: 1.36 };
        let (mut products, mut margins) = (vec![0.0; 3], vec![0.0; 3]);
        map.margins(&u, row, &mut products, &mut margins);
        map.add(&mut u, row, &products, &[(0, size), (2, -0.7 * size)]);
        map.margins(&u, row, &mut products, &mut margins);
        let w = prox(&AnyPenalty::Nuclear(nuclear), eta, &u);
        (0..3).map(|m| (margins[m] - (w[m] - 0.6 * w[3 + m])).abs()).fold(0.0, f64::max)
    };
    let (large, small) = (error(1e-3), error(1e-4));
    assert!(large < 1e-5 && small < 0.02 * large, "{large} {small}");
    assert!(small > 0.0, "nothing was left to follow");
}

#[test]
fn names_and_files_round_trip() {
    for penalty in all(0.5, 0.25) {
        let text = serde_json::to_string(&penalty).unwrap();
        assert!(text.contains(&format!("\"name\":\"{}\"", penalty.name())), "{text}");
        assert_eq!(serde_json::from_str::<AnyPenalty>(&text).unwrap(), penalty);
    }
    let wrong = |name: &str, lambda, ratio| AnyPenalty::from_name(name, lambda, ratio, None).unwrap_err();
    assert!(matches!(wrong("l3", 1.0, 0.5), PenaltyError::UnknownName { .. }));
    assert!(matches!(wrong("l1", 0.0, 0.5), PenaltyError::Lambda { .. }));
    assert!(matches!(wrong("elastic-net", 1.0, 1.5), PenaltyError::Ratio { .. }));
    assert!(matches!(wrong("group", 1.0, 0.5), PenaltyError::NoGroups));
    let nuclear = AnyPenalty::from_name("nuclear", 1.0, 0.5, None).unwrap();
    assert!(matches!(nuclear.non_negative(), Err(PenaltyError::NonNegative { name: "nuclear" })));
    assert!(GroupMap::new(vec![0, 2], vec![1.0, 1.0]).is_err());
    assert!(GroupMap::new(vec![0], vec![0.0]).is_err());
}
