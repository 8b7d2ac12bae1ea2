//! The state of a stepper as text.

use hx_driver::{StepSpot, Stepper, Tile};
use hx_sim::AgentState;

/// The number of lines that are shown before and after the line of an operation.
const AROUND: u32 = 3;

/// The colour and width of a console.
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

/// Describes a place: ``matmul.hx:41 in `gemm_tile` ``.
pub(crate) fn place(stepper: &Stepper<'_>, spot: &StepSpot) -> String {
    let here = spot.here();
    format!("{}:{} in `{}`", here.file.path(stepper.db()), here.line + 1, here.name())
}

/// Describes threads, `end` excluded: `thread 3`, or `threads 0 to 127` for `[0, 128]`.
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

/// Returns the source lines around the operation in focus, with a mark at its own line; empty between operations.
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

/// Draws a tile as a table that fits the width; columns that do not fit are left out. `[…]` marks the values of the thread in
/// focus, `*` the values that differ from `before`.
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
    if let Some(next) = next(&tile.named.shape, &tile.origin, [rows, shown.len()]) {
        out += &look.dim(&format!("more: `print {}[{next}]`", tile.named.name));
        out.push('\n');
    }
    out
}

/// Returns the start of the part of a tensor after a part of `[rows, columns]`, as `print` takes it: first further columns, then
/// further rows, then the next coordinate along another dimension. `None` after the last part.
fn next(shape: &[i64], origin: &[i64], [rows, columns]: [usize; 2]) -> Option<String> {
    let mut at = origin.to_vec();
    let (column, row) = if at.len() == 1 { (0, None) } else { (1, Some(0)) };
    let advanced = |at: i64, dim: usize, by: usize| {
        let next = at + by as i64;
        (next < *shape.get(dim)?).then_some(next)
    };
    if let Some(next) = advanced(*at.get(column)?, column, columns) {
        at[column] = next;
    } else {
        at[column] = 0;
        match row.and_then(|row| advanced(at[row], row, rows)) {
            Some(next) => at[0] = next,
            None => {
                at.iter_mut().take(2).for_each(|at| *at = 0);
                let dim = (2..at.len()).find(|dim| at[*dim] + 1 < shape[*dim])?;
                at[2..dim].fill(0);
                at[dim] += 1;
            }
        }
    }
    let part = |(dim, at): (usize, &i64)| if dim < 2 { format!("{at}..") } else { at.to_string() };
    Some(at.iter().enumerate().map(part).collect::<Vec<_>>().join(", "))
}

/// Formats coordinates or extents: `3, 4`.
pub(crate) fn listed(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn the_parts_of_a_tensor_follow_each_other() {
        assert_eq!(next(&[64], &[0], [1, 20]).as_deref(), Some("20.."));
        assert_eq!(next(&[64], &[44], [1, 20]), None);
        assert_eq!(next(&[64, 64], &[0, 0], [16, 20]).as_deref(), Some("0.., 20.."));
        assert_eq!(next(&[64, 64], &[0, 44], [16, 20]).as_deref(), Some("16.., 0.."));
        assert_eq!(next(&[64, 8], &[0, 0], [16, 8]).as_deref(), Some("16.., 0.."));
        assert_eq!(next(&[16, 8], &[0, 0], [16, 8]), None);
        assert_eq!(next(&[16, 8, 3], &[0, 0, 1], [16, 8]).as_deref(), Some("0.., 0.., 2"));
        assert_eq!(next(&[16, 8, 3], &[0, 0, 2], [16, 8]), None);
    }
}
