//! Diagnostics of types, element types, memories and mutability.

use hx_base::{Applicability, Diagnostic, Edit, Fix, codes};

use super::Reporter;
use super::calls::suggest;
use crate::{
    Elem, ExprId, Item, MemorySpace, Method, RolesProblem, StmtId, Ty, TypeProblem, fn_signature,
    kernel_signature, space_word,
};

pub(super) fn diagnostic(at: &Reporter<'_>, problem: &TypeProblem) -> Option<Diagnostic> {
    Some(match problem {
        TypeProblem::Mismatch { expr, found, wanted } => {
            let message = format!("found {}, wanted {wanted}", found.what());
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
        TypeProblem::DTypes { expr, found, other, wanted } => dtypes(at, *expr, found, *other, wanted),
        TypeProblem::NotMutable { expr, param, gathered } => not_mutable(at, *expr, *param, *gathered),
        TypeProblem::Memory { expr, found, wanted, operation } => {
            memory(at, *expr, *found, wanted, operation)
        }
        TypeProblem::Roles { stmt, problem } => roles(at, *stmt, *problem),
        TypeProblem::RoleNumber { expr } => {
            let message = "found a local of the body, wanted a number that the header knows";
            at.diagnostic(&codes::NOT_CONSTANT, at.expr(*expr), message)
                .help("numbers, constants and compile-time parameters are known when a block starts")
        }
        TypeProblem::NotUniform { expr } => {
            let message = "found a tensor, wanted a condition that is the same for all threads";
            at.diagnostic(&codes::NOT_UNIFORM, at.expr(*expr), message)
                .help("`where(condition, x, y)` chooses element by element")
        }
        TypeProblem::Pattern { pat, found, wanted } => {
            let plural = if *wanted == 1 { "" } else { "s" };
            let message = format!("found {}, wanted {wanted} part{plural}", found.what());
            at.diagnostic(&codes::PATTERN_MISMATCH, at.pat(*pat), message)
        }
        TypeProblem::Member { expr, base, name } => member(at, *expr, base, name),
        TypeProblem::NotAPlace { expr, space } => not_a_place(at, *expr, *space),
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
                true => found.help("`inf` is infinity, and `cast(x, T)` rounds to what the type has"),
                false => found,
            }
        }
        TypeProblem::UnusedResult { expr, found } => {
            let message = format!("nothing takes this value: {}", found.what());
            at.diagnostic(&codes::UNUSED_RESULT, at.expr(*expr), message)
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
            (&codes::DTYPE_MISMATCH, format!("found elements of type `{a}`, wanted `{b}`"))
        }
        (Ty::Tensor(a), Ty::Tensor(b)) if a.elem.differs(&b.elem) => {
            (&codes::DTYPE_MISMATCH, format!("found `{found}`, wanted `{wanted}`"))
        }
        (Ty::Tensor(_), Ty::Tensor(_)) => {
            (&codes::SHAPE_MISMATCH, format!("found `{found}`, wanted `{wanted}`"))
        }
        _ => (&codes::TYPE_MISMATCH, format!("found {}, wanted {}", found.what(), wanted.what())),
    };
    at.diagnostic(code, at.expr(expr), message)
}

fn dtypes(at: &Reporter<'_>, expr: ExprId, found: &Elem, other: ExprId, wanted: &Elem) -> Diagnostic {
    let range = at.expr(expr);
    let text = at.text(range);
    let message = format!("found elements of type `{found}`, wanted `{wanted}`");
    at.diagnostic(&codes::DTYPE_MISMATCH, range, message)
        .label(format!("this is `{found}`"))
        .also(at.file(), at.expr(other), format!("this is `{wanted}`"))
        .fix(
            format!("convert it with `cast(…, {wanted})`"),
            range,
            format!("cast({text}, {wanted})"),
            Applicability::Maybe,
        )
}

/// Reports a tensor in another memory than the operation works on. The operation is a name, or a phrase such as `this parameter`.
fn memory(at: &Reporter<'_>, expr: ExprId, found: MemorySpace, wanted: &str, operation: &str) -> Diagnostic {
    let space = space_word(found);
    let quoted = if operation.contains(' ') { operation.to_owned() } else { format!("`{operation}`") };
    let message = format!("found a {space} tensor, wanted a {wanted} one for {quoted}");
    let diagnostic = at.diagnostic(&codes::WRONG_MEMORY, at.expr(expr), message);
    match wanted {
        "register" if operation == "=" => {
            diagnostic.help("`copy(src, dst)` writes to shared and global memory")
        }
        "register" | "register or shared" if found != MemorySpace::Register => {
            let range = at.expr(expr);
            let text = format!("load({})", at.text(range));
            diagnostic.fix("move it into registers with `load(…)`", range, text, Applicability::Maybe)
        }
        _ => diagnostic,
    }
}

/// Reports a name that a value of this type does not have.
fn member(at: &Reporter<'_>, expr: ExprId, base: &Ty, name: &str) -> Diagnostic {
    let place = at.label(expr, 0);
    let message = format!("{} has nothing called `{name}`", base.what());
    let found = at.diagnostic(&codes::UNKNOWN_MEMBER, place, message);
    if ["t", "transpose", "mT"].contains(&name) {
        found.fix("swap the last two modes with `.T`", place, "T", Applicability::Maybe)
    } else if at.text(at.expr(expr)).starts_with("block_idx.") {
        found.help("with one axis in the `grid`, `block_idx` is the number; `let [i, j] = block_idx;` takes several apart")
    } else {
        match Method::all_of(base) {
            [] => found,
            known => suggest(found, place, name, known.iter().map(|m| m.name())),
        }
    }
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

fn roles(at: &Reporter<'_>, stmt: StmtId, problem: RolesProblem) -> Diagnostic {
    let whole = at.stmt_word(stmt);
    let found = |message: &str| at.diagnostic(&codes::MISPLACED_ROLES, whole, message);
    match problem {
        RolesProblem::InFunction => found("found `warp_groups` in a function, wanted it in a kernel")
            .help("a function can be called from the body of a role"),
        RolesProblem::Inside => found("found `warp_groups` inside of another statement")
            .help("it is the last statement of the kernel's body; a loop can stand in the body of each role"),
        RolesProblem::NotLast => found("found `warp_groups` before the last statement of the kernel").help(
            "each role runs to the end of the kernel: move what follows into the roles, or before them",
        ),
        RolesProblem::NoRole => found("found `warp_groups` without a role, wanted `producer` or `consumer`"),
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
