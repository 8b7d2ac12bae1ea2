//! The errors of lowering, with their places, and their rendering as diagnostics.

use hx_base::{Applicability, Code, Diagnostic, Edit, FileKind, Fix, SourceFile, TextRange};
use hx_hir::{Db, ExprId, Item, ItemKey, PatId, StmtId, body_source_map, signature_source_map};

/// A place in an item, by ids rather than text ranges.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Place {
    pub item: ItemKey,
    pub part: ItemPart,
}

/// The part of an item that a place refers to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ItemPart {
    /// The name of the item.
    Name,
    /// The name of a compile-time parameter.
    Generic(usize),
    /// The name of a parameter.
    Param(usize),
    /// The PTX of a function.
    Ptx,
    /// An expression of the signature.
    Signature(ExprId),
    /// An expression of the body.
    Body(ExprId),
    /// A pattern of the body.
    Pat(PatId),
    /// The label of an argument in a call of the body.
    Label(ExprId, usize),
    /// An attribute of a statement of the body.
    Attr(StmtId, usize),
}

impl Place {
    /// Returns the file and the bytes in it. Falls back to the item's name if the part has no text of its own. `None` if the
    /// item is gone.
    pub fn range(&self, db: &dyn Db) -> Option<(SourceFile, TextRange)> {
        let item = self.item.find(db)?;
        Some((self.item.file, self.range_in(db, item) + item.offset(db)))
    }

    /// Returns the bytes from the beginning of the item, which stay the same while the item moves. `None` if the item is gone.
    pub fn range_in_item(&self, db: &dyn Db) -> Option<TextRange> {
        Some(self.range_in(db, self.item.find(db)?))
    }

    fn range_in<'db>(&self, db: &'db dyn Db, item: Item<'db>) -> TextRange {
        let name = || signature_source_map(db, item)?.name;
        self.relative(db, item).or_else(name).unwrap_or_default()
    }

    fn relative<'db>(&self, db: &'db dyn Db, item: Item<'db>) -> Option<TextRange> {
        let body = body_source_map(db, item);
        let signature = signature_source_map(db, item);
        match self.part {
            ItemPart::Name => signature?.name,
            ItemPart::Generic(i) => signature?.generics.get(i).copied(),
            ItemPart::Param(i) => signature?.params.get(i).copied(),
            ItemPart::Ptx => signature?.ptx,
            ItemPart::Signature(e) => signature?.map.expr(e),
            ItemPart::Body(e) => body?.expr(e),
            ItemPart::Pat(p) => body?.pat(p),
            ItemPart::Attr(s, i) => body?.attr(s, i),
            ItemPart::Label(e, i) => body?.label(e, i).or_else(|| body?.expr(e)),
        }
    }
}

/// A reason why a kernel has no tile program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerError {
    pub code: &'static Code,
    pub place: Place,
    /// Starts in lower case, ends without a full stop, and says what was found before what was wanted.
    pub message: String,
    /// The label at the place itself.
    pub label: String,
    /// Labels at other places that are involved.
    pub labels: Vec<(Place, String)>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
    pub fix: Option<LowerFix>,
    /// The calls through which the function with the error was inlined, innermost first.
    pub calls: Vec<Place>,
}

/// Insertions that make the error go away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LowerFix {
    /// The action, in the imperative.
    pub title: String,
    pub insert: Vec<Insertion>,
    pub applicability: Applicability,
}

/// A text to insert at a side of a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insertion {
    pub place: Place,
    /// Whether the text comes before the place, not behind it.
    pub before: bool,
    pub text: String,
}

impl Insertion {
    pub(crate) fn before(place: Place, text: impl Into<String>) -> Insertion {
        Insertion { place, before: true, text: text.into() }
    }

    pub(crate) fn behind(place: Place, text: impl Into<String>) -> Insertion {
        Insertion { place, before: false, text: text.into() }
    }

    fn edit(&self, db: &dyn Db) -> Option<Edit> {
        let (file, range) = self.place.range(db)?;
        let at = if self.before { range.start() } else { range.end() };
        Some(Edit { file, range: TextRange::empty(at), text: self.text.clone() })
    }
}

impl LowerError {
    pub fn new(code: &'static Code, place: Place, message: impl Into<String>) -> LowerError {
        LowerError {
            code,
            place,
            message: message.into(),
            label: String::new(),
            labels: Vec::new(),
            notes: Vec::new(),
            help: Vec::new(),
            fix: None,
            calls: Vec::new(),
        }
    }

    pub(crate) fn label(mut self, text: impl Into<String>) -> LowerError {
        self.label = text.into();
        self
    }

    pub(crate) fn also(mut self, place: Place, text: impl Into<String>) -> LowerError {
        self.labels.push((place, text.into()));
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> LowerError {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> LowerError {
        self.help.push(text.into());
        self
    }

    /// Converts the places to ranges. Returns `None` if the item no longer exists.
    pub fn to_diagnostic(&self, db: &dyn Db) -> Option<Diagnostic> {
        let (file, range) = self.place.range(db)?;
        let mut diagnostic =
            Diagnostic::new(self.code, file, range, self.message.clone()).label(self.label.clone());
        let calls = self.calls.iter().map(|place| (place, "called from here"));
        for (place, text) in self.labels.iter().map(|(p, t)| (p, t.as_str())).chain(calls) {
            if let Some((file, range)) = place.range(db) {
                diagnostic = diagnostic.also(file, range, text);
            }
        }
        diagnostic.notes.clone_from(&self.notes);
        diagnostic.help.clone_from(&self.help);
        if let Some(fix) = &self.fix
            && let Some(edits) = fix.insert.iter().map(|insert| insert.edit(db)).collect::<Option<Vec<_>>>()
            // A user cannot edit the library.
            && edits.iter().all(|edit| edit.file.kind(db) != FileKind::Std)
        {
            let (title, applicability) = (fix.title.clone(), fix.applicability);
            diagnostic = diagnostic.with_fix(Fix { title, edits, applicability });
        }
        Some(diagnostic)
    }
}

/// The token of a reported error. Only reporting creates one, so no failure stays silent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reported(pub(crate) ());

/// The result of lowering a part of a kernel. The error is reported before it is returned: the part breaks a rule of the language.
pub(crate) type Lower<T> = Result<T, Reported>;
