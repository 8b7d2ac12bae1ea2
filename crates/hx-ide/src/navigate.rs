//! Definitions, references, highlights and rename.

use hx_base::{Edit, FileKind, SourceFile, TextRange, TextSize};
use hx_compile::Db;
use hx_hir::{Elem, Ty, infer_body, signature_types};
use hx_syntax::is_identifier;

use crate::meaning::Renaming;
use crate::names::{Def, Occurrence, Role, definition_of, generics_of, occurrence_at, occurrences};
use crate::{Cancellable, FileRange, catch};

/// Whether a place reads or writes a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Read,
    Write,
}

/// A use of the name under the cursor, in the same file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Highlight {
    pub range: TextRange,
    pub access: Access,
}

/// Returns the range of the name at an offset, and the place of its definition; `None` if no name or no definition in a file
/// is there.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn definition(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
) -> Cancellable<Option<(TextRange, FileRange)>> {
    catch(|| {
        let found = occurrence_at(db, file, at)?;
        Some((found.range, definition_of(db, &found.def)?))
    })
}

/// Returns the place that the type of the name at an offset comes from: the compile-time parameter that is the element type
/// of a tensor, the parameter that a tensor is a view of, or the `fn` that a function is. `None` for other types.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn type_definition(db: &dyn Db, file: SourceFile, at: TextSize) -> Cancellable<Option<FileRange>> {
    catch(|| {
        let found = occurrence_at(db, file, at)?;
        let item = found.def.item()?;
        let owner = item.find(db)?;
        let ty = match &found.def {
            Def::Local { pat, .. } => infer_body(db, owner).pats.get(*pat)?.clone(),
            Def::Param { index, .. } => signature_types(db, owner).params.get(*index)?.clone(),
            _ => return None,
        };
        let def = match ty {
            Ty::Function(function) => Def::Item(function?),
            Ty::Tensor(tensor) => match (tensor.elem, tensor.param) {
                (Elem::Param(name), _) => {
                    let index = generics_of(db, owner).iter().position(|known| *known == name)?;
                    Def::Generic { item: item.clone(), index }
                }
                (_, Some(param)) => Def::Param { item: item.clone(), index: param as usize },
                (_, None) => return None,
            },
            _ => return None,
        };
        // A parameter with a type of its own is not the place that the type comes from.
        (def != found.def).then(|| definition_of(db, &def))?
    })
}

/// Returns the uses of the name at an offset in all files, ordered by file and place.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn references(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
    with_definition: bool,
) -> Cancellable<Vec<FileRange>> {
    catch(|| {
        let Some(found) = occurrence_at(db, file, at) else { return Vec::new() };
        let uses = uses_of(db, file, &found);
        let wanted = uses.into_iter().filter(|(_, o)| with_definition || o.role != Role::Definition);
        wanted.map(|(file, o)| FileRange { file, range: o.range }).collect()
    })
}

/// Returns the uses of the name at an offset in its file.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn highlights(db: &dyn Db, file: SourceFile, at: TextSize) -> Cancellable<Vec<Highlight>> {
    catch(|| {
        let Some(found) = occurrence_at(db, file, at) else { return Vec::new() };
        let same = occurrences(db, file).into_iter().filter(|o| o.def == found.def);
        let access = |o: &Occurrence| match o.role {
            Role::Definition | Role::Write => Access::Write,
            Role::Read | Role::Label => Access::Read,
        };
        same.map(|o| Highlight { range: o.range, access: access(&o) }).collect()
    })
}

/// Returns the occurrences of a definition in every file that can refer to it.
fn uses_of(db: &dyn Db, file: SourceFile, found: &Occurrence) -> Vec<(SourceFile, Occurrence)> {
    let home = found.def.item().map_or(file, |item| item.file);
    let mut files = vec![home];
    if home != file {
        files.push(file);
    }
    // Skip a file whose text does not contain the name.
    let name = &file.text(db)[found.range];
    if found.def.is_visible_outside() || found.def.item().is_none() {
        let own = found.def.item().and_then(|key| definition_of(db, &Def::Item(key.clone())));
        let item = own.map(|at| at.file.text(db)[at.range].to_owned()).unwrap_or_default();
        for &other in db.workspace().files(db) {
            let text = other.text(db);
            if !files.contains(&other) && (text.contains(name) || (!item.is_empty() && text.contains(&item)))
            {
                files.push(other);
            }
        }
    }
    files.sort_by(|a, b| a.path(db).cmp(b.path(db)));
    let mut uses = Vec::new();
    for file in files {
        db.unwind_if_revision_cancelled();
        uses.extend(occurrences(db, file).into_iter().filter(|o| o.def == found.def).map(|o| (file, o)));
    }
    uses
}

