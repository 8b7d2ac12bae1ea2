//! Draws which elements of a tensor are wrong, with a character for each element or for a box of them.

/// The maximal number of lines of a picture.
const LINES: usize = 16;
/// The maximal number of characters of a line.
const COLUMNS: usize = 48;

/// The result for one element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Right,
    Wrong,
    /// The element still has the fill of new memory.
    Unwritten,
}

/// A picture of a tensor. The last dimension runs from left to right; all others together run from top to bottom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    /// `·` for right elements, `█` for wrong ones, `▒` for a box with both, `○` for unwritten memory.
    pub lines: Vec<String>,
    /// The rows and columns of the box that one character shows.
    pub scale: [usize; 2],
}

impl Picture {
    /// Draws row-major marks. Returns `None` for fewer than two elements, and for tensors without dimensions.
    pub fn new(shape: &[usize], marks: &[Mark]) -> Option<Picture> {
        let columns = *shape.last()?;
        let rows = marks.len().checked_div(columns)?;
        if marks.len() < 2 {
            return None;
        }
        // Tiles have powers of two, so boxes of powers of two show their edges.
        let scale = [rows.div_ceil(LINES), columns.div_ceil(COLUMNS)].map(usize::next_power_of_two);
        let line = |top: usize| -> String {
            let bottom = (top + scale[0]).min(rows);
            let cell = |left: usize| {
                let right = (left + scale[1]).min(columns);
                let cells = (top..bottom).flat_map(|row| &marks[row * columns + left..row * columns + right]);
                character(cells.copied())
            };
            (0..columns).step_by(scale[1]).map(cell).collect()
        };
        Some(Picture { lines: (0..rows).step_by(scale[0]).map(line).collect(), scale })
    }

    /// Explains the characters: `each character is 4 rows by 2 columns: · right, █ wrong`.
    pub fn legend(&self) -> String {
        let [rows, columns] = self.scale;
        let many = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
        let all = [('·', "right"), ('█', "wrong"), ('▒', "partly wrong"), ('○', "unwritten memory")];
        let used = all.iter().filter(|(c, _)| self.lines.iter().any(|line| line.contains(*c)));
        let used: Vec<String> = used.map(|(c, meaning)| format!("{c} {meaning}")).collect();
        let one = if self.scale == [1, 1] {
            "an element".to_owned()
        } else {
            format!("{} by {}", many(rows, "row"), many(columns, "column"))
        };
        format!("each character is {one}: {}", used.join(", "))
    }
}

fn character(marks: impl Iterator<Item = Mark>) -> char {
    let (mut all, mut right, mut unwritten) = (0, 0, 0);
    for mark in marks {
        all += 1;
        right += usize::from(mark == Mark::Right);
        unwritten += usize::from(mark == Mark::Unwritten);
    }
    match (right, unwritten) {
        (0, empty) if empty == all => '○',
        (0, _) => '█',
        (good, _) if good == all => '·',
        _ => '▒',
    }
}
