//! The state of a stepper as text.

use hx_driver::{StepSpot, Stepper, Tile};
use hx_sim::AgentState;

/// The lines around an operation that are shown.
const AROUND: u32 = 3;

/// The look of a console.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) color: bool,
    /// Columns of the screen.
    pub(crate) width: usize,
}

impl Look {
    fn painted(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.painted("1", text)
    }

    fn dim(self, text: &str) -> String {
        self.painted("2", text)
    }
}

/// Describes a place: `matmul.hx:41 in gemm_tile`.
pub(crate) fn place(stepper: &Stepper<'_>, spot: &StepSpot) -> String {
    let here = spot.here();
    format!("{}:{} in `{}`", here.file.path(stepper.db()), here.line + 1, here.name())
}

/// Describes threads: `threads 0 to 127`.
pub(crate) fn threads([first, end]: [u32; 2]) -> String {
    match end - first {
        1 => format!("thread {first}"),
        _ => format!("threads {first} to {}", end - 1),
    }
}

/// Describes the moment and the agent in focus, in one line.
pub(crate) fn moment(stepper: &Stepper<'_>, look: Look) -> String {
    let (focus, [step, length]) = (stepper.focus(), stepper.progress());
    let operation = match (stepper.spot(), focus.ended) {
        (Some(StepSpot { op: Some(op), title, .. }), _) => format!("#{op} `{title}`"),
        (Some(StepSpot { title, .. }), _) => format!("`{title}`"),
        (None, true) => "the end".to_owned(),
        (None, false) => "between operations".to_owned(),
    };
    let [x, y, z] = focus.block;
    let mut all = format!(
        "{}  step {step} of {length}, block [{x}, {y}, {z}], {}, thread {}",
        look.bold(&operation),
        threads(focus.threads),
        stepper.thread()
    );
    if let Some(waits) = &focus.waits {
        all += &format!(", waits for {waits}");
    }
    all
}

/// Returns the text around the operation in focus, with a mark at its line.
pub(crate) fn excerpt(stepper: &Stepper<'_>, look: Look) -> String {
    let Some(spot) = stepper.spot() else { return String::new() };
    let here = spot.here();
    let first = here.line.saturating_sub(AROUND);
    let lines = here.file.text(stepper.db()).lines().enumerate().skip(first as usize);
    let mut out = String::new();
    for (number, line) in lines.take(2 * AROUND as usize + 1) {
        let is_here = number == here.line as usize;
        let mark = if is_here { "▶" } else { "│" };
        let room = look.width.saturating_sub(8).max(20);
        let clipped: String = line.chars().take(room).collect();
        let text = format!("{:>5} {mark} {clipped}", number + 1);
        out += &if is_here { look.bold(&text) } else { look.dim(&text) };
        out.push('\n');
    }
    out
}

/// Describes an agent in one line.
pub(crate) fn agent(stepper: &Stepper<'_>, number: usize, agent: &AgentState, is_focus: bool) -> String {
    let mark = if is_focus { "▶" } else { " " };
    let [x, y, z] = agent.block;
    let who = format!("{mark} {number}  block [{x}, {y}, {z}], {}", threads(agent.threads));
    let spot = stepper.spot_of(agent);
    let at = spot.map(|spot| format!(" at `{}` ({})", spot.title, place(stepper, spot))).unwrap_or_default();
    match (&agent.waits, agent.ended) {
        (_, true) => format!("{who} ended"),
        (Some(waits), _) => format!("{who} waits{at} for {waits}"),
        (None, _) => format!("{who}{at}"),
    }
}

/// Draws a tile as a table that fits the width. `[…]` marks the values of the thread in focus, `*` those that differ from before.
pub(crate) fn tile(tile: &Tile, before: Option<&Tile>, thread: u32, look: Look) -> String {
    let [rows, columns] = tile.extents;
    let before = before.filter(|before| before.origin == tile.origin && before.extents == tile.extents);
    let text = |row: usize, column: usize| {
        let at = row * columns + column;
        let cell = &tile.cells[at];
        let changed = before.is_some_and(|before| before.cells[at].text != cell.text);
        let mine = cell.holder.is_some_and(|(holder, _)| holder == thread);
        let mark = if changed { "*" } else { "" };
        if mine { format!("[{}{mark}]", cell.text) } else { format!("{}{mark}", cell.text) }
    };
    let head = |column: usize| match tile.origin.len() {
        0 => String::new(),
        1 => (tile.origin[0] + column as i64).to_string(),
        _ => (tile.origin[1] + column as i64).to_string(),
    };
    let first = |row: usize| match tile.origin.len() {
        0 | 1 => String::new(),
        _ => (tile.origin[0] + row as i64).to_string(),
    };
    let margin = (0..rows).map(|row| first(row).len()).max().unwrap_or(0);
    let (mut shown, mut used) = (Vec::new(), margin + 1);
    for column in 0..columns {
        let cells = (0..rows).map(|row| text(row, column).chars().count());
        let width = cells.chain([head(column).len()]).max().unwrap_or(0);
        if used + 1 + width > look.width && !shown.is_empty() {
            break;
        }
        used += 1 + width;
        shown.push(width);
    }
    let line = |start: String, cell: &dyn Fn(usize) -> String| {
        let mut line = format!("{start:>margin$} │");
        for (column, width) in shown.iter().enumerate() {
            line += &format!(" {:>width$}", cell(column));
        }
        line + "\n"
    };
    let mut out = look.dim(line(String::new(), &head).trim_end()) + "\n";
    for row in 0..rows {
        out += &line(first(row), &|column| text(row, column));
    }
    if shown.len() < columns || is_cut(tile) {
        let next: Vec<String> =
            tile.origin.iter().enumerate().map(|(dim, at)| part(tile, dim, *at, shown.len())).collect();
        out += &look.dim(&format!("more: `print {}[{}]`", tile.named.name, next.join(", ")));
        out.push('\n');
    }
    out
}

/// Reports whether a tile is a window of a larger tensor.
fn is_cut(tile: &Tile) -> bool {
    let shown = |dim: usize| match (tile.origin.len(), dim) {
        (1, _) => tile.extents[1],
        (_, 0 | 1) => tile.extents[dim],
        _ => 1,
    };
    tile.named.shape.iter().enumerate().any(|(dim, extent)| tile.origin[dim] + (shown(dim) as i64) < *extent)
}

/// Returns the next part of a dimension as a reference has it.
fn part(tile: &Tile, dim: usize, at: i64, columns: usize) -> String {
    let is_last = if tile.origin.len() == 1 { dim == 0 } else { dim == 1 };
    match dim {
        _ if is_last => {
            let next = at + columns as i64;
            if next < tile.named.shape[dim] { format!("{next}..") } else { format!("{at}..") }
        }
        0 => format!("{at}.."),
        _ => at.to_string(),
    }
}
