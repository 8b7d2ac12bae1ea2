//! Accesses elements of register arrays in C++: whole words are operands, other elements are packed and unpacked.
//!
//! This module knows how registers are packed. It does not know which instruction uses them.

use hx_dtype::DType;
use hx_index::Expr;

use crate::asm::Operand;
use crate::expr::{Binding, Helper, Printer};
use crate::storage::{CType, per_word, variable};

/// A register array, as the text declares it.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// Number of variables in the array.
    pub(crate) words: u32,
}

impl Array {
    pub(crate) fn new(name: String, dtype: DType, len: u32) -> Array {
        Array { name, dtype, words: len.div_ceil(per_word(dtype)) }
    }

    /// Returns the type of the variables.
    pub(crate) fn c_type(&self) -> CType {
        variable(self.dtype)
    }
}

/// The elements `base + offsets[i]` of an array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements<'a> {
    pub(crate) array: &'a Array,
    pub(crate) base: &'a Expr,
    pub(crate) offsets: &'a [u32],
}

/// The position of an element: a variable, and the first bit in it.
#[derive(Clone, Debug)]
struct Place {
    word: String,
    shift: Shift,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Shift {
    Known(u32),
    /// A C++ expression, which is constant once loops are unrolled.
    Computed(String),
}

impl Shift {
    fn text(&self) -> String {
        match self {
            Shift::Known(s) => s.to_string(),
            Shift::Computed(text) => text.clone(),
        }
    }
}

/// The destination of an instruction's result.
#[derive(Debug)]
pub(crate) struct Destination {
    pub(crate) operand: Operand,
    /// The type of a temporary to declare; `None` if the operand is the array itself.
    pub(crate) temporary: Option<&'static str>,
    /// Statements that move the temporary into the array.
    pub(crate) after: Vec<String>,
    /// Whether other elements share the word and must be kept.
    pub(crate) partial: bool,
}

impl<'a> Elements<'a> {
    pub(crate) fn slice(self, range: std::ops::Range<usize>) -> Elements<'a> {
        Elements { offsets: &self.offsets[range], ..self }
    }

    fn bits(&self) -> u32 {
        self.array.dtype.bits()
    }

    fn place(&self, offset: u32, printer: &mut Printer) -> Place {
        let index = self.base.clone() + Expr::constant(i64::from(offset));
        let per = i64::from(per_word(self.array.dtype));
        let name = &self.array.name;
        if per == 1 {
            return Place { word: format!("{name}[{}]", printer.expr(&index).text), shift: Shift::Known(0) };
        }
        let within = index.constant_term().rem_euclid(per);
        let first = index.clone() - Expr::constant(within);
        if printer.facts.divides(per, &first) {
            let word = first.div(&Expr::constant(per), &printer.facts);
            let shift = within as u32 * self.bits();
            return Place {
                word: format!("{name}[{}]", printer.expr(&word).text),
                shift: Shift::Known(shift),
            };
        }
        let element = printer.expr(&index).operand(Binding::Prefix);
        Place {
            word: format!("{name}[{element} >> {}]", per.trailing_zeros()),
            shift: Shift::Computed(format!("({element} & {}) * {}", per - 1, self.bits())),
        }
    }

    fn consecutive(&self) -> bool {
        self.offsets.windows(2).all(|w| w[1] == w[0] + 1)
    }

    /// Returns the variable that holds all elements, and their shift in bits. `None` unless the elements are consecutive and
    /// begin at a known multiple of their width.
    fn field(&self, printer: &mut Printer) -> Option<(String, u32)> {
        let width = self.bits() * self.offsets.len() as u32;
        let place = self.place(*self.offsets.first()?, printer);
        match place.shift {
            Shift::Known(s) if self.consecutive() && s % width == 0 => Some((place.word, s)),
            _ => None,
        }
    }

    /// Returns the variables, if the elements fill whole variables in order.
    pub(crate) fn words(&self, printer: &mut Printer) -> Option<Vec<String>> {
        let per = per_word(self.array.dtype) as usize;
        if self.offsets.is_empty() || !self.offsets.len().is_multiple_of(per) {
            return None;
        }
        (0..self.offsets.len() / per)
            .map(|i| {
                let (word, shift) = self.slice(i * per..(i + 1) * per).field(printer)?;
                (shift == 0).then_some(word)
            })
            .collect()
    }

