//! The rules that keep a matrix instruction from a product.
//!
//! They are those of the tilings ([`crate::anchor`]), one by one and with their numbers. A product that no rule excludes from an
//! instruction may still go without it: other accesses of its operands may exclude the layout that the instruction reads, or
//! another instruction may cost less.

use std::fmt;

use hx_dtype::DType;
use hx_target::{GemmRow, Space};
use hx_tile::{Op, OpId, OpKind, TileProgram};

use crate::access::global;
use crate::anchor::descriptor::{BESIDE, registers};
use crate::anchor::gemm::Gemm;
use crate::anchor::tiling::{arranged, arrangements};
use crate::shared::{Issued, unreached};

/// An extent of a product `C[m, n] += A[m, k] · B[n, k]`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Axis {
    M,
    N,
    K,
}

/// An operand of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    A,
    B,
}

impl Side {
    const BOTH: [Side; 2] = [Side::A, Side::B];

    /// Returns the axis along the operand's rows or columns, which the sum does not walk.
    pub fn own_axis(self) -> Axis {
        match self {
            Side::A => Axis::M,
            Side::B => Axis::N,
        }
    }
}

/// A rule that keeps an instruction from a product.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rule {
    /// The element types of A, B and the accumulator are not among those that the instructions multiply.
    Types { found: [DType; 3], wanted: Vec<[DType; 3]> },
    /// The accumulator is in another memory.
    Accumulator { found: Space, wanted: Space },
    /// The tensors have a third mode, and the instruction computes one product at a time.
    Batch { products: i64 },
    /// The instruction needs a multiple of `together` threads.
    Threads { found: i64, together: i64 },
    /// An extent of the product is no multiple of the instruction's.
    Extent { axis: Axis, found: i64, step: i64 },
    /// The results of the instruction do not fit the registers of a thread: it takes `results` registers for them and `beside` more.
    Registers { results: i64, beside: i64, most: i64 },
    /// No arrangement of the instruction has the warps that the source pins.
    Warps { pinned: String, each: [i64; 2] },
    /// The operand is in registers, and the instruction reads it from shared memory.
    InRegisters { side: Side, tensor: String },
    /// A copy fills the operand with neighbours along its own axis, and the instruction reads neighbours along K. `least` is the
    /// number of neighbours that the copy moves at least.
    Contiguous { side: Side, tensor: String, dtype: DType, copy: OpId, least: i64 },
    /// No layout of the operand's tensor has a form that the instruction reads.
    Form { side: Side, tensor: String, why: String },
}

impl Rule {
    /// Returns the rule as text. `named` returns the name under which the source knows an extent, if there is one.
    pub fn text(&self, named: &dyn Fn(i64) -> Option<String>) -> String {
        match self {
            Rule::Types { found, wanted } => types_text(*found, wanted),
            Rule::Accumulator { found, wanted } => {
                format!("the accumulator is in {} memory, and it adds in {}", found.name(), wanted.name())
            }
            Rule::Batch { products } => {
                format!("the tensors have a third mode, {products} products, and it computes one at a time")
            }
            Rule::Threads { found, together } => {
                format!("{together} threads execute it together, and {found} is no multiple of that")
            }
            Rule::Extent { axis, found, step } => {
                let name = named(*found).unwrap_or_else(|| format!("{axis:?}"));
                format!("`{name} = {found}` is no multiple of {step}")
            }
            Rule::Registers { results, beside, most } => format!(
                "it takes {results} registers of a thread for its results and {beside} beside them, of {most}"
            ),
            Rule::Warps { pinned, each: [m, n] } => {
                format!("`warps: {pinned}` is pinned, and one instruction takes {m}×{n} warps")
            }
            Rule::InRegisters { side, tensor } => {
                format!("`{tensor}` is in registers, and it reads {side:?} from shared memory")
            }
            Rule::Contiguous { side, tensor, dtype, .. } => {
                format!(
                    "{dtype} `{tensor}` is contiguous along {:?}, and it reads {dtype} along K",
                    side.own_axis()
                )
            }
            Rule::Form { side, tensor, why } => {
                format!("`{tensor}` is in no form in which it reads {side:?} from shared memory: {why}")
            }
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|_| None))
    }
}

