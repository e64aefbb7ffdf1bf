//! Which parts of the weights are worth visiting: those that are not 0, and those that are nearest to leaving it.
use super::separable_penalty::SeparablePenalty;

/// SeparablePenalty in a working set, at least, if there are as many: a step looks at all columns once, and these
/// should be worth it.
const LEAST: usize = 512;

/// Chooses parts, in the order of their numbers: all that are not 0, and as many again that the losses pull at hardest,
/// v being -∇ of the losses. The dual distance |v_j|/λ ranks them as in Massias et al. 2018 (celer), and the set grows
/// as there.
pub fn choose<P: SeparablePenalty>(parts: &P, w: &[f64], v: &[f64]) -> Vec<u32> {
    let is_used = |part: &u32| parts.members(part).iter().any(|&j| w[j as usize] != 0.0);
    let mut chosen: Vec<u32> = (0..parts.count() as u32).filter(is_used).collect();
    let room = chosen.len().max(LEAST.saturating_sub(chosen.len()));
    let pulls = (0..parts.count() as u32).filter(|part| !is_used(part)).map(|part| (parts.pull(part, v), part));
    let mut others: Vec<(f64, u32)> = pulls.filter(|(pull, _)| *pull > 0.0).collect();
    if others.len() > room {
        // Ties are broken by number, so that the choice is the same on every machine.
        others.select_nth_unstable_by(room, |a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        others.truncate(room);
    }
    chosen.extend(others.iter().map(|&(_, part)| part));
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::separable_penalty::Coordinates;
    use crate::penalty::ElasticTerms;

    #[test]
    fn what_is_used_stays_and_the_rest_comes_by_its_pull() {
        let parts = Coordinates::new(ElasticTerms::l1(2.0), 10_000);
        let v: Vec<f64> = (0..10_000).map(|j| f64::from(j % 100)).collect();
        let mut w = vec![0.0; 10_000];
        let first = choose(&parts, &w, &v);
        assert!(first.len() == LEAST && first.iter().all(|part| part % 100 >= 94));
        for j in (0..10_000).step_by(5) {
            w[j] = -1.0;
        }
        let chosen = choose(&parts, &w, &v);
        assert_eq!(chosen.len(), 4000);
        assert!((0..10_000).step_by(5).all(|part| chosen.contains(&(part as u32))));
        assert!(chosen.is_sorted() && chosen.contains(&9999) && !chosen.contains(&1));
    }
}
