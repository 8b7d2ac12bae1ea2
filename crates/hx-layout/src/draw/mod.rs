//! Draws layouts: the index, the thread and value, or the bank at each coordinate.
//!
//! A [`Drawing`] is a grid of short texts with colour groups; [`Drawing::unicode`] and [`Drawing::svg`] render it. Lines mark the
//! end of the innermost part of a nested mode, so that the hierarchy is visible. This module knows no terminals and no files.

mod svg;
mod unicode;

pub use svg::{Ground, SvgStyle};

use crate::{ComposedLayout, IntTuple, Layout, LayoutError};

/// The largest number of cells in a drawing.
pub const CELL_LIMIT: i64 = 1 << 16;

/// Shared memory has 32 banks of 4 bytes.
const BANKS: i64 = 32;
const BANK_BITS: i64 = 32;

/// A cell: its text, and the group that selects its colour (`None` for an empty cell).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cell {
    pub text: String,
    pub group: Option<usize>,
    /// Every thread and value that holds the element, in order of threads; empty if the drawing is not of threads.
    pub owners: Vec<(i64, i64)>,
}

/// A grid of cells, row by row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawing {
    pub title: String,
    pub rows: usize,
    pub cols: usize,
    /// `rows * cols` cells.
    pub cells: Vec<Cell>,
    /// The distance between lines: one after every `row_step` rows and every `col_step` columns.
    pub row_step: usize,
    pub col_step: usize,
}

/// The rows and columns of a layout. Its first mode is the rows, all others together are the columns; a single mode is one row.
struct Extent {
    rows: i64,
    cols: i64,
    row_step: usize,
    col_step: usize,
}

impl Drawing {
    /// Returns the first `rows` by `cols` cells; the title says so if that is not the whole drawing.
    pub fn cropped(&self, rows: usize, cols: usize) -> Drawing {
        let (rows, cols) = (self.rows.min(rows), self.cols.min(cols));
        if (rows, cols) == (self.rows, self.cols) {
            return self.clone();
        }
        let cells = (0..rows).flat_map(|row| (0..cols).map(move |col| row * self.cols + col));
        Drawing {
            title: format!("first {rows} × {cols} of {}", self.title),
            rows,
            cols,
            cells: cells.map(|at| self.cells[at].clone()).collect(),
            row_step: self.row_step,
            col_step: self.col_step,
        }
    }

    /// Draws the index at each coordinate. The first mode goes down, the others go right; a single mode is one row.
    ///
    /// # Errors
    /// If there are more cells than [`CELL_LIMIT`] or an index does not fit an `i64`.
    pub fn memory(composed: &ComposedLayout) -> Result<Drawing, LayoutError> {
        let text = composed.source_form();
        cells(composed, text, |index| Cell {
            text: index.to_string(),
            group: Some(index.rem_euclid(8) as usize),
            owners: Vec::new(),
        })
    }

    /// Draws the bank of shared memory at each coordinate, for elements of `bits` bits. An element wider than a bank shows its
    /// first bank.
    ///
    /// # Errors
    /// As for [`Drawing::memory`], and when `bits` is below 1.
    pub fn banks(composed: &ComposedLayout, bits: i64) -> Result<Drawing, LayoutError> {
        if bits < 1 {
            return Err(LayoutError::TooSmall { what: "the width of an element", least: 1, given: bits });
        }
        let title = format!("banks of {} in {bits}-bit elements", composed.source_form());
        cells(composed, title, |index| {
            let bank = (i128::from(index) * i128::from(bits)).div_euclid(i128::from(BANK_BITS));
            let bank = bank.rem_euclid(i128::from(BANKS)) as usize;
            Cell { text: bank.to_string(), group: Some(bank), owners: Vec::new() }
        })
    }

