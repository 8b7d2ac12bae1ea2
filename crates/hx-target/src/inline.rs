//! Reads a text of PTX that the source writes itself: its operands, and whether it does nothing but compute.
//!
//! `{x}` is an operand, and `{{` and `}}` are the braces of PTX, as in the rows of the catalogue. The table of instructions is
//! `catalogue/inline.toml`. The reader knows the shape of statements and the families of instructions. It does not know which
//! modifiers and operands an instruction takes: the assembler checks them.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::LazyLock;

use serde::Deserialize;

/// The effect of a family of instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Computes,
    Memory,
    Order,
    Lanes,
    Control,
}

/// A text of PTX. All ranges are bytes of the text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InlineText {
    /// The names in braces, in order.
    pub operands: Vec<InlineOperand>,
    /// The registers with `%` that the text does not declare, so they are special registers.
    pub special: Vec<Range<usize>>,
    /// The number of instructions.
    pub instructions: u32,
    pub faults: Vec<InlineFault>,
}

/// A name in braces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlineOperand {
    pub name: String,
    /// The place of the name.
    pub at: Range<usize>,
    /// Whether the instruction writes it: it is among the first operand.
    pub is_written: bool,
}

/// Something that a text may not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InlineFault {
    pub at: Range<usize>,
    pub kind: InlineFaultKind,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InlineFaultKind {
    /// The text has no instruction.
    Empty,
    Character(char),
    Comment,
    /// A `[`.
    Address,
    /// A `{` that no `}` closes, or a `}` that closes nothing.
    Brace,
    /// Braces without a name.
    NoName(String),
    /// A statement without `;`.
    Unfinished,
    Label(String),
    Directive(String),
    /// A declaration outside of the braces of PTX.
    OpenDeclaration,
    /// A name of a register that the text does not declare.
    Undeclared(String),
    Instruction(String, Option<Effect>),
}

/// Reads a text.
pub fn inline_text(text: &str) -> InlineText {
    let mut reader = Reader { text, out: InlineText::default(), words: Vec::new(), declared: Vec::new() };
    reader.characters();
    reader.statements();
    if reader.out.instructions == 0 && reader.out.faults.is_empty() {
        reader.fault(0..text.len(), InlineFaultKind::Empty);
    }
    reader.out.faults.sort_by_key(|fault| fault.at.start);
    reader.out
}

/// A part of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Word {
    /// A word of PTX: an instruction with its modifiers, a register, a number, a directive.
    Name,
    Operand,
    Open,
    Close,
    Sign,
}

struct Reader<'t> {
    text: &'t str,
    out: InlineText,
    words: Vec<(Word, Range<usize>)>,
    declared: Vec<&'t str>,
}

impl<'t> Reader<'t> {
    fn fault(&mut self, at: Range<usize>, kind: InlineFaultKind) {
        self.out.faults.push(InlineFault { at, kind });
    }

