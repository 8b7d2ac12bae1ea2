//! Diagnostics of types, element types, memories and mutability.

use hx_base::{Applicability, Diagnostic, Edit, Fix, TextRange, codes};
use hx_syntax::{Foreign, ForeignPlace, foreign};

use super::calls::suggest;
use super::names::explain_foreign;
use super::{Reporter, dtypes};
use crate::{
    Builtin, BuiltinValue, Elem, Expr, ExprId, Item, MemorySpace, Method, Resolution, RolesProblem, StmtId,
    Ty, TypeProblem, fn_signature, infer_body, is_compile_time, kernel_signature, space_word,
};

pub(super) fn diagnostic(at: &Reporter<'_>, problem: &TypeProblem) -> Option<Diagnostic> {
    Some(match problem {
        TypeProblem::Mismatch { expr, found, wanted } => {
            let message = format!("expected {wanted}, found {}", found.what());
            at.diagnostic(&codes::TYPE_MISMATCH, at.expr(*expr), message)
        }
        TypeProblem::Annotation { expr, found, wanted } => annotation(at, *expr, found, wanted),
        TypeProblem::NoOperation { expr, op, lhs, rhs } => {
            let message = match (rhs, lhs) {
                (Some(rhs), _) => format!("`{op}` has no meaning between {} and {}", lhs.what(), rhs.what()),
                (None, Ty::Tensor(t)) if matches!(t.elem, Elem::Known(_)) => {
                    format!("`{op}` has no meaning for elements of type `{}`", t.elem)
                }
                (None, _) => format!("`{op}` has no meaning for {}", lhs.what()),
            };
            let found = at.diagnostic(&codes::NO_SUCH_OPERATION, at.expr(*expr), message);
            match *op {
                "^" => {
                    found.help("a power is written `pow(x, y)`; `bitcast(x, u32)` gives the bits of an `f32`")
                }
                "&" | "|" | "<<" | ">>" | "~" => found.help("`bitcast(x, u32)` gives the bits of an `f32`"),
                _ => found,
            }
        }
        TypeProblem::DTypes { expr, found, other, wanted } => {
            dtypes::diagnostic(at, *expr, found, *other, wanted)
        }
        TypeProblem::NotMutable { expr, param, gathered } => not_mutable(at, *expr, *param, *gathered),
        TypeProblem::Memory { expr, found, wanted, operation } => {
            memory(at, *expr, *found, wanted, operation)
        }
        TypeProblem::Roles { stmt, problem } => roles(at, *stmt, *problem),
        TypeProblem::RoleNumber { expr } => {
            let message = "expected a number that the header knows, found a local of the body";
            at.diagnostic(&codes::NOT_CONSTANT, at.expr(*expr), message)
                .help("numbers, constants and compile-time parameters are known when a block starts")
        }
        TypeProblem::NotUniform { expr } => {
            let message = "expected a condition that is the same for all threads, found a tensor";
            at.diagnostic(&codes::NOT_UNIFORM, at.expr(*expr), message)
                .help("`where(condition, x, y)` chooses element by element")
        }
        TypeProblem::Pattern { pat, found, wanted } => {
            let plural = if *wanted == 1 { "" } else { "s" };
            let message = format!("found {}, expected {wanted} part{plural}", found.what());
            at.diagnostic(&codes::PATTERN_MISMATCH, at.pat(*pat), message)
        }
        TypeProblem::Member { expr, base, name } => member(at, *expr, base, name),
        TypeProblem::NotAPlace { expr, space } => not_a_place(at, *expr, *space),
        TypeProblem::ElementWritten { expr, base, indices, value, added } => {
            element_written(at, *expr, (*base, indices), *value, *added)
        }
        TypeProblem::FixedHandle { expr, found } => {
            let (place, kind) = (at.text(at.expr(*expr)), found.to_string());
            let message =
                format!("cannot assign to `{place}`: compile time fixes the {kind} that a name means");
            at.diagnostic(&codes::NOT_MUTABLE, at.expr(*expr), message).help("`let` makes a new name")
        }
        TypeProblem::Literal { expr, value, dtype } => {
            let message = format!("found {value}, which `{dtype}` cannot hold");
            let found = at.diagnostic(&codes::LITERAL_OUT_OF_RANGE, at.expr(*expr), message);
            match dtype.is_float() {
                true if dtype.is_scale() => {
                    found.help(format!("it has powers of two alone, and `cast(x, {dtype})` rounds up to one"))
                }
                true => found.help("`inf` is infinity, and `cast(x, T)` rounds to what the type has"),
                false => found,
            }
        }
        TypeProblem::UnusedResult { expr, found } => {
            let message = format!("nothing takes this value: {}", found.what());
            let reported = at.diagnostic(&codes::UNUSED_RESULT, at.expr(*expr), message);
            match found {
                Ty::Barrier => reported.help("the barrier of the block is `sync()`; one of several roles needs a name, `let ready = barrier();`"),
                _ => reported,
            }
        }
        TypeProblem::DivisionByZero { expr } => {
            at.diagnostic(&codes::CONSTANT_ERROR, at.expr(*expr), "division by zero")
        }
        TypeProblem::Overflow { expr } => {
            at.diagnostic(&codes::CONSTANT_ERROR, at.expr(*expr), "the value does not fit 64 bits")
        }
        _ => return None,
    })
}