    /// Returns the elements as one operand to read. Elements of fewer than 32 bits together are a 16-bit operand.
    pub(crate) fn read(&self, printer: &mut Printer) -> Operand {
        let width = self.bits() * self.offsets.len() as u32;
        let field = self.field(printer);
        if width >= 32 {
            let text = match field {
                Some((word, _)) => word,
                None => self.packed(printer),
            };
            return Operand { constraint: self.array.c_type().constraint(), text };
        }
        let text = match field {
            Some((word, 0)) => word,
            Some((word, shift)) => format!("{word} >> {shift}"),
            None => self.packed(printer),
        };
        Operand { constraint: 'h', text: format!("(unsigned short)({text})") }
    }

    /// Returns an expression that gathers the elements into one word.
    fn packed(&self, printer: &mut Printer) -> String {
        printer.helpers.insert(Helper::Extract);
        let bits = self.bits();
        let parts: Vec<String> = self
            .offsets
            .iter()
            .enumerate()
            .map(|(i, offset)| {
                let Place { word, shift } = self.place(*offset, printer);
                let element = format!("hx_extract({word}, {}, {bits})", shift.text());
                if i == 0 { element } else { format!("({element} << {})", i as u32 * bits) }
            })
            .collect();
        parts.join(" | ")
    }

    /// Returns the elements as one operand to write. If a temporary is necessary, it gets the name `temporary`.
    pub(crate) fn write(&self, temporary: &str, printer: &mut Printer) -> Destination {
        let width = self.bits() * self.offsets.len() as u32;
        let field = self.field(printer);
        if width >= 32
            && let Some((word, _)) = field
        {
            let operand = Operand { constraint: self.array.c_type().constraint(), text: word };
            return Destination { operand, temporary: None, after: Vec::new(), partial: false };
        }
        let (constraint, c_type) = if width >= 32 { ('r', "unsigned") } else { ('h', "unsigned short") };
        Destination {
            operand: Operand { constraint, text: temporary.to_owned() },
            temporary: Some(c_type),
            after: self.insert(temporary, printer),
            partial: true,
        }
    }

    /// Returns the statements that store the low bits of the expression `value` into the elements.
    pub(crate) fn insert(&self, value: &str, printer: &mut Printer) -> Vec<String> {
        printer.helpers.insert(Helper::Insert);
        let bits = self.bits();
        let assign = |word: &str, value: &str, shift: &str, bits: u32| {
            format!("{word} = hx_insert({word}, {value}, {shift}, {bits});")
        };
        if let Some((word, shift)) = self.field(printer) {
            let width = bits * self.offsets.len() as u32;
            if width >= 32 {
                return vec![format!("{word} = {value};")];
            }
            return vec![assign(&word, value, &shift.to_string(), width)];
        }
        let each = |(i, offset): (usize, &u32)| {
            let Place { word, shift } = self.place(*offset, printer);
            let value = if i == 0 { value.to_owned() } else { format!("{value} >> {}", i as u32 * bits) };
            assign(&word, &value, &shift.text(), bits)
        };
        self.offsets.iter().enumerate().map(each).collect()
    }

    /// Returns element number `index` of these as an expression: its variable, or the bits of a narrow element.
    pub(crate) fn value(&self, index: usize, printer: &mut Printer) -> String {
        let one = self.slice(index..index + 1);
        if self.bits() >= 32 {
            return one.place(one.offsets[0], printer).word;
        }
        one.packed(printer)
    }

    /// Returns one half of a 64-bit element as an operand to read: 0 is the low half.
    pub(crate) fn read_half(&self, half: u32, printer: &mut Printer) -> Operand {
        let word = self.place(self.offsets[0], printer).word;
        let text = match (self.array.dtype.is_float(), half) {
            (true, 0) => format!("__double2loint({word})"),
            (true, _) => format!("__double2hiint({word})"),
            (false, 0) => format!("(unsigned){word}"),
            (false, _) => format!("(unsigned)({word} >> 32)"),
        };
        Operand { constraint: 'r', text }
    }

    /// Returns the statement that joins two temporaries into a 64-bit element.
    pub(crate) fn join_halves(&self, lo: &str, hi: &str, printer: &mut Printer) -> String {
        let word = self.place(self.offsets[0], printer).word;
        if self.array.dtype.is_float() {
            format!("{word} = __hiloint2double((int){hi}, (int){lo});")
        } else {
            format!("{word} = (long long)((unsigned long long){hi} << 32 | {lo});")
        }
    }
}
