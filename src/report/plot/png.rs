//! An SVG document as a PNG. There is no text left in it to set, so no font is needed.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::PlotError;

/// Draws the document, `scale` pixels for each of its own.
pub(super) fn png(svg: &str, scale: u8) -> Result<Vec<u8>, PlotError> {
    let refuse = |problem: String| PlotError::Png(problem);
    let tree =
        Tree::from_str(svg, &Options::default()).map_err(|error| refuse(error.to_string()))?;
    let size = tree.size().to_int_size();
    let scale = u32::from(scale.max(1));
    let pixmap = Pixmap::new(size.width() * scale, size.height() * scale);
    let mut pixmap = pixmap.ok_or_else(|| refuse("the picture has no size".to_owned()))?;
    let factor = f32::from(u16::try_from(scale).unwrap_or(1));
    let transform = Transform::from_scale(factor, factor);
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    pixmap
        .encode_png()
        .map_err(|error| refuse(error.to_string()))
}
