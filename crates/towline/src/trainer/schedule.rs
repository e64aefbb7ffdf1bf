//! When the proximal point method should look how far it is.

/// The next certificate comes about when the gap is expected to reach the tolerance, judging by its fall so far. The gains of sweeps, which
/// tell that for ½‖w‖², are gains of a series of other problems here.
pub struct ProximalSchedule {
    tolerance: f64,
    /// Proximal steps so far.
    steps: u64,
    /// The step and the gap of the last certificate.
    last: Option<(u64, f64)>,
    due: u64,
}

/// Steps before the first certificate.
const FIRST: u64 = 3;

impl ProximalSchedule {
    /// Nothing is known yet.
    pub fn new(tolerance: f64) -> Self {
        ProximalSchedule { tolerance, steps: 0, last: None, due: FIRST }
    }

    /// Another step has been made: is a certificate worth its scan?
    pub fn is_due(&mut self) -> bool {
        self.steps += 1;
        self.steps >= self.due
    }

    /// A certificate has found this gap.
    pub fn note(&mut self, gap: f64) {
        let steps = match self.last {
            Some((last, last_gap)) if gap < last_gap => {
                let rate = (last_gap / gap).ln() / (self.steps - last).max(1) as f64;
                (gap / self.tolerance).ln() / rate * 0.8
            }
            _ => 0.0,
        };
        self.last = Some((self.steps, gap));
        // Between an eighth and a half of what was done so far: predictions may be wrong, and a certificate costs as much as a sweep.
        self.due = self.steps + (steps as u64).clamp(1 + self.steps / 8, 1 + self.steps / 2);
    }
}