    fn of(&self, at: &Range<usize>) -> &'t str {
        &self.text[at.clone()]
    }

    /// Splits the text into words, and reports characters that no instruction has.
    fn characters(&mut self) {
        let mut at = 0;
        while let Some(c) = self.text[at..].chars().next() {
            let rest = &self.text[at..];
            let mut end = at + c.len_utf8();
            match c {
                ' ' | '\t' | '\n' => {}
                '{' | '}' if rest[1..].starts_with(c) => {
                    end += 1;
                    self.words.push((if c == '{' { Word::Open } else { Word::Close }, at..end));
                }
                '{' => end = self.operand(at),
                '}' => self.fault(at..end, InlineFaultKind::Brace),
                '/' if rest.starts_with("//") || rest.starts_with("/*") => {
                    self.fault(at..at + 2, InlineFaultKind::Comment);
                    return;
                }
                '[' => self.fault(at..end, InlineFaultKind::Address),
                ']' if self.out.faults.iter().any(|fault| fault.kind == InlineFaultKind::Address) => {}
                c if is_of_word(c) || c == '%' || c == '.' => {
                    let length = rest[1..].find(|c| !is_of_word(c) && c != '.').unwrap_or(rest.len() - 1);
                    end += length;
                    self.words.push((Word::Name, at..end));
                }
                ',' | ';' | ':' | '@' | '!' | '-' | '+' | '|' | '<' | '>' => {
                    self.words.push((Word::Sign, at..end))
                }
                c => self.fault(at..end, InlineFaultKind::Character(c)),
            }
            at = end;
        }
    }

    /// Reads the operand whose brace opens at `at`, and returns its end.
    fn operand(&mut self, at: usize) -> usize {
        let rest = &self.text[at + 1..];
        let length = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
        let name = at + 1..at + 1 + length;
        if !rest[length..].starts_with('}') {
            self.fault(at..at + 1, InlineFaultKind::Brace);
            return name.end;
        }
        if length == 0 || rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.fault(at..name.end + 1, InlineFaultKind::NoName(self.of(&name).to_owned()));
        } else {
            let (name, at) = (self.of(&name).to_owned(), name.clone());
            self.out.operands.push(InlineOperand { name, at, is_written: false });
        }
        self.words.push((Word::Operand, name.clone()));
        name.end + 1
    }

    fn statements(&mut self) {
        let words = std::mem::take(&mut self.words);
        let mut open: Vec<(bool, Range<usize>)> = Vec::new();
        let mut rest = &words[..];
        while let Some((word, at)) = rest.first() {
            match (word, self.of(at)) {
                (Word::Open, _) => open.push((true, at.clone())),
                (Word::Close, _) => {
                    if open.pop().is_none() {
                        self.fault(at.clone(), InlineFaultKind::Brace);
                    }
                }
                (Word::Sign, ";") => {}
                _ => {
                    let end = rest.iter().position(|(word, at)| *word == Word::Sign && self.of(at) == ";");
                    let (statement, after) = rest.split_at(end.unwrap_or(rest.len()));
                    self.statement(statement, !open.is_empty());
                    if end.is_none() {
                        let last = statement.last().map_or(0..0, |(_, at)| at.clone());
                        self.fault(last, InlineFaultKind::Unfinished);
                    }
                    rest = after;
                    continue;
                }
            }
            rest = &rest[1..];
        }
        for (_, at) in open {
            self.fault(at, InlineFaultKind::Brace);
        }
    }

    fn statement(&mut self, words: &[(Word, Range<usize>)], is_inside: bool) {
        let words = self.unguarded(words);
        let Some((first, at)) = words.first() else { return };
        let (name, rest) = (self.of(at), &words[1..]);
        if rest.first().is_some_and(|(_, at)| self.of(at) == ":") {
            return self.fault(at.clone(), InlineFaultKind::Label(name.to_owned()));
        }
        if name == ".reg" {
            if !is_inside {
                self.fault(at.clone(), InlineFaultKind::OpenDeclaration);
            }
            let names = rest.iter().filter(|(word, _)| *word == Word::Name).map(|(_, at)| self.of(at));
            let names: Vec<&str> = names.filter(|name| !name.starts_with('.')).collect();
            self.declared.extend(names);
            return;
        }
        if name.starts_with('.') {
            return self.fault(at.clone(), InlineFaultKind::Directive(name.to_owned()));
        }
        let family = name.split('.').next().unwrap_or(name);
        let effect = families().get(family).copied().filter(|_| *first == Word::Name);
        self.destination(rest);
        match effect {
            Some(Effect::Computes) => {
                self.out.instructions += 1;
                self.operands_of(rest);
            }
            effect => {
                let at = at.start..at.start + family.len().max(1);
                self.fault(at, InlineFaultKind::Instruction(family.to_owned(), effect));
            }
        }
    }

    /// Marks the operands of the source that an instruction writes.
    fn destination(&mut self, words: &[(Word, Range<usize>)]) {
        let mut depth = 0;
        for (word, at) in words {
            match word {
                Word::Open => depth += 1,
                Word::Close => depth -= 1,
                Word::Sign if depth == 0 && self.of(at) == "," => return,
                Word::Operand => {
                    let own = self.out.operands.iter_mut().filter(|operand| operand.at == *at);
                    own.for_each(|operand| operand.is_written = true);
                }
                Word::Sign | Word::Name => {}
            }
        }
    }

    /// Skips the guard of an instruction, `@p` or `@!p`, whose predicate must be declared.
    fn unguarded<'w>(&mut self, words: &'w [(Word, Range<usize>)]) -> &'w [(Word, Range<usize>)] {
        let sign = |i: usize, sign: &str| words.get(i).is_some_and(|(_, at)| self.of(at) == sign);
        if !sign(0, "@") {
            return words;
        }
        let end = if sign(1, "!") { 3 } else { 2 }.min(words.len());
        self.operands_of(&words[..end]);
        &words[end..]
    }

    /// Checks the registers that an instruction names.
    fn operands_of(&mut self, words: &[(Word, Range<usize>)]) {
        let mut depth = 0_i32;
        for (word, at) in words {
            let name = self.of(at);
            match word {
                Word::Open => depth += 1,
                Word::Close => depth -= 1,
                Word::Name if name.starts_with(|c: char| c.is_ascii_digit()) || name == "_" => {}
                Word::Name if self.declared.contains(&name) => {}
                Word::Name if name.starts_with('%') => self.out.special.push(at.clone()),
                Word::Name => self.fault(at.clone(), InlineFaultKind::Undeclared(name.to_owned())),
                Word::Operand | Word::Sign => {}
            }
        }
        if depth != 0 {
            let whole = words.first().map_or(0..0, |(_, at)| at.start..words[words.len() - 1].1.end);
            self.fault(whole, InlineFaultKind::Brace);
        }
    }
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Returns the families of instructions that a text may have.
pub fn inline_families() -> impl Iterator<Item = &'static str> {
    let computing = families().iter().filter(|(_, effect)| **effect == Effect::Computes);
    computing.map(|(name, _)| name.as_str())
}

