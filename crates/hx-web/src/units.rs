//! Converts between byte offsets, which the compiler counts, and UTF-16 units, which a page counts.

use hx_base::{TextRange, TextSize};
use serde::Serialize;

/// A range of a text, in UTF-16 units from its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Span {
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// A table that converts between bytes and UTF-16 units of one text.
#[derive(Debug)]
pub(crate) struct Units {
    /// The characters outside of ASCII, in order.
    wide: Vec<Wide>,
    bytes: u32,
}

/// A character outside of ASCII: its offset and its length, each in bytes and in UTF-16 units.
#[derive(Clone, Copy, Debug)]
struct Wide {
    byte: u32,
    unit: u32,
    bytes: u32,
    units: u32,
}

impl Units {
    pub(crate) fn of(text: &str) -> Units {
        let (mut wide, mut unit) = (Vec::new(), 0);
        for (byte, character) in text.char_indices() {
            let (bytes, units) = (character.len_utf8() as u32, character.len_utf16() as u32);
            if !character.is_ascii() {
                wide.push(Wide { byte: byte as u32, unit, bytes, units });
            }
            unit += units;
        }
        Units { wide, bytes: text.len() as u32 }
    }

    /// Converts a byte offset to an offset in UTF-16 units.
    pub(crate) fn unit(&self, byte: TextSize) -> u32 {
        let byte = u32::from(byte).min(self.bytes);
        match self.wide.iter().rev().find(|wide| wide.byte < byte) {
            Some(wide) => wide.unit + wide.units + byte.saturating_sub(wide.byte + wide.bytes),
            None => byte,
        }
    }

    /// Converts an offset in UTF-16 units to a byte offset. An offset between the two units of a character becomes the end of the
    /// character.
    pub(crate) fn byte(&self, unit: u32) -> TextSize {
        let byte = match self.wide.iter().rev().find(|wide| wide.unit < unit) {
            Some(wide) => wide.byte + wide.bytes + unit.saturating_sub(wide.unit + wide.units),
            None => unit,
        };
        TextSize::new(byte.min(self.bytes))
    }

    pub(crate) fn span(&self, range: TextRange) -> Span {
        Span { from: self.unit(range.start()), to: self.unit(range.end()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_to_units_and_back() {
        // `é` has 2 bytes and 1 unit, `⟨` 3 and 1, `𝄞` 4 and 2.
        let text = "aé⟨b𝄞c";
        let units = Units::of(text);
        let mut expected = 0;
        for (byte, character) in text.char_indices() {
            let byte = TextSize::new(byte as u32);
            assert_eq!(units.unit(byte), expected, "{character}");
            assert_eq!(units.byte(expected), byte, "{character}");
            expected += character.len_utf16() as u32;
        }
        assert_eq!(units.byte(expected), TextSize::of(text));
        assert_eq!(units.byte(99), TextSize::of(text));
        assert_eq!(units.unit(TextSize::new(99)), expected);
    }
}
