//! Completion in host code only: members of values, and the names of a session.

use hx_base::FileKind;
use hx_hir::{Path, PathTarget, Place, Ty, builtins, is_binding, names_in_scope, resolve_path};
use hx_host::eval::{LAYOUT_FIELDS, TENSOR_FIELDS};

use super::{Completing, CompletionKind};
use crate::hover::place_at;

impl Completing<'_> {
    /// Reports whether the text is a cell of a session, which sees the cells before it.
    pub(super) fn is_cell(&self) -> bool {
        self.file.kind(self.db) == FileKind::Cell
    }

    /// Returns whether the code at the offset runs on the host or the device. `None` between items, where only an item may begin.
    pub(super) fn place(&mut self) -> Option<Place> {
        let place = place_at(self.db, self.file, self.range.start());
        let is_cell = self.is_cell();
        if place.is_none() {
            self.top();
        }
        if is_cell {
            // A cell may begin with an item as well as with a statement.
            self.session(place.unwrap_or(Place::Host));
        }
        place.or(is_cell.then_some(Place::Host))
    }

    /// Adds the items of this cell and of earlier ones, and in host code also their values. Kernels and functions do not see
    /// values.
    fn session(&mut self, place: Place) {
        let (db, file) = (self.db, self.file);
        for name in names_in_scope(db, file, place == Place::Host) {
            let target = (!is_binding(db, file, &name))
                .then(|| resolve_path(db, file, &Path { segments: vec![name.clone()] }))
                .flatten();
            match target {
                Some(PathTarget::Item(item)) => self.item(item, 3, false),
                Some(PathTarget::Module(_)) => {
                    self.add(&name, CompletionKind::Module, 3);
                }
                None => {
                    self.add(&name, CompletionKind::Local, 1).detail = "a value of the session".to_owned()
                }
            }
        }
    }

    /// Adds fields, and functions that take the value before the dot as their first argument. A layout has fields only.
    pub(super) fn host_members(&mut self, ty: Option<&Ty>) {
        let is_layout = matches!(ty, Some(Ty::Layout(_)));
        let fields = if is_layout { LAYOUT_FIELDS } else { TENSOR_FIELDS };
        for (name, what) in fields {
            self.add(name, CompletionKind::Member, 0).detail = what.to_owned();
        }
        if is_layout {
            return;
        }
        for builtin in builtins().filter(|b| b.is_method()) {
            let (calls, first) = (self.is_called(), builtin.params().and_then(|params| params.first()));
            let entry = self.add(builtin.name(), CompletionKind::Member, 1);
            let signature = builtin.signature();
            // The receiver is the first argument: drop it from the shown signature.
            let shown = first.and_then(|first| {
                let rest = signature.strip_prefix(&format!("{}({}", builtin.name(), first.name))?;
                Some(format!("{}({}", builtin.name(), rest.trim_start_matches(", ")))
            });
            (entry.detail, entry.docs) = (shown.unwrap_or(signature), builtin.doc().to_owned());
            if !calls {
                (entry.insert, entry.is_snippet) = (format!("{}($0)", builtin.name()), true);
            }
        }
    }
}
