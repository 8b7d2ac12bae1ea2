//! Hovers: facts about the name, operation or number under the pointer.

use base64::Engine as _;
use hx_base::{SourceFile, TextRange, TextSize};
use hx_compile::{Db, product_alternative, product_rules, usual_units};
use hx_dtype::DType;
use hx_hir::{
    Builtin, Item, ItemKey, Kind, Name, PatId, Path, PathTarget, Place, Ptx, RESULT, Resolution, Ty, body_of,
    body_source_map, builtin, builtins, file_items, fn_ptx, fn_signature, infer_body, item_range,
    kernel_signature, resolve_path, signature_names, signature_types,
};
use hx_layout::draw::{Drawing, SvgStyle};
use hx_syntax::{SyntaxKind, SyntaxToken};
use hx_tile::{Op, OpKind, TensorId};

use crate::anchor::anchors;
use crate::callable::{callable, callee_of};
use crate::last_good::LastGood;
use crate::layout::{NamedDrawing, ReasonStep, chain, describe, drawings};
use crate::names::{Def, definition_of, occurrence_at};
use crate::semantic_tokens::place_of;
use crate::shown_costs::Reported;
use crate::solved::Solved;
use crate::{Cancellable, Shown, catch, docs};

/// The most rows of a layout that a hover draws. A separate view shows larger drawings.
const ROWS: usize = 16;
/// The columns that are left of a drawing that is too large. A drawing of twice as many is drawn whole.
const COLS: usize = 8;
/// The rows of an image: a hover is low, and fragments and swizzles repeat after 8 rows.
const IMAGE_ROWS: usize = 8;

/// The form of drawings in hovers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DrawingStyle {
    /// An SVG image in the text, as a data URL.
    Svg(SvgStyle),
    #[default]
    Unicode,
    None,
}

/// The text of a hover, and the range that it describes.
#[derive(Clone, PartialEq, Debug)]
pub struct Hover {
    pub range: TextRange,
    /// Markdown.
    pub text: String,
    /// Whether the name is that of a value of the session, which only the session knows.
    pub is_binding: bool,
}

/// Returns the known facts about the name, operation or number at an offset; `None` if there are none.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn hover(
    db: &dyn Db,
    file: SourceFile,
    at: TextSize,
    shown: &Shown,
    style: DrawingStyle,
    reported: Reported<'_>,
    last_good: &LastGood,
) -> Cancellable<Option<Hover>> {
    catch(|| {
        let cx = Hovering { db, file, at, shown, style, reported, last_good };
        match occurrence_at(db, file, at) {
            Some(found) => Some(Hover {
                range: found.range,
                text: cx.name(&found.def, found.range)?,
                is_binding: matches!(found.def, Def::Binding(_)),
            }),
            None => cx.token(),
        }
    })
}

/// Describes what a path means in a file, as hovers do. A built-in name that exists on host and device gets both descriptions.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn explain_name(
    db: &dyn Db,
    file: SourceFile,
    path: &str,
    shown: &Shown,
    reported: Reported<'_>,
    last_good: &LastGood,
) -> Cancellable<Vec<String>> {
    catch(|| {
        let (at, style) = (TextSize::new(0), DrawingStyle::None);
        let cx = Hovering { db, file, at, shown, style, reported, last_good };
        let nowhere = TextRange::empty(TextSize::new(0));
        let segments = path.split("::").map(|word| Name::new(word.trim())).collect();
        let defs = match resolve_path(db, file, &Path { segments }) {
            Some(PathTarget::Item(item)) => vec![Def::Item(item.key(db))],
            Some(PathTarget::Module(file)) => vec![Def::Module(file)],
            None => match DType::parse(path) {
                Some(dtype) => vec![Def::DType(dtype)],
                None => builtins().filter(|builtin| builtin.name() == path).map(Def::Builtin).collect(),
            },
        };
        defs.iter().filter_map(|def| cx.name(def, nowhere)).collect()
    })
}

