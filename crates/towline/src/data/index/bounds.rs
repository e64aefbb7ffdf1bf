//! What is certain of the rows below a node before any of them is read.
use super::nodes::Node;

/// The angles carry rounding errors of this size at most.
const SLACK: f64 = 1e-7;

/// The margins w·x that rows below a node can have, from `dot` = w·p with its pivot p. The angle between w and a row
/// differs from that between w and the pivot by at most the largest angle between the pivot and a row; lengths stretch
/// the cosine (IBCD's wider range for rows that are not of unit length).
pub fn margins(node: &Node, dot: f64, pivot_length: f64, w_length: f64) -> (f64, f64) {
    let (least, largest) = (f64::from(node.least_length), f64::from(node.largest_length));
    let scale = w_length * pivot_length;
    let (low, high) = if scale > 0.0 {
        let angle = (dot / scale).clamp(-1.0, 1.0).acos();
        let spread = f64::from(node.least_cosine).acos() + SLACK;
        let cosine = |angle: f64| angle.clamp(0.0, std::f64::consts::PI).cos();
        (cosine(angle + spread), cosine(angle - spread))
    } else {
        (-1.0, 1.0)
    };
    let stretch =
        |cosine: f64, toward_zero: f64, away: f64| w_length * cosine * if cosine > 0.0 { toward_zero } else { away };
    (stretch(low, least, largest) - SLACK, stretch(high, largest, least) + SLACK)
}

/// Whether a row with a margin in `now` under w and in `then` under wᵗ may satisfy (10), `threshold ≤ y wᵗ·x` and
/// `y w·x < 1`, as a row of either class.
pub fn may_matter(now: (f64, f64), then: (f64, f64), threshold: f64) -> bool {
    let positive = now.0 < 1.0 && then.1 >= threshold;
    let negative = now.1 > -1.0 && then.0 <= -threshold;
    positive || negative
}