/// Returns the name at an offset if it can be renamed.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request. The inner error says why the name cannot be renamed.
pub fn prepare_rename(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
) -> Cancellable<Result<(TextRange, String), String>> {
    catch(|| {
        let found = renamable(db, file, at)?;
        Ok((found.range, file.text(db)[found.range].to_owned()))
    })
}

fn renamable(db: &dyn Db, file: SourceFile, at: TextSize) -> Result<Occurrence, String> {
    let found = occurrence_at(db, file, at).ok_or("there is no name here")?;
    let name = &file.text(db)[found.range];
    let kind = match &found.def {
        Def::Builtin(_) | Def::DType(_) | Def::Kind(_) | Def::Member(_) | Def::Result(_) => {
            "is part of the language"
        }
        Def::Binding(_) => "is a value of the session",
        Def::Module(_) => "is a file: rename the file",
        _ => "",
    };
    if !kind.is_empty() {
        return Err(format!("`{name}` {kind}"));
    }
    match definition_of(db, &found.def) {
        Some(place) if place.file.kind(db) == FileKind::Std => {
            Err(format!("`{name}` is defined in the standard library"))
        }
        Some(_) => Ok(found),
        None => Err(format!("the definition of `{name}` is not known")),
    }
}

/// Returns the edits that rename the name at an offset in every file. After them, every name means what it meant before.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request. The inner error says why the name cannot be renamed.
pub fn rename(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
    new_name: &str,
) -> Cancellable<Result<Vec<Edit>, String>> {
    catch(|| {
        let found = renamable(db, file, at)?;
        if !is_identifier(new_name) {
            return Err(format!(
                "`{new_name}` is not a name: names are made of ASCII letters, digits and `_`, and are not keywords"
            ));
        }
        let definition = definition_of(db, &found.def).ok_or("the definition is not known")?;
        let old = &definition.file.text(db)[definition.range];
        if new_name == old {
            return Ok(Vec::new());
        }
        if let Some(place) = taken(db, &found.def, &definition, new_name) {
            return Err(format!("`{new_name}` is taken: {place}"));
        }
        let mut edits = Vec::new();
        for (file, o) in uses_of(db, file, &found) {
            // A use under another name, for example after `as`, keeps its name.
            if &file.text(db)[o.range] == old && file.kind(db) != FileKind::Std {
                edits.push(Edit { file, range: o.range, text: new_name.to_owned() });
            }
        }
        let (db, new) = (db, new_name);
        match (Renaming { db, file, definition, old, new, edits: &edits }).changed() {
            Some(change) => Err(change),
            None => Ok(edits),
        }
    })
}

/// Describes a definition that already has the new name in the scope where the renamed one would be visible; `None` if there
/// is none.
fn taken(db: &dyn Db, def: &Def, definition: &FileRange, name: &str) -> Option<String> {
    let same = |o: &Occurrence| {
        o.role == Role::Definition
            && &definition.file.text(db)[o.range] == name
            && o.range != definition.range
    };
    let others = occurrences(db, definition.file).into_iter().filter(same);
    let clashes = |other: &Def| match (def, other) {
        (Def::Item(_), Def::Item(_)) => true,
        (Def::Item(_), _) | (_, Def::Item(_)) => false,
        (a, b) => a.item() == b.item(),
    };
    let what = |other: &Def| match other {
        Def::Item(key) => format!("there is a {} of that name", key.kind.word()),
        Def::Param { .. } => "there is a parameter of that name".to_owned(),
        Def::Generic { .. } => "there is a compile-time parameter of that name".to_owned(),
        Def::Dim { .. } => "there is a dimension of that name".to_owned(),
        _ => "there is a local of that name".to_owned(),
    };
    others.map(|o| o.def).find(clashes).map(|other| what(&other))
}