    /// Draws the thread and value that hold each element of a tile of `rows` by `cols`. The layout's first mode counts threads,
    /// its second values; index `row + rows * col` is the element. An element held several times shows the lowest thread, that
    /// thread's lowest value, and `+`.
    ///
    /// # Errors
    /// If the layout has not two modes, reaches beyond the tile, or is too large to draw, or an extent of the tile is below 1.
    pub fn thread_value(tv: &Layout, tile: (i64, i64)) -> Result<Drawing, LayoutError> {
        let modes = tv.modes();
        let [threads, values] = modes.as_slice() else {
            return Err(LayoutError::Modes { what: "a thread-value layout", given: modes.len(), wanted: 2 });
        };
        let (rows, cols) = tile;
        let count = rows.saturating_mul(cols);
        if rows < 1 || cols < 1 {
            let given = rows.min(cols);
            return Err(LayoutError::TooSmall { what: "the extent of a tile", least: 1, given });
        }
        check_size(count)?;
        if tv.size() > 16 * CELL_LIMIT {
            return Err(LayoutError::TooLarge {
                what: "a drawing",
                count: tv.size(),
                limit: 16 * CELL_LIMIT,
            });
        }
        if tv.cosize() > count || tv.min_index() < 0 {
            let shape = IntTuple::flat(&[rows, cols]);
            return Err(LayoutError::Coordinate { coord: format!("index {}", tv.cosize() - 1), shape });
        }
        let mut owners: Vec<Vec<(i64, i64)>> = vec![Vec::new(); count as usize];
        for thread in 0..threads.size() {
            for value in 0..values.size() {
                owners[(threads.eval(thread) + values.eval(value)) as usize].push((thread, value));
            }
        }
        let at = |i: i64| owner_cell(std::mem::take(&mut owners[(i / cols + rows * (i % cols)) as usize]));
        Ok(Drawing {
            title: format!("{tv} over ({rows},{cols})"),
            rows: rows as usize,
            cols: cols as usize,
            cells: (0..count).map(at).collect(),
            row_step: rows as usize,
            col_step: cols as usize,
        })
    }

    /// Returns the width of the widest text, in characters.
    fn width(&self) -> usize {
        self.cells.iter().map(|c| c.text.chars().count()).max().unwrap_or(1)
    }

    fn cell(&self, row: usize, col: usize) -> &Cell {
        &self.cells[row * self.cols + col]
    }
}

fn owner_cell(owners: Vec<(i64, i64)>) -> Cell {
    match owners.first() {
        None => Cell { text: "·".to_string(), group: None, owners },
        Some((thread, value)) => {
            let more = if owners.len() > 1 { "+" } else { "" };
            let (text, group) = (format!("T{thread}V{value}{more}"), thread.rem_euclid(32) as usize);
            Cell { text, group: Some(group), owners }
        }
    }
}

fn check_size(cells: i64) -> Result<(), LayoutError> {
    if cells > CELL_LIMIT {
        return Err(LayoutError::TooLarge { what: "a drawing", count: cells, limit: CELL_LIMIT });
    }
    Ok(())
}

fn extent(layout: &Layout) -> Extent {
    let inner = |mode: &IntTuple, size: i64| match mode {
        IntTuple::Int(_) => size,
        IntTuple::Tuple(entries) => {
            entries.iter().find_map(|e| e.product().ok().filter(|n| *n > 1)).unwrap_or(size)
        }
    };
    let modes = layout.shape().entries();
    let size = layout.size();
    match (layout.shape(), modes) {
        (IntTuple::Tuple(_), [first, rest @ ..]) if !rest.is_empty() => {
            let rows = layout.mode(0).size();
            let cols = size / rows;
            let col_step = match rest {
                [only] => inner(only, cols),
                _ => rest[0].product().ok().filter(|n| *n > 1).unwrap_or(cols),
            };
            Extent { rows, cols, row_step: inner(first, rows) as usize, col_step: col_step as usize }
        }
        _ => Extent { rows: 1, cols: size, row_step: 1, col_step: inner(&modes[0], size) as usize },
    }
}

fn cells(
    composed: &ComposedLayout,
    title: String,
    cell: impl Fn(i64) -> Cell,
) -> Result<Drawing, LayoutError> {
    let extent = extent(&composed.layout);
    check_size(composed.size())?;
    let mut cells = Vec::with_capacity(composed.size() as usize);
    for row in 0..extent.rows {
        for col in 0..extent.cols {
            cells.push(cell(composed.try_eval(row + extent.rows * col)?));
        }
    }
    let (rows, cols) = (extent.rows as usize, extent.cols as usize);
    Ok(Drawing { title, rows, cols, cells, row_step: extent.row_step, col_step: extent.col_step })
}
