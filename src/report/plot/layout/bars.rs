//! Lines of a list with bars along them, side by side in one or more panels.
//!
//! Everything here is measured from the side where reading starts, so that a language written
//! from the right has the names at the right, and bars that grow to the left.

use super::super::picture::{Bar, Bars, Fill, Panel, Tick, TickKind};
use super::super::scale::{Scale, ticks};
use super::super::scene::{Anchor, Dash, Ink, Label, Marker, Px, Role, Shape, Spot};
use super::canvas::{Block, Canvas};
use super::{MARGIN, WIDTH};

/// How thick a bar is.
const BAR: Px = 220;

/// Between a bar and what stands behind it.
const GAP: Px = 80;

/// Between two lines of the list.
const BETWEEN: Px = 200;

/// Between two panels.
const GUTTER: Px = 320;

/// The widest that a name gets before it is broken.
const WIDEST_NAME: Px = 1900;

/// A panel with everything measured.
struct Measured<'p> {
    panel: &'p Panel,
    labels: Vec<Block>,
    scale: Scale,
    start: Px,
    width: Px,
}

/// Where a line of the list is.
#[derive(Clone, Copy)]
struct Line {
    /// The lowest baseline of what stands above its bars.
    notes: Px,
    /// The upper edge of its bars.
    bar: Px,
    /// Where the next line begins.
    end: Px,
}

/// Lays out the bars below `top` and says where they end.
pub(super) fn lay(canvas: &mut Canvas<'_>, bars: &Bars, top: Px) -> Px {
    let names: Vec<Block> = bars
        .names
        .iter()
        .map(|name| Block::name(canvas.setter, name, WIDEST_NAME))
        .collect();
    let panels = measure(canvas, bars, &names);
    let mut upper = top + BETWEEN / 2;
    if let Some(heading) = &bars.heading {
        let at = (canvas.x(MARGIN), upper + Role::Note.size());
        canvas.write(heading, Role::Note, (at, canvas.start()));
        upper += Role::Note.line() + 40;
    }
    let mut lines = Vec::new();
    let mut next = upper;
    for (index, name) in names.iter().enumerate() {
        let line = line(&panels, index, (name, next));
        next = line.end;
        lines.push(line);
    }
    let bottom = axes(canvas, &panels, (upper, next));
    for (name, line) in names.iter().zip(&lines) {
        let at = (canvas.x(MARGIN), beside(name, *line));
        canvas.write_block(name, (at, canvas.start()));
    }
    for panel in &panels {
        for (bar, (label, line)) in panel.panel.bars.iter().zip(panel.labels.iter().zip(&lines)) {
            draw(canvas, panel, (bar, label, *line));
        }
    }
    bottom
}

/// The first baseline of a block whose middle is that of the bar.
fn beside(block: &Block, line: Line) -> Px {
    line.bar + BAR / 2 - block.height() / 2 + Block::ASCENT
}

fn measure<'p>(canvas: &Canvas<'_>, bars: &'p Bars, names: &[Block]) -> Vec<Measured<'p>> {
    let heading = bars.heading.as_deref().unwrap_or_default();
    let heading = canvas.setter.width(heading, Role::Note.size());
    let names = names.iter().map(|name| name.width).max().unwrap_or(0);
    let first = MARGIN + names.max(heading) + 160;
    let count = Px::try_from(bars.panels.len()).unwrap_or(1).max(1);
    let width = (WIDTH - MARGIN - first - GUTTER * (count - 1)) / count;
    let mut start = first;
    let mut measured = Vec::new();
    for panel in &bars.panels {
        let labels: Vec<Block> = panel
            .bars
            .iter()
            .map(|bar| Block::of(canvas.setter, &bar.label, width / 2))
            .collect();
        let length = length(panel, &labels, width);
        measured.push(Measured {
            panel,
            labels,
            scale: Scale::new(panel.axis.most, (start, start + length)),
            start,
            width,
        });
        start += width + GUTTER;
    }
    measured
}

/// How long the axis may be, so that what stands behind each bar has room.
fn length(panel: &Panel, labels: &[Block], width: Px) -> Px {
    let full = Scale::new(panel.axis.most, (0, width));
    let mut length = width;
    for (bar, label) in panel.bars.iter().zip(labels) {
        let (reach, room) = (full.at(bar.reach()), width - label.width - GAP);
        if label.width > 0 && reach > 0 {
            length = length.min(part_of(room, width, reach));
        }
    }
    // Never so short that nothing can be read off.
    length.max(width / 10)
}

/// `length` · `of` / `whole`.
fn part_of(length: Px, of: Px, whole: Px) -> Px {
    let product = i64::from(length) * i64::from(of) / i64::from(whole);
    Px::try_from(product).unwrap_or(Px::MAX)
}