struct Hovering<'a> {
    db: &'a dyn Db,
    file: SourceFile,
    at: TextSize,
    shown: &'a Shown,
    style: DrawingStyle,
    reported: Reported<'a>,
    last_good: &'a LastGood,
}

fn code(text: &str) -> String {
    format!("```hx\n{text}\n```\n")
}

impl<'a> Hovering<'a> {
    fn name(&self, def: &Def, range: TextRange) -> Option<String> {
        let db = self.db;
        let definition = definition_of(db, def);
        let name = match definition {
            Some(at) => at.file.text(db)[at.range].to_owned(),
            None => self.file.text(db)[range].to_owned(),
        };
        match def {
            Def::Local { item, pat } => self.local(item, *pat, definition?.range, &name),
            Def::Param { item, index } => self.param(item, *index, &name),
            Def::Generic { item, index } => self.generic(item, *index, &name),
            Def::Dim { item, name } => self.dim(item, name),
            Def::Result(item) => self.result(item),
            Def::Item(key) => self.item(key),
            Def::Binding(_) => Some(format!("{}\na value of the session", code(&name))),
            Def::Module(file) => {
                let docs = docs::file_docs(db, *file).unwrap_or_default();
                Some(format!("{}\n{docs}", code(&format!("// {}", file.path(db)))))
            }
            Def::Builtin(builtin) => Some(self.builtin(def, *builtin, range)),
            Def::DType(dtype) => Some(format!("{}\n{}", code(&dtype.to_string()), about(*dtype))),
            Def::Kind(kind) => Some(format!("{}\n{}", code(&name), about_kind(*kind))),
            Def::Member(name) => Some(match name.as_str() {
                "T" => format!("{}\nThe last two modes of a tensor swapped: a view.", code(".T")),
                other => match builtin(other, Place::Member) {
                    Some(method) => {
                        let operation = self.operations(range).unwrap_or_default();
                        format!("{}\n{}{operation}", code(&method.signature()), method.doc())
                    }
                    None => code(&format!(".{other}")),
                },
            }),
        }
    }

    fn local(&self, item: &ItemKey, pat: PatId, at: TextRange, name: &str) -> Option<String> {
        let db = self.db;
        let found = item.find(db)?;
        let ty = infer_body(db, found).pats.get(pat).map(ToString::to_string);
        let text = ty.filter(|ty| ty != "_").map_or_else(|| name.to_owned(), |ty| format!("{name}: {ty}"));
        let mut out = code(&format!("let {text}"));
        out.push_str(&self.tensor(found, at).unwrap_or_default());
        out.push_str(&self.pipeline(found, name).unwrap_or_default());
        out.push_str(&self.counter(found, name).unwrap_or_default());
        out.push_str(&self.turns(found, name).unwrap_or_default());
        out.push_str(&self.barrier(found, name).unwrap_or_default());
        Some(out)
    }

    fn param(&self, item: &ItemKey, index: usize, name: &str) -> Option<String> {
        let db = self.db;
        let found = item.find(db)?;
        let types = signature_types(db, found);
        // The type of a number is its value, a symbol: show the type that the header declares instead.
        let declared = numeric_param(db, found, index).map(|dtype| dtype.to_string());
        let inferred = || types.params.get(index).map_or("_".to_owned(), ToString::to_string);
        let ty = declared.unwrap_or_else(inferred);
        let role = format!("parameter of `{}`", item.name);
        Some(format!("{}\n{role}{}", code(&format!("{name}: {ty}")), given_layout(types.params.get(index))))
    }

    fn dim(&self, item: &ItemKey, name: &str) -> Option<String> {
        let db = self.db;
        let found = item.find(db)?;
        let dim = signature_names(db, found).dims.iter().find(|dim| dim.name == *name)?;
        let params = crate::names::params_of(db, found);
        let param = params.get(dim.param as usize)?;
        let what = if dim.stride { "stride" } else { "dimension" };
        Some(format!(
            "{}\n{what} {} of `{param}`, bound at launch. What is shown assumes that it is a multiple of 16.",
            code(&format!("{name}: int")),
            dim.axis
        ))
    }

