//! HX01xx of whole items and files: duplicates, imports, attributes, unused names.

use std::collections::{BTreeMap, BTreeSet};

use hx_base::{
    Applicability, Diagnostic, Severity, SourceFile, TextRange, TextSize, all_codes, code, codes,
    has_syntax_errors, nearest,
};
use hx_syntax::ast;

use super::Reporter;
use crate::{
    Db, Expr, Item, Literal, Name, Pat, PatId, Resolution, StmtKind, body::is_declared, body_names, body_of,
    body_source_map, collect, exact::EXACT, family::FAMILY, file_items, fn_ptx, fn_signature, imports,
    infer_body, item_range, kernel_signature, ptx::PTX, signature_source_map, top_level_pats,
};

pub(super) fn report(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    statement_attributes(at, out);
    rings_on_the_host(at, out);
    item_attributes(at, out);
    unused_locals(at, out);
    unused_mut(at, out);
}

fn unknown_attribute(at: &Reporter<'_>, range: TextRange, name: &str, out: &mut Vec<Diagnostic>) {
    out.push(at.diagnostic(
        &codes::UNKNOWN_ATTRIBUTE,
        range,
        format!("no attribute here is called `{name}`"),
    ));
}

fn statement_attributes(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    let body = body_of(at.db, at.item);
    for (id, stmt) in body.store.stmts.iter() {
        let ranges = at.map.attrs.get(id).map_or(&[][..], Vec::as_slice);
        for (attr, range) in stmt.attrs.iter().zip(ranges) {
            if attr.name.as_str() == "accept" {
                let args = attr.args.iter().map(|arg| match &body.store[*arg] {
                    Expr::Literal(Literal::String(text)) => Some(text.to_string()),
                    _ => None,
                });
                accept(at, at.absolute(Some(*range)), &args.collect::<Vec<_>>(), out);
            } else if !matches!(attr.name.as_str(), "unroll" | "peel") {
                unknown_attribute(at, at.absolute(Some(*range)), &attr.name, out);
            } else if !matches!(stmt.kind, StmtKind::For { .. }) {
                let message = format!("found `#[{}]` on a statement that is no `for`", attr.name);
                out.push(at.diagnostic(&codes::UNKNOWN_ATTRIBUTE, at.absolute(Some(*range)), message));
            }
        }
    }
}

/// Reports `pipelined` in code of the host, which makes no loads.
fn rings_on_the_host(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    if matches!(at.item, Item::Kernel(_) | Item::Function(_)) {
        return;
    }
    for stmt in body_of(at.db, at.item).store.stmts.values() {
        if let StmtKind::For { stages: Some(stages), .. } = stmt.kind {
            let message = "found `pipelined` on a loop of the host: only a kernel loads tiles ahead";
            out.push(at.diagnostic(&codes::MISPLACED_CONSTRUCT, at.expr(stages), message));
        }
    }
}

fn item_attributes(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    let attrs: Vec<ast::Attr> = match at.item {
        Item::Kernel(it) => it.syntax(at.db).into_iter().flat_map(|n| n.attrs()).collect(),
        Item::Function(it) => it.syntax(at.db).into_iter().flat_map(|n| n.attrs()).collect(),
        Item::Const(it) => it.syntax(at.db).into_iter().flat_map(|n| n.attrs()).collect(),
        Item::Use(it) => it.syntax(at.db).into_iter().flat_map(|n| n.attrs()).collect(),
        Item::Test(it) => it.syntax(at.db).into_iter().flat_map(|n| n.attrs()).collect(),
        Item::Bench(it) => it.syntax(at.db).into_iter().flat_map(|n| n.attrs()).collect(),
        Item::Main(it) => it.syntax(at.db).into_iter().flat_map(|n| n.attrs()).collect(),
        Item::Cell(_) => Vec::new(),
    };
    let mut families = 0;
    let takes_notes = matches!(at.item, Item::Kernel(_) | Item::Function(_));
    for attr in attrs {
        let (Some(path), Some(name)) = (attr.path(), attr.text()) else { continue };
        let range = at.absolute(Some(collect::node_range(&path)));
        if name == "accept" && takes_notes {
            accept(at, range, &attr.texts(), out);
        } else if name == EXACT && matches!(at.item, Item::Kernel(_)) {
            if attr.arg_list().is_some() {
                let message = "`#[exact]` takes nothing in parentheses";
                out.push(at.diagnostic(&codes::UNKNOWN_ATTRIBUTE, range, message));
            }
        } else if name == FAMILY && matches!(at.item, Item::Kernel(_)) {
            families += 1;
            if families > 1 {
                let message = "a kernel has one family: this list is not read";
                out.push(
                    at.diagnostic(&codes::BAD_FAMILY, range, message)
                        .help("put all members into the first one"),
                );
            }
        } else if name == PTX && matches!(at.item, Item::Function(_)) {
            // The text is reported with the header of its function.
        } else if name == PTX {
            let message = "found `#[ptx(…)]` before an item that is no `fn`";
            let found = at.diagnostic(&codes::UNKNOWN_ATTRIBUTE, range, message);
            out.push(found.help("a kernel calls the function that has the PTX"));
        } else {
            unknown_attribute(at, range, &name, out);
        }
    }
}

