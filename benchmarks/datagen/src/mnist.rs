//! Each digit of the (unpacked) IDX files, several times: shifted, turned, scaled, sheared, bent and thickened at
//! random.
//!
//! Values 0 to 1, labels 0 to 9: millions of rows with 784 features.
use std::path::Path;

use crate::Outcome;
use crate::options::Options;
use crate::output::Output;

const SIDE: i32 = 28;
const PIXELS: usize = (SIDE * SIDE) as usize;
const CENTRE: f32 = 13.5;
/// Places of the elastic grid in a row of it, and pixels between two of them.
const KNOTS: usize = 5;
const SPACING: f32 = SIDE as f32 / (KNOTS - 1) as f32;
/// Pixels that a place of the grid moves, at most.
const BEND: f32 = 1.2;

pub fn generate(images: &Path, out: &mut Output, options: &mut Options) -> Outcome {
    let labels = options.take("labels", String::new())?;
    let copies: usize = options.take("copies", 40)?;
    let seed: u64 = options.take("seed", 1)?;
    let strength: f32 = options.take("strength", 1.0)?;
    options.finish()?;
    if labels.is_empty() {
        return Err("--labels is missing: the IDX file with the labels".into());
    }
    let (pixels, labels) = (crate::read(images)?, crate::read(Path::new(&labels))?);
    // Headers of 16 and 8 bytes come first.
    let (Some(pixels), Some(labels)) = (pixels.get(16..), labels.get(8..)) else {
        return Err("the IDX files are too short".into());
    };
    if pixels.len() / PIXELS != labels.len() {
        return Err(format!("{} images and {} labels", pixels.len() / PIXELS, labels.len()).into());
    }
    let mut random = Random::new(seed);
    let texts: Vec<String> = (0..=255).map(|value| format!("{:.6}", value as f32 / 255.0)).collect();
    let mut row = Vec::with_capacity(PIXELS);
    for copy in 0..copies {
        for (i, digit) in pixels.chunks_exact(PIXELS).enumerate() {
            // Copy 0 is the digit itself.
            let view = View::draw(&mut random, if copy == 0 { 0.0 } else { strength });
            view.row(digit, &mut row);
            // The name is the digit's number: all of its copies are on the same side of the split.
            let values = row.iter().map(|&(index, value)| (index, texts[usize::from(value)].as_str()));
            out.texts(&i.to_string(), &labels[i].to_string(), values)?;
        }
    }
    Ok(())
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From -1 to 1.
    fn signed(&mut self) -> f32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 40) as f32 / (1u64 << 24) as f32 * 2.0 - 1.0
    }
}

/// How a digit is looked at.
struct View {
    shift: (f32, f32),
    turn: (f32, f32),
    zoom: f32,
    shear: f32,
    thickness: f32,
    /// How far places on a coarse grid are moved; those between move with the grid, as rubber would.
    bends: [[(f32, f32); KNOTS]; KNOTS],
}

impl View {
    fn draw(random: &mut Random, spread: f32) -> View {
        let mut draw = |most: f32| random.signed() * most * spread;
        let shift = (draw(2.0), draw(2.0));
        let turn = draw(0.2).sin_cos();
        let (zoom, shear, thickness) = (1.0 + draw(0.12), draw(0.2), 1.0 + draw(0.35));
        let bends = std::array::from_fn(|_| std::array::from_fn(|_| (draw(BEND), draw(BEND))));
        View { shift, turn, zoom, shear, thickness, bends }
    }

    /// Replaces `row` by the pixels that are not black, from 1 to 255.
    fn row(&self, digit: &[u8], row: &mut Vec<(u32, u8)>) {
        row.clear();
        for y in 0..SIDE {
            for x in 0..SIDE {
                let brightness = self.pixel(digit, x, y);
                if brightness > 0.0 {
                    let value = (brightness.powf(1.0 / self.thickness) * 255.0).round() as u8;
                    if value > 2 {
                        row.push(((y * SIDE + x + 1) as u32, value));
                    }
                }
            }
        }
    }

    /// How far the elastic grid moves a place.
    fn bend(&self, x: i32, y: i32) -> (f32, f32) {
        let (x, y) = (x as f32 / SPACING, y as f32 / SPACING);
        let (i, j) = (x as usize, y as usize);
        let (fx, fy) = (x - i as f32, y - j as f32);
        let mix = |of: fn(&(f32, f32)) -> f32| {
            let row = |j: usize| of(&self.bends[j][i]) * (1.0 - fx) + of(&self.bends[j][i + 1]) * fx;
            row(j) * (1.0 - fy) + row(j + 1) * fy
        };
        (mix(|bend| bend.0), mix(|bend| bend.1))
    }

    /// The brightness seen at a place, between the four pixels around where it comes from.
    fn pixel(&self, digit: &[u8], x: i32, y: i32) -> f32 {
        let at = |x: i32, y: i32| match (0..SIDE).contains(&x) && (0..SIDE).contains(&y) {
            true => f32::from(digit[(y * SIDE + x) as usize]) / 255.0,
            false => 0.0,
        };
        let (sin, cos) = self.turn;
        let (u, v) = ((x as f32 - CENTRE) / self.zoom, (y as f32 - CENTRE) / self.zoom);
        let bend = self.bend(x, y);
        let from_x = cos * u - sin * v + self.shear * v + CENTRE + self.shift.0 + bend.0;
        let from_y = sin * u + cos * v + CENTRE + self.shift.1 + bend.1;
        let (x0, y0) = (from_x.floor(), from_y.floor());
        let (fx, fy) = (from_x - x0, from_y - y0);
        let (x0, y0) = (x0 as i32, y0 as i32);
        (at(x0, y0) * (1.0 - fx) + at(x0 + 1, y0) * fx) * (1.0 - fy)
            + (at(x0, y0 + 1) * (1.0 - fx) + at(x0 + 1, y0 + 1) * fx) * fy
    }
}