    fn result(&self, item: &ItemKey) -> Option<String> {
        let found = item.find(self.db)?;
        let ty = signature_types(self.db, found).ret.as_ref()?;
        Some(format!("{}\nthe result of `{}`", code(&format!("{RESULT}: {ty}")), item.name))
    }

    fn builtin(&self, def: &Def, builtin: Builtin, range: TextRange) -> String {
        let db = self.db;
        let (label, docs) = match callable(db, def) {
            Some(callable) => (callable.label().0, callable.docs.unwrap_or_default()),
            None => (builtin.name().to_owned(), builtin.doc().to_owned()),
        };
        let operation = self.operations(range).unwrap_or_default();
        let place = match builtin.place() {
            Place::Host => "\n\n*in `test`, `bench`, `main` and the session*",
            Place::Device | Place::Member => "\n\n*in `kernel` and `fn`*",
            Place::Both => "",
        };
        format!("{}\n{docs}{place}{operation}", code(&label))
    }

    fn generic(&self, item: &ItemKey, index: usize, name: &str) -> Option<String> {
        let found = item.find(self.db)?;
        let callable = crate::callable::of_item(self.db, found)?;
        let written = callable.generics.get(index).map_or(name.to_owned(), |generic| generic.text.clone());
        let mut out = format!("{}\ncompile-time parameter of `{}`", code(&written), item.name);
        if let Item::Kernel(kernel) = found
            && let Some(solved) = Solved::of(self.db, kernel, self.shown)
            && let Some(value) = solved.lowered.sources.args.get(name)
        {
            out.push_str(&format!("; `{value}` in what is shown"));
        }
        Some(out)
    }

    fn item(&self, key: &ItemKey) -> Option<String> {
        let item = key.find(self.db)?;
        let mut out = code(&docs::header(self.db, item)?);
        if let Some(docs) = docs::docs(self.db, item) {
            out.push_str(&format!("\n{docs}\n"));
        }
        if let Item::Function(function) = item
            && let Some(ptx) = fn_ptx(self.db, function)
        {
            out.push_str(&ptx_text(ptx));
        }
        if let Item::Kernel(kernel) = item
            && let Some(costs) = crate::shown_costs::of_kernel(self.db, kernel, self.shown, self.reported)
        {
            let args: Vec<String> = costs.args.iter().map(|(n, v)| format!("`{n} = {v}`")).collect();
            out.push_str(&format!("\n---\n\n{} threads · {}", costs.resources.threads, costs.resources));
            for found in costs.estimate.iter().flat_map(|estimate| &estimate.loops) {
                let pipes: Vec<String> = found.pipes.iter().map(|pipe| format!("`{pipe}`")).collect();
                out.push_str(&format!("\n\na round of {}: {}", pipes.join(" and "), found.bound));
            }
            let units = usual_units(self.db, kernel);
            let units: Vec<String> = units.iter().map(|unit| format!("`{unit} = 1`, ")).collect();
            let assumed = format!("{}all other dimensions and strides multiples of 16", units.concat());
            let assumed =
                if units.is_empty() { "all dimensions and strides multiples of 16" } else { &assumed };
            let args = if args.is_empty() { String::new() } else { format!("{}, ", args.join(", ")) };
            out.push_str(&format!("\n\n*{}, assuming {args}{assumed}*", costs.target));
        }
        let path = key.file.path(self.db);
        if key.file != self.file {
            out.push_str(&format!("\n\n`{path}`"));
        }
        Some(out)
    }

    /// Describes the pipeline that a local names; `None` if it names none, or if the kernel has errors.
    fn pipeline(&self, item: Item<'a>, name: &str) -> Option<String> {
        let Item::Kernel(kernel) = item else { return None };
        let solved = Solved::of(self.db, kernel, self.shown)?;
        Some(format!("\n{}\n", crate::roles::pipeline(&solved, name)?))
    }

