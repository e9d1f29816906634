//! Pictures as pixels.

use std::sync::{Arc, LazyLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

use crate::LETTERS;

/// A picture that cannot be drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable(pub String);

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreadable {}

/// The one font there is, whatever a picture asks for.
static FONTS: LazyLock<Arc<fontdb::Database>> = LazyLock::new(|| {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(LETTERS.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    Arc::new(fonts)
});

/// Loads the font now, not with the first picture: a process that is forked in the meantime would wait for it for ever.
pub fn load_font() {
    LazyLock::force(&FONTS);
}

/// A picture of SVG as pixels: its width and height, and red, green and blue of each pixel, row by row.
///
/// # Errors
/// What is no picture, or has no size.
pub fn raster(svg: &str) -> Result<(u32, u32, Vec<u8>), Unreadable> {
    let options = Options { fontdb: Arc::clone(&FONTS), ..Options::default() };
    let tree =
        Tree::from_str(svg, &options).map_err(|error| Unreadable(format!("it is no picture: {error}")))?;
    let size = tree.size().to_int_size();
    let too_large = || Unreadable(format!("it is {} by {} pixels", size.width(), size.height()));
    let mut pixels = Pixmap::new(size.width(), size.height()).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
    let rgb = pixels.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]);
    Ok((size.width(), size.height(), rgb.collect()))
}