/// Reports an `#[accept(…)]` at `range` that accepts nothing. `args` are its arguments, `None` for one that is no string.
fn accept(at: &Reporter<'_>, range: TextRange, args: &[Option<String>], out: &mut Vec<Diagnostic>) {
    let [Some(name), Some(reason)] = args else {
        let message = "`#[accept(…)]` takes the name of a performance note and the reason, both in quotes";
        let found = at.diagnostic(&codes::UNKNOWN_ATTRIBUTE, range, message);
        return out.push(found.help("for example `#[accept(\"narrow-access\", \"it runs once a block\")]`"));
    };
    let found = match code(name) {
        Some(code) if code.severity == Severity::Performance && !reason.trim().is_empty() => return,
        Some(code) if code.severity == Severity::Performance => {
            at.diagnostic(&codes::UNKNOWN_ATTRIBUTE, range, "found an empty reason in `#[accept(…)]`")
        }
        Some(code) => {
            let message =
                format!("`{name}` is no performance note: its severity is {}", code.severity.as_str());
            at.diagnostic(&codes::UNKNOWN_ATTRIBUTE, range, message)
        }
        None => {
            let found = at.diagnostic(
                &codes::UNKNOWN_ATTRIBUTE,
                range,
                format!("no performance note is called `{name}`"),
            );
            let notes = all_codes().filter(|code| code.severity == Severity::Performance);
            match nearest(name, notes.flat_map(|code| [code.name, code.id])) {
                Some(near) => found.help(format!("`{near}` is one")),
                None => found,
            }
        }
    };
    out.push(found);
}

/// Reports locals, and parameters of functions, that nothing reads.
fn unused_locals(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    let body = body_of(at.db, at.item);
    let names = body_names(at.db, at.item);
    let unused = |range: TextRange, name: &Name| {
        at.diagnostic(&codes::UNUSED_NAME, range, format!("nothing uses `{name}`")).fix(
            format!("rename it to `_{name}`"),
            range,
            format!("_{name}"),
            Applicability::Maybe,
        )
    };
    // Later cells may use the names that a cell binds.
    let lasting = match at.item {
        Item::Cell(_) => top_level_pats(&body.store, body.root),
        _ => Vec::new(),
    };
    let used: BTreeSet<PatId> = names
        .exprs
        .values()
        .filter_map(|r| if let Resolution::Local(pat) = r { Some(*pat) } else { None })
        .collect();
    for (id, pat) in body.store.pats.iter() {
        let Pat::Bind(name) = pat else { continue };
        if lasting.iter().any(|(pat, _)| *pat == id) {
            continue;
        }
        if !used.contains(&id) && !name.starts_with('_') {
            out.push(unused(at.pat(id), name));
        }
    }
    if let Item::Function(function) = at.item {
        let sig = fn_signature(at.db, function);
        // PTX without a use of a parameter is an error of its own.
        if fn_ptx(at.db, function).is_some() || is_declared(at.db, at.item) {
            return;
        }
        let header = &crate::signature_names(at.db, at.item).names;
        for (i, param) in sig.params.iter().enumerate() {
            let used = |n: &crate::Names| n.exprs.values().any(|r| *r == Resolution::Param(i as u32));
            let range = at.signature.and_then(|s| s.params.get(i)).copied();
            if !used(names) && !used(header) && !param.name.starts_with('_') {
                out.push(unused(at.absolute(range), &param.name));
            }
        }
    }
}