    /// Describes the counter that a local names; `None` if it names none, or if the kernel has errors.
    fn counter(&self, item: Item<'a>, name: &str) -> Option<String> {
        let Item::Kernel(kernel) = item else { return None };
        let solved = Solved::of(self.db, kernel, self.shown)?;
        Some(format!("\n{}\n", crate::roles::counter(&solved, name)?))
    }

    /// Describes the turns that a local names; `None` if it names none, or if the kernel has errors.
    fn turns(&self, item: Item<'a>, name: &str) -> Option<String> {
        let Item::Kernel(kernel) = item else { return None };
        let solved = Solved::of(self.db, kernel, self.shown)?;
        Some(format!("\n{}\n", crate::roles::turns(&solved, name)?))
    }

    /// Describes the barrier of several roles that a local names; `None` if it names none, or if the kernel has errors.
    fn barrier(&self, item: Item<'a>, name: &str) -> Option<String> {
        let Item::Kernel(kernel) = item else { return None };
        let solved = Solved::of(self.db, kernel, self.shown)?;
        Some(format!("\n{}\n", crate::roles::barrier(&solved, name)?))
    }

    /// Formats the layouts of a local's tensors, and their reasons; `None` for a local without tensors.
    fn tensor(&self, item: Item<'a>, binding: TextRange) -> Option<String> {
        let Item::Kernel(kernel) = item else { return None };
        let Some(solved) = Solved::of(self.db, kernel, self.shown) else {
            let offset = kernel.offset(self.db);
            let anchor = anchors(self.db, kernel).name_at(binding.checked_sub(offset)?)?;
            let kept = self.last_good.of(self.db, kernel);
            let parts = &kept.iter().find(|kept| kept.anchor == *anchor)?.parts;
            let tooltips: Vec<&str> = parts.iter().map(|part| part.tooltip.as_str()).collect();
            return Some(format!("\n*The kernel has errors. Before them:*\n\n{}", tooltips.join("\n\n")));
        };
        let tensors = solved.tensors_bound_at(binding);
        let told: Vec<String> = tensors.iter().filter_map(|id| self.layout(&solved, *id)).collect();
        let mut unique: Vec<String> = Vec::new();
        for text in told {
            if !unique.contains(&text) {
                unique.push(text);
            }
        }
        (!unique.is_empty()).then(|| unique.join("\n\n---\n"))
    }

    fn layout(&self, solved: &Solved<'_>, id: TensorId) -> Option<String> {
        let tensor = solved.tensor(id);
        let (layout, alias) = (solved.layout(id)?, solved.alias(id)?);
        let mut out = format!("\n**{alias}** · `{}{:?}`\n\n```\n{layout}\n```\n", tensor.dtype, tensor.shape);
        // Put the drawing before the text: editors show the first lines of a hover, and the rest only after scrolling.
        if let Some(drawing) = drawings(solved, id).into_iter().next() {
            out.push_str(&self.drawing(&drawing));
        }
        let touching: Vec<String> = solved
            .ops()
            .into_iter()
            .filter(|op| op.kind.tensors().contains(&id))
            .map(|op| match describe(solved, op) {
                (what, Some(reason)) => format!("- `{what}`  \n  {reason}"),
                (what, None) => format!("- `{what}`"),
            })
            .collect();
        if !touching.is_empty() {
            out.push_str(&format!("\n{}\n", touching.join("\n")));
        }
        if let Some(step) = chain(solved, id) {
            out.push_str("\n**Because**\n\n");
            reasons(&step, 0, &mut out);
        }
        Some(out)
    }