/// Reports a value whose type is not the one that its `let` names.
fn annotation(at: &Reporter<'_>, expr: ExprId, found: &Ty, wanted: &Ty) -> Diagnostic {
    let (code, message) = match (found, wanted) {
        (Ty::DType(a), Ty::DType(b)) => {
            (&codes::DTYPE_MISMATCH, format!("expected `{b}`, found elements of type `{a}`"))
        }
        (Ty::Tensor(a), Ty::Tensor(b)) if a.elem.differs(&b.elem) => {
            (&codes::DTYPE_MISMATCH, format!("expected `{wanted}`, found `{found}`"))
        }
        (Ty::Tensor(_), Ty::Tensor(_)) => {
            (&codes::SHAPE_MISMATCH, format!("expected `{wanted}`, found `{found}`"))
        }
        _ => (&codes::TYPE_MISMATCH, format!("found {}, expected {}", found.what(), wanted.what())),
    };
    at.diagnostic(code, at.expr(expr), message)
}

/// Reports a tensor in another memory than the operation works on. The operation is a name, or a phrase such as `this parameter`.
fn memory(at: &Reporter<'_>, expr: ExprId, found: MemorySpace, wanted: &str, operation: &str) -> Diagnostic {
    let space = space_word(found);
    let quoted = if operation.contains(' ') { operation.to_owned() } else { format!("`{operation}`") };
    let message = format!("found a {space} tensor, expected a {wanted} one for {quoted}");
    let diagnostic = at.diagnostic(&codes::WRONG_MEMORY, at.expr(expr), message);
    match wanted {
        "register" if operation == "=" => {
            diagnostic.help("`copy(src, dst)` writes to shared and global memory")
        }
        "register" | "register or shared" if found != MemorySpace::Register => {
            if !is_tile(at, expr) {
                return diagnostic.help(
                    "`load` moves a tile of known extents into registers: `load(tile(x, [64, 64])[.., .., i, j])`",
                );
            }
            let range = at.expr(expr);
            let text = format!("load({})", at.text(range));
            diagnostic.fix("move it into registers with `load(…)`", range, text, Applicability::Maybe)
        }
        _ => diagnostic,
    }
}

/// Reports whether a tensor may be a tile: no known extent depends on the launch. True for values that are no tensors, and
/// false in a signature.
fn is_tile(at: &Reporter<'_>, expr: ExprId) -> bool {
    if at.in_signature {
        return false;
    }
    match infer_body(at.db, at.item).exprs.get(expr) {
        Some(Ty::Tensor(t)) => t.shape.iter().flatten().all(is_compile_time),
        _ => true,
    }
}