/// Reports tensor parameters that are marked `mut` but only read. If the item has any error, it reports nothing, because the
/// faulty part may be the write.
fn unused_mut(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    let params = match at.item {
        Item::Kernel(it) => &kernel_signature(at.db, it).params,
        Item::Function(it) => &fn_signature(at.db, it).params,
        _ => return,
    };
    let (types, names) = (infer_body(at.db, at.item), body_names(at.db, at.item));
    let faulty = types.writes.unknown || !types.problems.is_empty() || !names.problems.is_empty();
    if faulty || has_syntax_errors(at.db, at.file()) {
        return;
    }
    for (i, param) in (0..).zip(params) {
        let place = at.signature.and_then(|s| s.map.type_ref(param.ty));
        let used = names.exprs.values().any(|r| *r == Resolution::Param(i));
        let Some(place) = place.filter(|_| used && !types.writes.params.contains(&i)) else { continue };
        let place = at.absolute(Some(place));
        let (Some(from), Some(shape)) = (at.text(place).find("mut "), at.text(place).find('[')) else {
            continue;
        };
        if from < shape {
            let word = TextRange::at(place.start() + TextSize::new(from as u32), TextSize::of("mut"));
            let gap = at.text(place)[from + 3..].len() - at.text(place)[from + 3..].trim_start().len();
            let written = TextRange::at(word.start(), TextSize::new(3 + gap as u32));
            let message = format!("nothing writes `{}`, which is marked `mut`", param.name);
            let found = at.diagnostic(&codes::UNUSED_MUT, word, message);
            out.push(found.fix("remove `mut`", written, "", Applicability::Maybe));
        }
    }
}

pub(super) fn report_file(db: &dyn Db, file: SourceFile, out: &mut Vec<Diagnostic>) {
    duplicate_items(db, file, out);
    super::imports::report(db, file, out);
}

/// Returns the range of an item's name in its file.
fn name_range<'db>(db: &'db dyn Db, item: Item<'db>) -> TextRange {
    let offset = item.offset(db);
    if let Some(range) = signature_source_map(db, item).and_then(|m| m.name) {
        return range + offset;
    }
    let constant = match item {
        Item::Const(it) => {
            it.syntax(db).and_then(|n| ast::HasName::name(&n)).map(|n| collect::node_range(&n))
        }
        _ => None,
    };
    let value = || body_source_map(db, item).and_then(|m| m.expr(body_of(db, item).root));
    constant.or_else(value).map_or_else(|| item_range(db, item), |range| range + offset)
}

fn duplicate_items(db: &dyn Db, file: SourceFile, out: &mut Vec<Diagnostic>) {
    let mut seen: Vec<(Name, TextRange)> = Vec::new();
    let uses: Vec<_> = file_items(db, file).uses().collect();
    for import in imports(db, file) {
        let Some(item) = uses.get(import.item) else { continue };
        seen.push((import.name.clone(), import.range + item.offset(db)));
    }
    let named: Vec<(Name, TextRange)> =
        file_items(db, file).named().map(|item| (item.name(db).clone(), name_range(db, item))).collect();
    seen.extend(named);
    let mains =
        file_items(db, file).mains().map(|item| (Name::new("main"), item_range(db, Item::Main(item))));
    seen.extend(mains);
    let mut firsts: BTreeMap<&Name, TextRange> = BTreeMap::new();
    for (name, range) in seen.iter().filter(|(name, _)| name != "_") {
        let first = firsts.entry(name).or_insert(*range);
        if first != range {
            let message = format!("`{name}` is defined twice");
            let found = Diagnostic::new(&codes::DUPLICATE_DEFINITION, file, *range, message);
            out.push(found.also(file, *first, "first defined here"));
        }
    }
}
