//! Where everything stands: a picture becomes a scene.
//!
//! Every text is measured before anything is placed, so that nothing is cut off and no label lies
//! on another, however long a language's words are.

mod bars;
mod canvas;
mod place;
mod plane;

use canvas::Canvas;

use super::picture::{Body, Picture};
use super::scene::{Anchor, Label, Px, Role, Scene};
use super::text::Typesetter;

/// How wide every plot is.
pub(super) const WIDTH: Px = 7200;

/// What stays free at each side.
pub(super) const MARGIN: Px = 160;

/// Puts a picture on a canvas as wide as all plots and as high as it needs.
pub(super) fn scene(picture: &Picture, setter: Typesetter<'_>) -> Scene {
    let mut canvas = Canvas::new(setter);
    let top = title(&mut canvas, &picture.title);
    let bottom = match &picture.body {
        Body::Plane(plane) => plane::lay(&mut canvas, plane, top),
        Body::Bars(bars) => bars::lay(&mut canvas, bars, top),
    };
    let foot = bottom + Role::Small.line();
    let end = (canvas.x(WIDTH - MARGIN), foot);
    canvas.write(&picture.made, Role::Small, (end, canvas.end()));
    canvas.clear_grid_behind_labels();
    Scene {
        width: WIDTH,
        height: foot + MARGIN,
        title: picture.title.clone(),
        description: picture.description(),
        shapes: canvas.shapes,
        labels: canvas.labels,
    }
}

/// Writes the title and says where what is below it begins.
fn title(canvas: &mut Canvas<'_>, text: &str) -> Px {
    let width = WIDTH - 2 * MARGIN;
    let (role, setter) = (Role::Title, canvas.setter);
    // Where a language leaves nothing to break at, smaller letters make the line fit.
    let mut size = role.size();
    let mut lines = setter.wrap(text, size, width);
    while size > 100 && lines.iter().any(|line| setter.width(line, size) > width) {
        size -= 4;
        lines = setter.wrap(text, size, width);
    }
    let mut baseline = MARGIN + size;
    let start = canvas.x(MARGIN);
    for line in &lines {
        let at = ((start, baseline), canvas.start());
        canvas
            .labels
            .push(Label::sized(setter, line, (role, size), at));
        baseline += role.line();
    }
    baseline - role.line() + size
}

/// The anchor at the other end.
const fn opposite(anchor: Anchor) -> Anchor {
    match anchor {
        Anchor::Left => Anchor::Right,
        Anchor::Middle => Anchor::Middle,
        Anchor::Right => Anchor::Left,
    }
}