/// Returns the effect of each family of `catalogue/inline.toml`.
fn families() -> &'static BTreeMap<String, Effect> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Family {
        kind: Effect,
        names: Vec<String>,
    }
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        family: Vec<Family>,
    }
    static FAMILIES: LazyLock<BTreeMap<String, Effect>> = LazyLock::new(|| {
        let read = toml::from_str(include_str!("../catalogue/inline.toml"));
        let File { family } = read.unwrap_or_else(|e| panic!("inline.toml is malformed: {e}"));
        family.into_iter().flat_map(|row| row.names.into_iter().map(move |name| (name, row.kind))).collect()
    });
    &FAMILIES
}

impl fmt::Display for InlineFaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use InlineFaultKind::*;
        match self {
            Empty => write!(f, "found no instruction"),
            Character(c) if c.is_control() => write!(f, "found {c:?}, which no instruction on registers has"),
            Character(c) => write!(f, "found `{c}`, which no instruction on registers has"),
            Comment => write!(f, "found a comment in the text of an instruction"),
            Address => write!(f, "found an address in memory: the text may compute with registers only"),
            Brace => write!(f, "found a brace without its partner"),
            NoName(name) => write!(f, "found `{{{name}}}`, expected the name of an operand in the braces"),
            Unfinished => write!(f, "expected `;` after the instruction"),
            Label(name) => write!(f, "found the label `{name}`: the text may not branch"),
            Directive(name) => write!(f, "found the directive `{name}`, expected an instruction or `.reg`"),
            OpenDeclaration => write!(f, "found `.reg` outside of braces"),
            Undeclared(name) => write!(f, "found `{name}`, which the text does not declare"),
            Instruction(name, Some(Effect::Memory)) => {
                write!(f, "`{name}` accesses memory: the text may compute with registers only")
            }
            Instruction(name, Some(Effect::Order)) => {
                write!(f, "`{name}` orders accesses or waits: the text may compute with registers only")
            }
            Instruction(name, Some(Effect::Lanes)) => {
                write!(f, "`{name}` works with other threads: the text is applied to each element by itself")
            }
            Instruction(name, Some(Effect::Control)) => {
                write!(f, "`{name}` leaves the text: the text may compute with registers only")
            }
            Instruction(name, Some(Effect::Computes) | None) => {
                write!(f, "found `{name}`, which is not known to compute with registers only")
            }
        }
    }
}

impl InlineFaultKind {
    /// Returns what to do about the fault.
    pub fn help(&self) -> Option<&'static str> {
        use InlineFaultKind::*;
        Some(match self {
            Empty => "for example `\"rcp.approx.f32 {result}, {x};\"`",
            Comment => "write it before the function, as `//`",
            Address | Instruction(_, Some(Effect::Memory)) => {
                "the checks of bounds and races could not see the access: `load`, `copy` and `atomic_add` access memory"
            }
            Brace | NoName(_) => "an operand is `{x}`, and `{{` and `}}` are the braces of PTX",
            Label(_) | Instruction(_, Some(Effect::Control)) => {
                "an instruction may have a guard, `@p`, and `selp` chooses between registers"
            }
            Directive(_) | OpenDeclaration => {
                "registers are declared in braces of PTX: `{{ .reg .b32 t; … }}`"
            }
            Undeclared(_) => "operands are in braces, `{x}`, and `{{ .reg .b32 t; … }}` declares a register",
            Instruction(_, Some(Effect::Order)) => {
                "the checks of races could not see the order: `sync()` and pipelines order accesses"
            }
            Instruction(_, Some(Effect::Lanes)) => {
                "the layout decides which thread holds an element: `reduce`, `scan` and `gemm` combine elements"
            }
            Character(_) | Unfinished | Instruction(_, Some(Effect::Computes) | None) => return None,
        })
    }
}