    /// Formats a drawing, cropped to its first rows and columns.
    fn drawing(&self, NamedDrawing { kind, drawing }: &NamedDrawing) -> String {
        match self.style {
            DrawingStyle::None => String::new(),
            DrawingStyle::Unicode => {
                let fits = drawing.rows <= ROWS && drawing.cols <= 2 * COLS;
                let cropped = if fits { drawing.clone() } else { drawing.cropped(ROWS, COLS) };
                format!("\n```\n{}```\n", cropped.unicode())
            }
            DrawingStyle::Svg(style) => {
                let cols = style.width.map_or(2 * COLS, |width| drawing.columns_within(width)).max(1);
                let title = captioned(kind, drawing, (IMAGE_ROWS, cols));
                let cropped = Drawing { title, ..drawing.cropped(IMAGE_ROWS, cols) };
                let data = base64::engine::general_purpose::STANDARD.encode(cropped.svg_in(style));
                format!("\n![layout](data:image/svg+xml;base64,{data})\n")
            }
        }
    }

    /// Describes the operations that a call became; `None` if there are none. `range` is the name of the callee.
    fn operations(&self, range: TextRange) -> Option<String> {
        let around = |item: &&Item<'_>| item_range(self.db, **item).contains_range(range);
        let item = *file_items(self.db, self.file).items.iter().find(around)?;
        let Item::Kernel(kernel) = item else { return None };
        let solved = Solved::of(self.db, kernel, self.shown)?;
        let (body, map) = (body_of(self.db, item), body_source_map(self.db, item)?);
        let offset = item.offset(self.db);
        let call = body.store.exprs.iter().find_map(|(expr, _)| {
            let callee = callee_of(&body.store, expr)?;
            (map.expr(callee)? + offset).contains_range(range).then(|| map.expr(expr))?
        })? + offset;
        let mut told: Vec<String> = Vec::new();
        for op in solved.ops().into_iter().filter(|op| solved.in_kernel(op.origin) == Some(call)) {
            let (what, reason) = describe(&solved, op);
            let text = format!("\n- `{what}`{}", reason.map_or_else(String::new, |r| format!("  \n  {r}")));
            if !told.contains(&text) {
                told.push(text);
            }
        }
        // One product stands for those of an unrolled loop. If rules keep a better instruction from it, its reason has them already.
        let is_product =
            |op: &&Op| matches!(op.kind, OpKind::Gemm { .. }) && solved.in_kernel(op.origin) == Some(call);
        let product = solved.ops().into_iter().find(is_product);
        let other = product.filter(|op| product_rules(self.db, solved.instance, op.id).is_none());
        if let Some(text) = other.and_then(|op| product_alternative(self.db, solved.instance, op.id).clone())
        {
            told.push(format!("\n- {text}"));
        }
        if told.is_empty() {
            told.extend(elementwise_around(&solved, call));
        }
        (!told.is_empty()).then(|| format!("\n\n---\n{}", told.concat()))
    }

    /// Describes a keyword, or the type of the smallest expression around the cursor; `None` if neither is there.
    fn token(&self) -> Option<Hover> {
        let root = hx_base::parse(self.db, self.file).syntax_node();
        let token = root.token_at_offset(self.at.min(root.text_range().end())).right_biased()?;
        let range = token.text_range();
        if token.kind().is_keyword() {
            let mut text = keyword(&token)?.to_owned();
            if let Some(role) = crate::roles::role(self.db, self.file, &token, self.shown) {
                text.push_str(&format!("\n\n{role}"));
            }
            let text = format!("{}\n{text}", code(token.text()));
            return Some(Hover { range, text, is_binding: false });
        }
        if matches!(token.kind(), SyntaxKind::WHITESPACE | SyntaxKind::COMMENT) {
            return None;
        }
        // Find the smallest expression around the token that has a type.
        let around = |item: &&Item<'_>| item_range(self.db, **item).contains_range(range);
        let item = *file_items(self.db, self.file).items.iter().find(around)?;
        let (types, map) = (infer_body(self.db, item), body_source_map(self.db, item)?);
        let offset = item.offset(self.db);
        let typed = types.exprs.iter().filter_map(|(expr, ty)| Some((map.expr(expr)? + offset, ty)));
        let (range, ty) =
            typed.filter(|(found, _)| found.contains_range(range)).min_by_key(|(found, _)| found.len())?;
        if ty.is_quiet() || matches!(ty, Ty::Unit) {
            return None;
        }
        let solved = match item {
            Item::Kernel(kernel)
                if token.parent().is_some_and(|node| node.kind() == SyntaxKind::BINARY_EXPR) =>
            {
                Solved::of(self.db, kernel, self.shown)
            }
            _ => None,
        };
        let operation = solved.and_then(|solved| elementwise_around(&solved, range));
        let operation = operation.map_or_else(String::new, |text| format!("\n---\n{text}"));
        Some(Hover { range, text: code(&ty.to_string()) + &operation, is_binding: false })
    }
}