/// Where a line is that begins at `top`: as high as the highest of what is in it.
fn line(panels: &[Measured<'_>], index: usize, (name, top): (&Block, Px)) -> Line {
    let labels = panels.iter().filter_map(|panel| panel.labels.get(index));
    let blocks = labels.map(Block::height).max().unwrap_or(0);
    let inside = blocks.max(name.height()).max(BAR);
    let bars = panels
        .iter()
        .filter_map(|panel| panel.panel.bars.get(index));
    let notes = bars.map(|bar| bar.notes.len().min(2)).max().unwrap_or(0);
    let notes = Role::Note.line() * Px::try_from(notes).unwrap_or(0);
    // What is higher than the bar stands over it on both sides.
    let over = (inside - BAR) / 2;
    let above = if notes > 0 { over.max(60) + 40 } else { over };
    let bar = top + notes + above;
    Line {
        notes: bar - above,
        bar,
        end: bar + BAR + over + BETWEEN,
    }
}

/// Draws what can be read off below and behind the bars, and says where that ends.
fn axes(canvas: &mut Canvas<'_>, panels: &[Measured<'_>], (top, bottom): (Px, Px)) -> Px {
    let floor = bottom - BETWEEN / 2;
    let mut lowest = floor;
    for panel in panels {
        let numbers = floor + 50 + Role::Small.size();
        for (at, label) in tick_labels(canvas, panel, numbers) {
            canvas.line((at, top), (at, floor), (Ink::Grid, 8));
            canvas.labels.push(label);
        }
        let origin = canvas.x(panel.start);
        canvas.line((origin, top), (origin, floor), (Ink::Strong, 12));
        let lines = canvas
            .setter
            .wrap(&panel.panel.axis.title, Role::Note.size(), panel.width);
        let mut baseline = numbers + Role::Note.line() + 20;
        for line in lines {
            canvas.write(&line, Role::Note, ((origin, baseline), canvas.start()));
            baseline += Role::Note.line();
        }
        lowest = lowest.max(baseline - Role::Note.line());
    }
    lowest + 60
}

/// As many numbers below an axis as stand there without crowding.
fn tick_labels(canvas: &Canvas<'_>, panel: &Measured<'_>, baseline: Px) -> Vec<(Px, Label)> {
    let axis = &panel.panel.axis;
    let of = |count| -> Vec<(Px, Label)> {
        let ticks = ticks(axis.most, count, axis.whole).into_iter();
        let placed = ticks.map(|tick| {
            let at = canvas.x(panel.scale.at_tick(tick));
            let text = canvas.setter.number(tick);
            let spot = ((at, baseline), Anchor::Middle);
            (at, Label::new(canvas.setter, &text, Role::Small, spot))
        });
        placed.collect()
    };
    let crowded = |labels: &[(Px, Label)]| {
        let pairs = labels.iter().zip(labels.iter().skip(1));
        let mut pairs = pairs.map(|((_, one), (_, other))| (one.bounds(), other.bounds()));
        pairs.any(|(one, other)| one.grown(70).meets(other.grown(70)))
    };
    let mut count = 7;
    let mut labels = of(count);
    while count > 2 && crowded(&labels) {
        count -= 1;
        labels = of(count);
    }
    labels
}

fn draw(canvas: &mut Canvas<'_>, panel: &Measured<'_>, (bar, label, line): (&Bar, &Block, Line)) {
    let across = |from: Px, to: Px| ((canvas.x(from), line.bar), (canvas.x(to), line.bar + BAR));
    let mut shapes = Vec::new();
    for piece in &bar.pieces {
        let seam = if piece.from > 0.0 { 6 } else { 0 };
        let (from, to) = (panel.scale.at(piece.from) + seam, panel.scale.at(piece.to));
        let (one, other) = across(from, to.max(from));
        shapes.extend(match piece.fill {
            Fill::Strong => vec![Shape::Rect(one, other, Ink::Blue)],
            Fill::Pale => vec![Shape::Rect(one, other, Ink::Pale)],
            Fill::Hatched => vec![Shape::Hatch(one, other, Ink::Vermilion)],
        });
    }
    canvas.shapes.extend(shapes);
    for tick in &bar.ticks {
        draw_tick(canvas, *tick, (panel, line));
    }
    let behind = panel.scale.at(bar.reach()) + GAP;
    let at = (canvas.x(behind), beside(label, line));
    canvas.write_block(label, (at, canvas.start()));
    notes(canvas, bar, (panel, line));
}

fn draw_tick(canvas: &mut Canvas<'_>, tick: Tick, (panel, line): (&Measured<'_>, Line)) {
    let x = canvas.x(panel.scale.at(tick.at));
    let (top, bottom) = (line.bar, line.bar + BAR);
    match tick.kind {
        TickKind::Notch => canvas.line((x, top + 50), (x, bottom - 50), (Ink::Strong, 20)),
        TickKind::Limit => canvas.line((x, top - 60), (x, bottom + 60), (Ink::Strong, 24)),
        TickKind::Stop => canvas.path(
            vec![(x, top - 70), (x, bottom + 70)],
            (Ink::Vermilion, 40, Dash::Solid),
        ),
        TickKind::Diamond => {
            let spot = (x, top + BAR / 2);
            canvas.shapes.push(Shape::Marker(spot, Marker::Diamond));
        }
    }
}

/// Writes what stands above places of a bar; one that would lie on another is a level higher,
/// with a line down to its place.
fn notes(canvas: &mut Canvas<'_>, bar: &Bar, (panel, line): (&Measured<'_>, Line)) {
    let mut taken: [Px; 2] = [Px::MIN; 2];
    for (value, text) in &bar.notes {
        let from_start = panel.scale.at(*value);
        let width = canvas.setter.width(text, Role::Note.size());
        let latest = panel.start + panel.width - width;
        let first = panel.start + 40;
        let begin = (from_start - width / 2).clamp(first, latest.max(first));
        let level = usize::from(taken[0] > begin);
        taken[level] = begin + width + GAP;
        let lift = if level == 0 { 0 } else { Role::Note.line() };
        let baseline = line.notes - lift;
        if lift > 0 {
            let x = canvas.x(from_start);
            canvas.line((x, line.bar), (x, baseline + 40), (Ink::Muted, 8));
        }
        let at: Spot = (canvas.x(begin), baseline);
        canvas.write(text, Role::Note, (at, canvas.start()));
    }
}