/// Reports a name that a value of this type does not have.
fn member(at: &Reporter<'_>, expr: ExprId, base: &Ty, name: &str) -> Diagnostic {
    let place = at.label(expr, 0);
    let message = format!("{} has nothing called `{name}`", base.what());
    let found = at.diagnostic(&codes::UNKNOWN_MEMBER, place, message);
    let foreign = foreign(name, ForeignPlace::Member);
    if ["t", "transpose", "mT"].contains(&name) {
        found.fix("swap the last two modes with `.T`", place, "T", Applicability::Maybe)
    } else if let Some(row) = foreign.filter(|row| has_member(base, row)) {
        explain_foreign(found, place, row)
    } else if is_of_block_index(at, expr) {
        found.help("with one axis in the `grid`, `block_idx` is the number; `let [i, j] = block_idx;` takes several apart")
    } else {
        match Method::all_of(base) {
            [] => found,
            known => suggest(found, place, name, known.iter().map(|m| m.name())),
        }
    }
}

/// Reports whether an expression asks for a member of `block_idx`.
fn is_of_block_index(at: &Reporter<'_>, expr: ExprId) -> bool {
    let (store, names) = at.contents();
    let (Expr::Field { base, .. } | Expr::MethodCall { receiver: base, .. }) = store[expr] else {
        return false;
    };
    let meaning = names.exprs.get(base);
    meaning == Some(&Resolution::Builtin(Builtin::Value(BuiltinValue::BlockIdx)))
}

/// Reports whether a type has the member that a word of another language means. A word that means no member here has a hint for
/// every type.
fn has_member(base: &Ty, row: &Foreign) -> bool {
    row.instead.is_none_or(|instead| Method::all_of(base).iter().any(|method| method.name() == instead))
}

/// Reports an assignment to something else than a register tensor, a part of one, or a number.
fn not_a_place(at: &Reporter<'_>, expr: ExprId, space: Option<MemorySpace>) -> Diagnostic {
    let place = at.text(at.expr(expr));
    let message = format!(
        "cannot assign to `{place}`: only register tensors, their parts and numbers bound by `let` can be assigned"
    );
    let found = at.diagnostic(&codes::NOT_MUTABLE, at.expr(expr), message);
    match space {
        Some(MemorySpace::Global | MemorySpace::Shared) => {
            found.help("`copy(src, dst)` writes to shared and global memory")
        }
        Some(MemorySpace::Register) | None => found,
    }
}

/// Reports an assignment to an element of a tensor in memory. A tile of one element takes its place, if the value is such a tile.
fn element_written(
    at: &Reporter<'_>,
    expr: ExprId,
    (base, indices): (ExprId, &[ExprId]),
    value: ExprId,
    added: bool,
) -> Diagnostic {
    let place = at.text(at.expr(expr));
    let message =
        format!("cannot assign to `{place}`: an element of memory is written by a tile of one element");
    let found = at.diagnostic(&codes::NOT_MUTABLE, at.expr(expr), message);
    let types = &infer_body(at.db, at.item).exprs;
    let memory = match types.get(base) {
        Some(Ty::Tensor(t)) => t.space,
        _ => return found,
    };
    let texts: Vec<&str> = indices.iter().map(|index| at.text(at.expr(*index))).collect();
    let to = match memory {
        MemorySpace::Global => {
            let (ones, whole) = (vec!["1"; texts.len()], vec![".."; texts.len()]);
            let base = at.text(at.expr(base));
            format!("tile({base}, [{}])[{}, {}]", ones.join(", "), whole.join(", "), texts.join(", "))
        }
        MemorySpace::Shared | MemorySpace::Register => {
            let parts: Vec<String> = texts.iter().map(|text| format!("{text}..{text} + 1")).collect();
            format!("{}[{}]", at.text(at.expr(base)), parts.join(", "))
        }
    };
    let is_tile = matches!(types.get(value), Some(Ty::Tensor(t)) if t.space == MemorySpace::Register && t.shape.len() == texts.len());
    let range = TextRange::new(at.expr(expr).start(), at.expr(value).end());
    let of = at.text(at.expr(value));
    match (is_tile, added) {
        (true, false) => found.fix("copy the tile", range, format!("copy({of}, {to})"), Applicability::Maybe),
        (true, true) => {
            found.help(format!("`atomic_add({to}, {of})` adds to it, in any order of the threads and blocks"))
        }
        (false, _) => found.help(format!(
            "`fill` a register tensor of one element with the number, and `copy` it to `{to}`"
        )),
    }
}

