//! The style of the output, and texts with drawings.

use hx_layout::draw::Drawing;
use hx_report::Format;

/// The style of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Colour results with ANSI escapes.
    pub color: bool,
    /// Colour diagnostics with ANSI escapes.
    pub diagnostics: bool,
    /// Maximal columns and lines of a drawing; `None` draws everything.
    pub size: Option<(usize, usize)>,
    /// Draw values that are layouts, for a display that shows pictures.
    pub pictures: bool,
    /// The format of diagnostics.
    pub format: Format,
}

/// A text, and the drawing that shows the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    pub text: String,
    pub drawing: Option<Drawing>,
}
