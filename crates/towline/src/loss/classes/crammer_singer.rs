use super::{ClassLoss, ClassRow};

/// The loss of Crammer & Singer (2001): the own class should lead every other one by 1 (SBM, problem (5)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrammerSinger;

/// The margin of a class with the lead that it is granted over the class of the row.
fn granted(class: usize, m: usize, margins: &[f64]) -> f64 {
    margins[m] + if m == class { 0.0 } else { 1.0 }
}

impl ClassLoss for CrammerSinger {
    fn value(&self, class: usize, margins: &[f64]) -> f64 {
        let most = (0..margins.len()).map(|m| granted(class, m, margins)).fold(f64::NEG_INFINITY, f64::max);
        most - margins[class]
    }

    fn dual_value(&self, class: usize, duals: &[f64], _c: f64) -> f64 {
        duals[class]
    }

    /// min ½q‖β' - β‖² + Σ (z_m + \[m ≠ y\]) β'_m with Σ β'_m = 0 and β'_m ≤ c\[m = y\] has the solution β'_m = min(bound_m, (ν - b_m)/q), where
    /// b_m = z_m + \[m ≠ y\] - qβ_m and ν is such that they add up to 0. Sorting by the place b_m + q·bound_m where a class leaves its bound
    /// finds it (Crammer & Singer 2002, section 6; Keerthi et al. 2008 for the sequential dual method).
    fn dual_step(&self, row: ClassRow, margins: &[f64], duals: &mut [f64], room: &mut [f64]) {
        let (class, c, q) = (row.class as usize, row.c, row.sq_norm);
        if q <= 0.0 {
            // The row moves no weight: its dual value alone counts, which is largest at the bound.
            duals.fill(0.0);
            let other = usize::from(class == 0);
            (duals[class], duals[other]) = (c, -c);
            return;
        }
        for m in 0..margins.len() {
            room[m] = granted(class, m, margins) - q * duals[m];
        }
        let b_class = room[class];
        room[class] += q * c;
        room.sort_unstable_by(|a, b| b.total_cmp(a));
        let mut sum = room[0] - q * c;
        let mut free = 1;
        while free < room.len() && sum < free as f64 * room[free] {
            sum += room[free];
            free += 1;
        }
        let nu = sum / free as f64;
        for (m, dual) in duals.iter_mut().enumerate() {
            let (b, bound) = match m == class {
                true => (b_class, c),
                false => (granted(class, m, margins) - q * *dual, 0.0),
            };
            *dual = ((nu - b) / q).min(bound);
        }
    }

    fn slack(&self, class: usize, margins: &[f64], duals: &[f64], c: f64) -> f64 {
        // The corner is the class that p puts all its weight on: the own one where all dual variables are 0.
        let mut others = (0..duals.len()).filter(|&m| m != class && duals[m] != 0.0);
        let corner = match (others.next(), others.next()) {
            (None, _) => class,
            (Some(other), None) if duals[class] == c => other,
            _ => return 0.0,
        };
        let others = (0..margins.len()).filter(|&m| m != corner).map(|m| granted(class, m, margins));
        // Two margins may move towards each other.
        (0.5 * (granted(class, corner, margins) - others.fold(f64::NEG_INFINITY, f64::max))).max(0.0)
    }
}
