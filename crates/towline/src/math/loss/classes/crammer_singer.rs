use super::{ClassLoss, ClassRow};

/// The loss of Crammer & Singer (2001): the own class should lead every other one by 1 (SBM, problem (5)).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CrammerSinger;

/// The margin of a class with the lead that it is granted over the class of the row.
fn granted(class: usize, m: usize, margins: &[f64]) -> f64 {
    margins[m] + if m == class { 0.0 } else { 1.0 }
}

/// How far the own class is ahead of the lead that the best of the others is granted.
fn lead(class: usize, margins: &[f64]) -> f64 {
    let (before, after) = (&margins[..class], &margins[class + 1..]);
    let most = before.iter().chain(after).copied().fold(f64::NEG_INFINITY, f64::max);
    margins[class] - (most + 1.0)
}

/// The ν with Σ max(0, place_m - ν) = `total`, by leaving out classes below the mean of the others until there are none
/// (Michelot 1986): a few passes, where sorting would cost as much as the margins of a short row.
fn level(places: &[f64], total: f64) -> f64 {
    let mut nu = f64::NEG_INFINITY;
    let mut free = usize::MAX;
    loop {
        let above = places.iter().filter(|&&place| place > nu);
        let (sum, count) = above.fold((0.0, 0usize), |(sum, count), place| (sum + place, count + 1));
        // Rounding may bring back a class that lies at ν: only fewer classes are a step further.
        if count >= free || count == 0 {
            return nu;
        }
        (nu, free) = ((sum - total) / count as f64, count);
    }
}

/// A row whose dual variables move margins by less than this at most moves none: what is divided by its length is
/// rounding.
const STILL: f64 = 1e-13;

impl ClassLoss for CrammerSinger {
    fn value(&self, class: usize, margins: &[f64]) -> f64 {
        let most = (0..margins.len()).map(|m| granted(class, m, margins)).fold(f64::NEG_INFINITY, f64::max);
        most - margins[class]
    }

    fn dual_value(&self, class: usize, duals: &[f64], _c: f64) -> f64 {
        duals[class]
    }

    /// min ½q‖β' - β‖² + Σ (z_m + \[m ≠ y\]) β'_m with Σ β'_m = 0 and β'_m ≤ c\[m = y\] has the solution β'_m =
    /// min(bound_m, (ν - b_m)/q), where b_m = z_m + \[m ≠ y\] - qβ_m and ν is such that they add up to 0; a class
    /// leaves its bound where ν passes b_m + q·bound_m (Crammer & Singer 2002, section 6; Keerthi et al. 2008 for the
    /// sequential dual method).
    fn dual_step(&self, row: ClassRow, margins: &[f64], duals: &mut [f64], room: &mut [f64]) {
        let (class, c, q) = (row.class as usize, row.c, row.sq_norm);
        if q * c <= STILL {
            // The row moves no margin: β·(z + 1) alone counts, which is least at a corner.
            duals.fill(0.0);
            let others = (0..margins.len()).filter(|&m| m != class);
            let most = others.max_by(|&a, &b| margins[a].total_cmp(&margins[b]));
            if let Some(other) = most.filter(|_| lead(class, margins) < 0.0) {
                (duals[class], duals[other]) = (c, -c);
            }
            return;
        }
        if duals[class] == 0.0 && lead(class, margins) >= 0.0 {
            // All dual variables are 0, and the own class leads by enough: the row is idle, as most are.
            return;
        }
        for m in 0..margins.len() {
            room[m] = granted(class, m, margins) - q * duals[m];
        }
        let b_class = room[class];
        room[class] += q * c;
        let nu = level(room, q * c);
        for (m, dual) in duals.iter_mut().enumerate() {
            let (b, bound) = match m == class {
                true => (b_class, c),
                false => (granted(class, m, margins) - q * *dual, 0.0),
            };
            *dual = ((nu - b) / q).min(bound);
        }
    }

    fn clearance(&self, class: usize, margins: &[f64]) -> f64 {
        lead(class, margins) + 1.0
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

#[cfg(test)]
mod tests {
    use super::*;

    /// ν is 0.1, and which classes lie above it depends on rounding.
    #[test]
    fn the_level_is_found_where_classes_lie_at_it() {
        let nu = level(&[0.175, 0.1, 0.175, 0.1, 0.175, 0.175], 0.3);
        assert!((nu - 0.1).abs() < 1e-15, "{nu}");
    }
}