/// Says which types were found, and which ones instructions multiply. Types that agree are left out.
fn types_text([a, b, c]: [DType; 3], wanted: &[[DType; 3]]) -> String {
    let listed = |types: Vec<DType>| {
        let mut texts: Vec<String> = Vec::new();
        for text in types.into_iter().map(|dtype| dtype.to_string()) {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        match texts.split_last() {
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
            None => "nothing".to_owned(),
        }
    };
    let with_sums: Vec<&[DType; 3]> = wanted.iter().filter(|[_, _, sum]| *sum == c).collect();
    if with_sums.is_empty() {
        let sums: Vec<DType> = wanted.iter().filter(|[x, y, _]| [*x, *y] == [a, b]).map(|w| w[2]).collect();
        return if sums.is_empty() {
            let triples: Vec<String> = wanted.iter().map(|[a, b, c]| format!("{a} · {b} → {c}")).collect();
            format!("{a} · {b} → {c}, and it computes {}", triples.join(", "))
        } else {
            format!("a sum in {c}, and it adds in {}", listed(sums))
        };
    }
    let is_one = a == b;
    let found = if is_one { format!("{a} operands") } else { format!("operands of {a} and {b}") };
    if is_one && with_sums.iter().any(|[x, y, _]| x == y) {
        let same = with_sums.iter().filter(|[x, y, _]| x == y).map(|[x, ..]| *x);
        return format!("{found}, and it takes {} into {c}", listed(same.collect()));
    }
    let pairs: Vec<String> = with_sums.iter().map(|[x, y, _]| format!("{x} · {y}")).collect();
    format!("{found}, and it takes {} into {c}", pairs.join(", "))
}

/// Returns all rules that keep an instruction from a product; none if the instruction may compute it, or if the operation is no
/// product. `program` is the source of the solver: a solved program has loads of operands, which change the rules.
pub fn rules_against(program: &TileProgram, op: &Op, row: &'static GemmRow) -> Vec<Rule> {
    let Some(gemm) = Gemm::of(program, op) else { return Vec::new() };
    let Some(found) = gemm.types(program) else { return Vec::new() };
    let mut rules = Vec::new();
    let wanted = [row.a.dtype(), row.b.dtype(), row.c.dtype];
    if found != wanted {
        rules.push(Rule::Types { found, wanted: vec![wanted] });
    }
    if !gemm.accumulates(program, row) {
        let found = program.tensor(gemm.c).kind.space();
        rules.push(Rule::Accumulator { found, wanted: row.accumulates_in() });
    }
    if let (Some(products), true) = (gemm.shape.batch, row.is_by_descriptor()) {
        rules.push(Rule::Batch { products });
    }
    rules.extend(rules_of_extents(program, &gemm, row));
    if found == wanted && row.is_by_descriptor() {
        let is_cut = |side: Side| {
            let cut = |axis: Axis| axis == Axis::K || axis == side.own_axis();
            rules.iter().any(|rule| matches!(rule, Rule::Extent { axis, .. } if cut(*axis)))
        };
        // If an extent is no multiple, no layout of the operand has one either: say it once.
        let of = |side: Side| {
            let rule = rule_of_operand(program, &gemm, row, side)?;
            (!is_cut(side) || !matches!(rule, Rule::Form { .. })).then_some(rule)
        };
        let operands: Vec<Rule> = Side::BOTH.into_iter().filter_map(of).collect();
        rules.extend(operands);
    }
    rules
}

/// Returns the instruction among those that `is_wanted` selects which the fewest rules keep from a product, with these rules. Of
/// instructions with as many rules, the one that computes most columns wins; if the number of columns itself breaks a rule, the one
/// that computes fewest. If no instruction multiplies the product's types, the rule lists the types of all. `None` if the operation
/// is no product, or if no instruction of the target is wanted.
pub fn nearest(
    program: &TileProgram,
    op: &Op,
    is_wanted: &dyn Fn(&GemmRow) -> bool,
) -> Option<(&'static GemmRow, Vec<Rule>)> {
    let gemm = Gemm::of(program, op)?;
    gemm.types(program)?;
    let rows = program.target.rows().gemms.iter().filter(|row| !row.is_swapped && is_wanted(row));
    let mut all: Vec<[DType; 3]> = Vec::new();
    let mut best: Option<((usize, i64), &'static GemmRow, Vec<Rule>)> = None;
    for row in rows {
        let types = [row.a.dtype(), row.b.dtype(), row.c.dtype];
        if !all.contains(&types) {
            all.push(types);
        }
        let rules = rules_against(program, op, row);
        let is_cut = rules.iter().any(|rule| matches!(rule, Rule::Extent { axis: Axis::N, .. }));
        let size = if is_cut { row.shape[1] } else { -row.shape[1] };
        // Other types change more than a program's text, so they weigh more than all other rules together.
        let types = rules.iter().filter(|rule| matches!(rule, Rule::Types { .. })).count();
        let rank = (rules.len() + 100 * types, size);
        if best.as_ref().is_none_or(|(least, ..)| rank < *least) {
            best = Some((rank, row, rules));
        }
    }
    let (_, row, mut rules) = best?;
    for rule in &mut rules {
        if let Rule::Types { wanted, .. } = rule {
            *wanted = std::mem::take(&mut all);
        }
    }
    Some((row, rules))
}

/// Returns the rules about the extents of the product, its threads and their registers.
fn rules_of_extents(program: &TileProgram, gemm: &Gemm<'_>, row: &'static GemmRow) -> Vec<Rule> {
    let target = program.target;
    let mut rules = Vec::new();
    let (threads, together) = (i64::from(program.threads_of(gemm.op)), i64::from(row.threads));
    if threads % together != 0 {
        rules.push(Rule::Threads { found: threads, together });
    }
    let [m, n, k] = row.shape;
    let mut extent = |axis: Axis, found: i64, step: i64| {
        if found % step != 0 {
            rules.push(Rule::Extent { axis, found, step });
        }
    };
    // Instructions of registers may compute rows and columns past the edges of a tile.
    if row.is_by_descriptor() {
        extent(Axis::M, gemm.shape.m, m);
        extent(Axis::N, gemm.shape.n, n);
    }
    extent(Axis::K, gemm.shape.k, k);
    let most = registers(program);
    if row.is_by_descriptor() && row.c.values() + BESIDE > most {
        rules.push(Rule::Registers { results: row.c.values(), beside: BESIDE, most });
    }
    if let Some(pin) = gemm.pinned
        && threads % together == 0
        && !arrangements(threads / together, gemm.shape.batch).any(|found| arranged(target, found, pin, row))
    {
        let pinned = program.warps_text(gemm.c, pin);
        rules.push(Rule::Warps { pinned, each: row.warps(target.limits.lanes) });
    }
    rules
}

/// Returns the rule that keeps an instruction from reading an operand where it is; `None` if it can.
fn rule_of_operand(
    program: &TileProgram,
    gemm: &Gemm<'_>,
    row: &'static GemmRow,
    side: Side,
) -> Option<Rule> {
    let view = gemm.views[side as usize];
    let operand = if side == Side::A { &row.a } else { &row.b };
    let name = program.base_name(view.base).to_owned();
    let Some(tensor) = view.base.shared() else {
        return operand.fragment().is_none().then_some(Rule::InRegisters { side, tensor: name });
    };
    // An operand that may be in registers is loaded if no descriptor reaches it.
    if operand.fragment().is_some() {
        return None;
    }
    let issued = Issued::of(program.target, row, side as usize);
    if let Some(why) = unreached(program, tensor, view, &issued) {
        return Some(Rule::Form { side, tensor: name, why });
    }
    if !issued.reaches().all(hx_target::ReachRow::is_k_major) {
        return None;
    }
    let own = view.modes.first()?.dim;
    let dtype = program.tensor(tensor).dtype;
    program.ops(1.0).into_iter().find_map(|(op, _)| {
        let OpKind::CopyAsync { src, dst, .. } = &op.kind else { return None };
        let param = global::param_of(program, src).filter(|_| dst.base.shared() == Some(tensor))?;
        let along = global::alignment(program, src, param).run?.dim();
        let rows = program.target.rows().copies_between(Space::Global, Space::Shared);
        let least = rows.filter_map(|row| Some(row.atom(dtype)?.values)).min()?;
        (dst.modes.get(along)?.dim == own && least > 1).then(|| Rule::Contiguous {
            side,
            tensor: name.clone(),
            dtype,
            copy: op.id,
            least,
        })
    })
}
