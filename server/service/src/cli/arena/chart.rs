//! The standings as a picture: shares of first places with their intervals.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::sync::Once;

use anyhow::Context as _;
use plotters::backend::BitMapBackend;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::prelude::{BLACK, Circle, IntoFont as _, PathElement, RGBColor, Rectangle, Text, WHITE};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontStyle, TextStyle, register_font};

use super::standings::Standing;

const WIDTH: i32 = 900;
/// Where names end and shares begin, and where these end.
const LEFT: i32 = 200;
const RIGHT: i32 = 700;
const HEAD: i32 = 70;
const ROW: i32 = 40;
const FOOT: i32 = 60;

const BAR: RGBColor = RGBColor(158, 188, 218);
const GRID: RGBColor = RGBColor(224, 224, 224);
const FAIR: RGBColor = RGBColor(200, 80, 60);

/// A picture of who stands how.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    /// What everybody has who is as strong as the others.
    pub(super) fair: f64,
    pub(super) rows: Vec<(&'a str, &'a Standing)>,
}

type Sheet<'a> = DrawingArea<BitMapBackend<'a>, plotters::coord::Shift>;

impl Chart<'_> {
    /// Writes it as a PNG.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn write(&self, file: &Path) -> anyhow::Result<()> {
        let told = || file.display().to_string();
        let (pixels, height) = self.draw()?;
        let mut png = png::Encoder::new(
            BufWriter::new(File::create(file).with_context(told)?),
            WIDTH.unsigned_abs(),
            height.unsigned_abs(),
        );
        png.set_color(png::ColorType::Rgb);
        png.write_header().and_then(|mut png| png.write_image_data(&pixels)).with_context(told)
    }

    /// The pixels, three bytes each, and how many rows of them there are.
    fn draw(&self) -> anyhow::Result<(Vec<u8>, i32)> {
        static LETTERED: Once = Once::new();
        LETTERED.call_once(|| {
            let _ = register_font("sans-serif", FontStyle::Normal, boardwire_draw::LETTERS);
        });
        let rows = i32::try_from(self.rows.len())?;
        let height = HEAD + ROW * rows + FOOT;
        let mut pixels = vec![0; (WIDTH * height * 3).unsigned_abs() as usize];
        let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
        let sheet = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
        sheet.fill(&WHITE)?;
        let bottom = HEAD + ROW * rows;
        text(&sheet, self.title, (20, HEAD / 2), HPos::Left, 20)?;
        for tenth in (0..=10).step_by(2) {
            let x = at(f64::from(tenth) / 10.0);
            sheet.draw(&PathElement::new([(x, HEAD), (x, bottom)], GRID))?;
            text(&sheet, &format!("{} %", 10 * tenth), (x, bottom + 15), HPos::Center, 14)?;
        }
        let fair = at(self.fair);
        sheet.draw(&PathElement::new([(fair, HEAD), (fair, bottom)], FAIR.stroke_width(2)))?;
        text(&sheet, "a fair share", (fair, bottom + 38), HPos::Center, 14)?;
        for (row, (name, standing)) in (0..).zip(&self.rows) {
            let y = HEAD + ROW * row + ROW / 2;
            let (share, (low, high)) = (at(standing.share), standing.interval);
            text(&sheet, name, (LEFT - 12, y), HPos::Right, 16)?;
            sheet.draw(&Rectangle::new([(LEFT, y - 10), (share, y + 10)], BAR.filled()))?;
            sheet.draw(&PathElement::new([(at(low), y), (at(high), y)], BLACK.stroke_width(2)))?;
            sheet.draw(&Circle::new((share, y), 4, BLACK.filled()))?;
            let figures =
                format!("{:.1} % ({:.1} to {:.1})", 100.0 * standing.share, 100.0 * low, 100.0 * high);
            text(&sheet, &figures, (RIGHT + 12, y), HPos::Left, 14)?;
        }
        sheet.present()?;
        drop(sheet);
        Ok((pixels, height))
    }
}

/// Where a share stands.
fn at(share: f64) -> i32 {
    #[expect(clippy::cast_possible_truncation, reason = "a share is 0 to 1")]
    let along = (share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT)).round() as i32;
    LEFT + along
}

fn text(sheet: &Sheet<'_>, words: &str, at: (i32, i32), side: HPos, points: i32) -> anyhow::Result<()> {
    let style = TextStyle::from(("sans-serif", points).into_font()).pos(Pos::new(side, VPos::Center));
    Ok(sheet.draw(&Text::new(words.to_owned(), at, style))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STANDING: Standing =
        Standing { seats: 40, share: 0.75, interval: (0.6, 0.875), score: Some(50.0), rating: 95.0 };

    /// The colour at a place.
    fn colour(pixels: &[u8], (x, y): (i32, i32)) -> [u8; 3] {
        let from = (y * WIDTH + x).unsigned_abs() as usize * 3;
        [pixels[from], pixels[from + 1], pixels[from + 2]]
    }

    #[test]
    fn bars_end_at_shares_and_intervals_are_lines() {
        let chart =
            Chart { title: "faraway", fair: 0.5, rows: vec![("mc", &STANDING), ("greedy", &STANDING)] };
        let (pixels, height) = chart.draw().expect("it is drawn");
        assert_eq!(pixels.len(), (WIDTH * height * 3).unsigned_abs() as usize);
        for row in [0, 1] {
            let middle = HEAD + ROW * row + ROW / 2;
            let within = |x: i32| colour(&pixels, (x, middle - 8));
            assert_eq!((within(at(0.74)), within(at(0.76))), ([158, 188, 218], [255; 3]), "the bar");
            let line = |x: i32| colour(&pixels, (x, middle));
            assert_eq!((line(at(0.61)), line(at(0.87)), line(at(0.89))), ([0; 3], [0; 3], [255; 3]));
            assert_ne!(line(at(0.5)), [200, 80, 60], "the bar and its line are before the fair share");
        }
        assert_eq!(colour(&pixels, (at(0.5), HEAD + 1)), [200, 80, 60]);
        let ink = |from: (i32, i32), to: (i32, i32)| {
            let places = (from.1..to.1).flat_map(|y| (from.0..to.0).map(move |x| (x, y)));
            places.filter(|&place| colour(&pixels, place)[0] < 128).count()
        };
        assert!(ink((20, 20), (200, 50)) > 50, "the title has letters");
        assert!(ink((150, HEAD), (LEFT - 2, HEAD + ROW)) > 20, "so have names");
    }
}
