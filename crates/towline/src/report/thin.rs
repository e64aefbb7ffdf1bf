//! Curves of a million points become curves of a few hundred that look the same.
//!
//! M4 (Jugel, Jerzak, Hackenbroich and Markl, "M4: A Visualization-Oriented Time Series Data Aggregation", PVLDB 7(10),
//! 2014): of all points in a column of pixels, the first, the last, the lowest and the highest are kept. Lines between
//! columns are those between a last and a first point, and what is drawn inside a column reaches from the lowest to the
//! highest: a chart that is as many pixels wide is the same, pixel by pixel.
use serde::Serialize;

/// Columns of pixels: charts are not wider.
pub const COLUMNS: usize = 400;

/// Points that are joined by lines, from left to right; places on the axes may repeat.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Places on the first axis, ascending.
    pub x: Vec<f64>,
    /// Places on the second.
    pub y: Vec<f64>,
}

impl Curve {
    /// The points themselves.
    pub fn of(points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
        let (x, y) = points.into_iter().unzip();
        Curve { x, y }
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.x.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.x.is_empty()
    }
}

/// What is known of a column of pixels.
struct Column {
    number: usize,
    /// First, lowest, highest and last, each with its place in the order.
    kept: [(usize, f64, f64); 4],
}

/// Thins points as they come, so that no more than a few of each column are ever held.
pub struct Thinner {
    low: f64,
    width: f64,
    count: usize,
    column: Option<Column>,
    curve: Curve,
    /// The last point, which may lie on a line with the one before it and the one after it.
    pending: Option<(f64, f64)>,
}

impl Thinner {
    /// For points from `low` to `high`.
    pub fn new(low: f64, high: f64) -> Thinner {
        let width = (high - low).max(f64::MIN_POSITIVE);
        Thinner { low, width, count: 0, column: None, curve: Curve::default(), pending: None }
    }

    /// Adds a point, which lies to the right of the one before, or above or below it.
    pub fn add(&mut self, x: f64, y: f64) {
        let number = ((x - self.low) / self.width * COLUMNS as f64) as usize;
        let point = (self.count, x, y);
        self.count += 1;
        match &mut self.column {
            Some(column) if column.number == number => {
                let [_, lowest, highest, last] = &mut column.kept;
                if y < lowest.2 {
                    *lowest = point;
                }
                if y > highest.2 {
                    *highest = point;
                }
                *last = point;
            }
            _ => {
                self.close();
                self.column = Some(Column { number, kept: [point; 4] });
            }
        }
    }

    fn close(&mut self) {
        let Some(mut column) = self.column.take() else { return };
        column.kept.sort_unstable_by_key(|point| point.0);
        let mut last = usize::MAX;
        for (place, x, y) in column.kept {
            if place != last {
                self.put(x, y);
            }
            last = place;
        }
    }

    /// Leaves a point out that lies on the line between its neighbours, or is the same as the one before it.
    fn put(&mut self, x: f64, y: f64) {
        if let Some((px, py)) = self.pending
            && (px, py) != (x, y)
        {
            let before = self.curve.x.last().copied().zip(self.curve.y.last().copied());
            let is_between = before
                .is_some_and(|(bx, by)| (py - by) * (y - py) >= 0.0 && (px - bx) * (y - by) == (x - bx) * (py - by));
            if !is_between {
                self.curve.x.push(px);
                self.curve.y.push(py);
            }
        }
        self.pending = Some((x, y));
    }

    /// What is left of the points.
    pub fn finish(mut self) -> Curve {
        self.close();
        if let Some((x, y)) = self.pending {
            self.curve.x.push(x);
            self.curve.y.push(y);
        }
        self.curve
    }
}

/// Thins the points of a curve from `low` to `high`.
#[cfg(test)]
pub fn thinned(points: &[(f64, f64)], low: f64, high: f64) -> Curve {
    let mut thinner = Thinner::new(low, high);
    points.iter().for_each(|&(x, y)| thinner.add(x, y));
    thinner.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a chart of this many columns shows: in each the range from the lowest to the highest point, and where the
    /// line enters and leaves.
    fn drawn(points: &[(f64, f64)]) -> Vec<Option<[f64; 4]>> {
        let mut columns: Vec<Option<[f64; 4]>> = vec![None; COLUMNS + 1];
        for &(x, y) in points {
            let column = &mut columns[(x * COLUMNS as f64) as usize];
            let [first, low, high, _] = column.unwrap_or([y; 4]);
            *column = Some([first, low.min(y), high.max(y), y]);
        }
        columns
    }

    fn points_of(curve: &Curve) -> Vec<(f64, f64)> {
        curve.x.iter().copied().zip(curve.y.iter().copied()).collect()
    }

    proptest! {
        #[test]
        fn every_column_of_pixels_is_the_same(
            mut points in proptest::collection::vec((0.0f64..=1.0, -1.0f64..1.0), 1..3000),
        ) {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let curve = thinned(&points, 0.0, 1.0);
            prop_assert!(curve.len() <= 4 * (COLUMNS + 1));
            let kept = points_of(&curve);
            prop_assert!(kept.iter().all(|point| points.contains(point)), "only points of the curve");
            prop_assert_eq!(drawn(&kept), drawn(&points));
        }

        #[test]
        fn a_staircase_keeps_its_corners(steps in proptest::collection::vec(any::<bool>(), 1..200)) {
            let (mut x, mut y) = (0u32, 0u32);
            let mut points = vec![(0.0, 0.0)];
            let n = steps.len() as f64;
            for up in steps {
                (x, y) = if up { (x, y + 1) } else { (x + 1, y) };
                points.push((f64::from(x) / n, f64::from(y) / n));
            }
            // Every point that was left out lies on a line of the curve.
            let kept = points_of(&thinned(&points, 0.0, 1.0));
            for (x, y) in points {
                let is_on = kept.windows(2).any(|pair| {
                    let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
                    (ax..=bx).contains(&x) && (ay..=by).contains(&y)
                        && ((x - ax) * (by - ay) - (bx - ax) * (y - ay)).abs() < 1e-12
                });
                prop_assert!(is_on || kept.len() == 1, "{x} {y} of {kept:?}");
            }
        }
    }

    #[test]
    fn straight_lines_need_two_points() {
        let points: Vec<(f64, f64)> = (0..=64).map(|k| (f64::from(k) / 64.0, f64::from(k) / 32.0)).collect();
        assert_eq!(thinned(&points, 0.0, 1.0), Curve { x: vec![0.0, 1.0], y: vec![0.0, 2.0] });
        let up_and_down = [(0.5, 0.0), (0.5, 5.0), (0.5, 3.0)];
        assert_eq!(points_of(&thinned(&up_and_down, 0.0, 1.0)), up_and_down);
        assert_eq!(thinned(&[], 0.0, 1.0), Curve::default());
        assert_eq!(thinned(&[(0.5, 1.0), (0.5, 1.0)], 0.0, 1.0).len(), 1);
    }
}
