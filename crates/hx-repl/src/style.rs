//! The style of the output, and texts with drawings.

use hx_host::show::Look;
use hx_layout::draw::Drawing;
use hx_report::Format;

/// The style of the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Style {
    /// Whether results are coloured with ANSI escapes.
    pub color: bool,
    /// Whether diagnostics are coloured with ANSI escapes.
    pub diagnostics: bool,
    /// Columns and lines of the terminal; `None` for an output that is no terminal, which is neither cut nor wrapped.
    pub size: Option<(usize, usize)>,
    /// Whether values that are layouts are drawn, for a display that shows pictures.
    pub pictures: bool,
    /// The format of diagnostics.
    pub format: Format,
}

impl Style {
    /// Returns the columns of the terminal, at least [`NARROW`]; `None` if there is none.
    pub(crate) fn width(self) -> Option<usize> {
        self.size.map(|(columns, _)| columns.max(NARROW))
    }

    /// Breaks words into lines of the terminal's width. Lines after the first are indented.
    pub(crate) fn fitted(self, text: &str, indent: &str) -> String {
        self.width().map_or_else(|| text.to_owned(), |width| hx_report::wrapped(text, width, indent))
    }
}

/// Words and diagnostics are set for at least this many columns.
const NARROW: usize = 40;

/// The digits of the numbers in tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Precision {
    /// [`ROUNDED`] digits in a terminal, and all digits elsewhere, where a program may read them.
    #[default]
    ByTerminal,
    /// The shortest text that reads back as the same number of its type.
    Full,
    /// At most this number of significant digits.
    Digits(usize),
}

/// The significant digits of a number that a person reads.
const ROUNDED: usize = 5;

impl Precision {
    /// Returns the maximal number of significant digits; `None` for all.
    pub(crate) fn digits(self, style: Style) -> Option<usize> {
        match self {
            Precision::ByTerminal => style.size.map(|_| ROUNDED),
            Precision::Full => None,
            Precision::Digits(digits) => Some(digits),
        }
    }

    /// Returns the width and the digits of printed tensors.
    pub(crate) fn look(self, style: Style) -> Look {
        Look { width: style.width(), digits: self.digits(style) }
    }
}

/// A text, and the drawing that shows the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    pub text: String,
    pub drawing: Option<Drawing>,
}
