//! The style of the output, and texts with drawings.

use hx_host::show::Look;
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

/// The digits of the numbers in tensors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Precision {
    /// [`ROUNDED`] digits in a terminal, and all digits elsewhere, where a program may read them.
    #[default]
    ByTerminal,
    /// As many digits as identify a number in its type.
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

    /// Returns the look of tensors.
    pub(crate) fn look(self, style: Style) -> Look {
        Look { width: style.size.map(|(columns, _)| columns), digits: self.digits(style) }
    }
}

/// A text, and the drawing that shows the same.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    pub text: String,
    pub drawing: Option<Drawing>,
}