/// Describes the elementwise operation that computes an expression as a part of it: the innermost one whose text contains the expression.
fn elementwise_around(solved: &Solved<'_>, expr: TextRange) -> Option<String> {
    let ops = solved.ops().into_iter().filter(|op| matches!(op.kind, OpKind::Map(_)));
    let around = ops.filter_map(|op| Some((solved.in_kernel(op.origin)?, op)));
    let (_, op) =
        around.filter(|(found, _)| found.contains_range(expr)).min_by_key(|(found, _)| found.len())?;
    let (what, reason) = describe(solved, op);
    Some(format!("\n- a part of `{what}`{}", reason.map_or_else(String::new, |r| format!("  \n  {r}"))))
}

/// Describes the PTX of a function, and what runs it.
fn ptx_text(ptx: &Ptx) -> String {
    let meaning = match ptx.has_meaning {
        true => {
            "The GPU runs the PTX; the simulator, proofs and results that are known at compile time take the body."
        }
        false => "The function has no body, so only a GPU runs kernels that call it.",
    };
    let every = if ptx.is_volatile { " Every call runs it (`volatile`)." } else { "" };
    format!("\n---\n\n```ptx\n{}\n```\n\n{meaning}{every}\n", ptx.text.trim())
}

/// Returns the type that a header declares for a parameter; `None` for a parameter that is no single number.
fn numeric_param(db: &dyn Db, item: Item<'_>, index: usize) -> Option<DType> {
    let params = match item {
        Item::Kernel(kernel) => &kernel_signature(db, kernel).params,
        Item::Function(function) => &fn_signature(db, function).params,
        Item::Const(_) | Item::Use(_) | Item::Cell(_) | Item::Test(_) | Item::Bench(_) | Item::Main(_) => {
            return None;
        }
    };
    let names = signature_names(db, item);
    match (signature_types(db, item).params.get(index)?, names.names.types.get(params.get(index)?.ty)?) {
        (Ty::Tensor(_), _) => None,
        (_, Resolution::DType(dtype)) => Some(*dtype),
        _ => None,
    }
}

/// Explains the layout of a kernel's parameter: it is in global memory, and its strides determine the layout.
fn given_layout(ty: Option<&Ty>) -> &'static str {
    match ty {
        Some(Ty::Tensor(_)) => "; its layout is given by its strides",
        _ => "",
    }
}

/// Returns the title of a drawing in a hover. The layout itself is in the text above it, and would be wider than the cells.
fn captioned(kind: &str, drawing: &Drawing, (rows, cols): (usize, usize)) -> String {
    let what = match kind {
        "threads" => "thread and value of each element",
        "banks" => "bank of each element",
        _ => "offset of each element",
    };
    let (shown, whole) = ((drawing.rows.min(rows), drawing.cols.min(cols)), (drawing.rows, drawing.cols));
    if shown == whole {
        return what.to_owned();
    }
    format!("{what}: {} × {} of {} × {}", shown.0, shown.1, whole.0, whole.1)
}

/// Formats a tree of reasons as a nested list.
fn reasons(step: &ReasonStep, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    if depth == 0 {
        out.push_str(&format!("- {}\n", step.reason.as_deref().unwrap_or_default()));
    } else {
        let reason = step.reason.as_deref().map_or_else(String::new, |r| format!("  \n{indent}  {r}"));
        out.push_str(&format!("{indent}- `{}`{reason}\n", step.what));
    }
    step.from.iter().for_each(|below| reasons(below, depth + 1, out));
}

