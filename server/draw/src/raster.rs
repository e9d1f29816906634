//! Conversion of pictures to pixels.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::FONT;
use crate::picture::BACKGROUND;

/// The error of a picture that cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RasterError(pub String);

impl std::fmt::Display for RasterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RasterError {}

/// The only font. It replaces every font that a picture requests.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// Loads the font before the first picture. A process that is forked during the load would wait for it forever.
pub fn load_font() {
    LazyLock::force(&FONTS);
}

/// The greatest height of a converted picture in pixels.
const MAX_HEIGHT: u32 = 1 << 15;

/// Converts an SVG picture to pixels: its width and height, and red, green and blue of each pixel, row by row.
///
/// With a `height`, the result has this height: a shorter picture is at the top, a taller one is scaled down.
///
/// # Errors
/// The text is not a picture, the picture has no size, or `height` is not from 1 to 32,768.
pub fn raster(svg: &str, height: Option<i64>) -> Result<(u32, u32, Vec<u8>), RasterError> {
    let options = Options { fontdb: Arc::clone(&FONTS), ..Options::default() };
    let tree =
        Tree::from_str(svg, &options).map_err(|error| RasterError(format!("not a valid SVG: {error}")))?;
    let size = tree.size().to_int_size();
    let (width, given) = (size.width(), height.unwrap_or(size.height().into()));
    let height = u32::try_from(given).ok().filter(|height| (1..=MAX_HEIGHT).contains(height));
    let height =
        height.ok_or_else(|| RasterError(format!("`height` must be from 1 to {MAX_HEIGHT}; got {given}")))?;
    let no_memory = || RasterError(format!("cannot allocate {width} x {height} pixels"));
    let mut pixels = Pixmap::new(width, height).ok_or_else(no_memory)?;
    let [red, green, blue] = BACKGROUND;
    pixels.fill(Color::from_rgba8(red, green, blue, u8::MAX));
    #[expect(
        clippy::disallowed_types,
        clippy::cast_precision_loss,
        reason = "resvg scales by floats; a picture has few pixels"
    )]
    let scale = (height as f32 / tree.size().height()).min(1.0);
    let left = (1.0 - scale) * tree.size().width() / 2.0;
    let transform = Transform::from_row(scale, 0.0, 0.0, scale, left, 0.0);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    let rgb = pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
    Ok((width, height, rgb.collect()))
}