fn roles(at: &Reporter<'_>, stmt: StmtId, problem: RolesProblem) -> Diagnostic {
    let whole = at.stmt_word(stmt);
    let found = |message: &str| at.diagnostic(&codes::MISPLACED_ROLES, whole, message);
    match problem {
        RolesProblem::InFunction => found("found `warp_groups` in a function, expected it in a kernel")
            .help("a function can be called from the body of a role"),
        RolesProblem::Inside => found("found `warp_groups` inside of another statement")
            .help("it is the last statement of the kernel's body; a loop can stand in the body of each role"),
        RolesProblem::NotLast => found("found `warp_groups` before the last statement of the kernel").help(
            "each role runs to the end of the kernel: move what follows into the roles, or before them",
        ),
        RolesProblem::NoRole => {
            found("expected `producer` or `consumer`, found `warp_groups` without a role")
        }
        RolesProblem::Binder(pat) => {
            let message = "found a name for the number of a group in a role whose groups run together";
            at.diagnostic(&codes::MISPLACED_ROLES, at.pat(pat), message)
                .help("`each` before the number of groups lets each group run the body for itself")
        }
    }
}

fn not_mutable(at: &Reporter<'_>, expr: ExprId, param: Option<u32>, gathered: bool) -> Diagnostic {
    let Some(index) = param.map(|p| p as usize) else {
        let message = "a part of a register tensor is written, but it may only be read";
        return at.diagnostic(&codes::NOT_MUTABLE, at.expr(expr), message);
    };
    let params = match at.item {
        Item::Kernel(it) => kernel_signature(at.db, it).params.get(index).map(|p| (p.name.clone(), p.ty)),
        Item::Function(it) => fn_signature(at.db, it).params.get(index).map(|p| (p.name.clone(), p.ty)),
        _ => None,
    };
    let Some((name, ty)) = params else {
        return at.diagnostic(
            &codes::NOT_MUTABLE,
            at.expr(expr),
            "something is written that may only be read",
        );
    };
    if gathered {
        let message = format!("rows that `gather` picks of `{name}` are written, but they may only be read");
        let found = at.diagnostic(&codes::NOT_MUTABLE, at.expr(expr), message);
        return found.help(format!("`scatter({name}, …)` picks what is written of a `mut` tensor"));
    }
    let message = format!("`{name}` is written, but it is not marked `mut`");
    let found = at.diagnostic(&codes::NOT_MUTABLE, at.expr(expr), message);
    let place = at.signature.and_then(|s| s.map.type_ref(ty));
    let Some(range) = place.map(|r| r + at.item.offset(at.db)) else { return found };
    // `mut` follows the memory, if the type names one.
    let text = at.text(range);
    let space =
        ["global", "shared", "register"].iter().find(|w| text.starts_with(**w)).map_or(0, |w| w.len());
    let gap = text[space..].len() - text[space..].trim_start().len();
    let start = range.start() + hx_base::TextSize::of(&text[..space + gap]);
    let edit = Edit { file: at.file(), range: hx_base::TextRange::empty(start), text: "mut ".into() };
    let fix = Fix {
        title: format!("mark `{name}` as `mut`"),
        edits: vec![edit],
        applicability: Applicability::Maybe,
    };
    found.also(at.file(), range, "declared here").with_fix(fix)
}