/// Describes an element type.
fn about(dtype: DType) -> String {
    let bits = dtype.bits();
    let what = if dtype == DType::Bool {
        "a truth value".to_owned()
    } else if dtype.is_int() {
        format!("an integer of {bits} bits")
    } else {
        format!("a floating-point number of {bits} bits")
    };
    let packed = if bits < 8 { "; tensors of it are packed, lowest bits first" } else { "" };
    format!("{what}{packed}")
}

fn about_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Int => "a whole number, known at compile time",
        Kind::Float => "a floating-point number, known at compile time",
        Kind::Bool => "a truth value, known at compile time",
        Kind::Type => "an element type, known at compile time",
        Kind::Layout => "a layout, known at compile time",
        Kind::Function => "a function, known at compile time",
        Kind::Pipeline => "a pipeline, known at compile time: a parameter of a `fn`",
        Kind::Turns => "turns, known at compile time: a parameter of a `fn`",
        Kind::Barrier => "a barrier, known at compile time: a parameter of a `fn`",
        Kind::Counter => "a counter, known at compile time: a parameter of a `fn`",
    }
}

/// Describes the construct that a keyword begins; `None` for a keyword without a description.
fn keyword(token: &SyntaxToken) -> Option<&'static str> {
    Some(match token.text() {
        "kernel" => "A kernel: a block of threads runs its body for each element of its `grid`.",
        "fn" => "A tile function, inlined where it is called.",
        "test" => "A test: host code that `hx test` runs.",
        "bench" => "A bench: host code that `hx bench` times on the GPU.",
        "main" => "What `hx run` executes.",
        "where" => "What the kernel may rely on; a launch that breaks it is refused.",
        "grid" => "Blocks along each axis.",
        "threads" => "Threads of a block.",
        "warp_groups" => {
            "Divides the threads of the block into roles with bodies of their own, until the kernel ends."
        }
        "producer" => "A role whose threads keep few registers if it does not say how many: it copies.",
        "consumer" => "A role whose threads get most registers if it does not say how many: it computes.",
        "each" => "Every group of 128 threads runs the body for itself.",
        "registers" => "The registers of each thread of the role: a multiple of 8 from 24 to 256.",
        "cluster" => "Blocks of a cluster along each axis.",
        "blocks_per_sm" => {
            "Blocks that a multiprocessor holds together, at least: bounds their registers and their shared memory."
        }
        "shared" => "Shared memory: of a block, and seen by all of its threads.",
        "register" => "Registers: each element is held by one thread, or by several alike.",
        "global" => "Global memory.",
        "mut" => "It may be written.",
        "new" => "A mode of extent 1, in an index.",
        "measure" => "What a bench times, with the work that it counts.",
        "baseline" => "What a bench is compared with, in the same run.",
        "use" => "Brings a name of another file into this one.",
        "const" => "A constant of the file, known at compile time.",
        "inf" => "Infinity.",
        _ => return None,
    })
}

/// Returns where the code at an offset runs, which the item around it determines. `None` between items.
pub(crate) fn place_at(db: &dyn Db, file: SourceFile, at: TextSize) -> Option<hx_hir::Place> {
    let root = hx_base::parse(db, file).syntax_node();
    let inside = |item: &&Item<'_>| {
        let Some(node) = crate::names::item_node(db, &root, **item) else { return false };
        let range = crate::node::code_range(&node);
        // At a closing brace the item ends; a half-typed item without one includes its end offset.
        let closed = node.last_token().is_some_and(|token| token.kind() == SyntaxKind::R_BRACE);
        range.start() < at && (at < range.end() || at == range.end() && !closed)
    };
    file_items(db, file).items.iter().find(inside).map(|item| place_of(item.kind()))
}
