//! Reads questions, in the words of this compiler and in those of CUTLASS.

use hx_layout::{ComposedLayout, Swizzle};
use hx_lower::CtValue;
use hx_target::{Instructions, SwizzleMode, Target};
use hx_tile::{Choice, Op, OpKind, layout_text};

use super::{Asked, quoted};

/// An alternative to the solution.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Question {
    /// An instruction, by its name or the beginning of it.
    Rows(Instructions),
    /// Bytes of an access.
    Width(u32),
    Layout(ComposedLayout),
    /// One swizzle, or all that the hardware names.
    Swizzle(Option<Wanted>),
    /// The extents of a box, or all boxes.
    Boxes(Option<Vec<u32>>),
    /// Warps along M, N and the batch, or all arrangements.
    Warps(Option<[i64; 3]>),
    Candidate(usize),
    /// A number of stages, or one more and one fewer.
    Stages(Option<i64>),
    /// A number of parts, or half and twice as many.
    Split(Option<i64>),
    /// A compile-time parameter with another value.
    Argument(String, i64),
}

/// A swizzle in a question.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Wanted {
    Mode(SwizzleMode),
    /// A permutation of the offsets of elements.
    Elements(Swizzle),
}

/// The most warps along one axis that a question may name.
const MOST_WARPS: u64 = 1 << 16;

/// Reads a question; `None` if it is of no known kind.
pub(super) fn parse(text: &str, asked: &Asked<'_>) -> Option<Question> {
    let text = text.trim();
    let lower = text.to_lowercase();
    let words: Vec<&str> =
        lower.split([' ', ':', ',', '[', ']', '=']).filter(|word| !word.is_empty()).collect();
    let numbers: Vec<i64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    if let Some(argument) = argument(text, asked) {
        return Some(argument);
    }
    if lower.contains(':')
        && lower.contains('(')
        && let Ok(layout) = text.parse::<ComposedLayout>()
    {
        return Some(Question::Layout(layout));
    }
    if let Some(swizzle) = swizzle(text, &lower, &words) {
        return Some(swizzle);
    }
    if let Some(question) = by_word(text, &words, &numbers) {
        return Some(question);
    }
    if let Some(bytes) = width(&lower) {
        return Some(Question::Width(bytes));
    }
    let named = Instructions::named(text, asked.program().target.rows());
    let elsewhere =
        || Target::all().iter().any(|target| !Instructions::named(text, target.rows()).is_empty());
    (!named.is_empty() || elsewhere()).then_some(Question::Rows(named))
}

/// Reads a question that a word of it names, or numbers alone: a candidate, stages, a split, boxes, warps.
fn by_word(text: &str, words: &[&str], numbers: &[i64]) -> Option<Question> {
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    if has(&["candidate"]) || words.len() == 1 && numbers.len() == 1 {
        return Some(Question::Candidate(usize::try_from(*numbers.first()?).ok()?));
    }
    if has(&["stage", "stages"]) {
        return Some(Question::Stages(numbers.first().copied()));
    }
    if has(&["split", "splits", "split-k", "splitk"]) {
        return Some(Question::Split(numbers.first().copied()));
    }
    if has(&["box", "boxes"]) {
        let extents: Vec<u32> = words
            .iter()
            .filter_map(|word| times(word))
            .flatten()
            .filter_map(|n| u32::try_from(n).ok())
            .collect();
        return Some(Question::Boxes((!extents.is_empty()).then_some(extents)));
    }
    let is_warps = has(&["warp", "warps", "arrangement"]);
    let mut along: Vec<i64> = words.iter().filter_map(|word| times(word)).flatten().collect();
    if along.is_empty() && (is_warps || text.starts_with('[')) {
        along = numbers.to_vec();
    }
    if is_warps || along.len() == 2 || along.len() == 3 {
        let wanted = match along.as_slice() {
            [m, n] => Some([*m, *n, 1]),
            [m, n, batch] => Some([*m, *n, *batch]),
            _ => None,
        };
        // More warps than any block has: no arrangement, and products of the numbers would overflow.
        return along.iter().all(|n| n.unsigned_abs() <= MOST_WARPS).then_some(Question::Warps(wanted));
    }
    None
}

/// Reads `NAME=VALUE` of a compile-time parameter of the kernel. A parameter of another name may be a word of this module.
fn argument(text: &str, asked: &Asked<'_>) -> Option<Question> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim().parse().ok()?);
    let is_named = |own: &&hx_hir::Name| own.as_str().eq_ignore_ascii_case(name);
    let found = asked.source.sources.args.keys().find(is_named)?;
    Some(Question::Argument(found.to_string(), value))
}

/// Reads a swizzle: `swizzle`, `no swizzle`, `128B swizzle`, `SW128`, `swizzle<3, 3, 3>`.
fn swizzle(text: &str, lower: &str, words: &[&str]) -> Option<Question> {
    let mode = |bytes: u32| {
        let is_it = |mode: &SwizzleMode| *mode != SwizzleMode::Plain && mode.width_bytes() == bytes;
        SwizzleMode::ALL.into_iter().find(is_it)
    };
    let named = |word: &str| {
        let digits: String = word.chars().filter(char::is_ascii_digit).collect();
        mode(digits.parse().ok()?)
    };
    if let [word] = words
        && let Some(bytes) = word.strip_prefix("sw")
        && let Ok(bytes) = bytes.parse()
    {
        return Some(Question::Swizzle(Some(Wanted::Mode(mode(bytes)?))));
    }
    if !lower.contains("swizzle") && !lower.contains("interleave") {
        return None;
    }
    if let Some(start) = lower.find("swizzle<") {
        let own = text.get(start..)?.to_lowercase().parse::<Swizzle>().ok()?;
        return Some(Question::Swizzle(Some(Wanted::Elements(own))));
    }
    let is_none =
        words.iter().any(|word| ["no", "none", "unswizzled", "interleave", "without"].contains(word));
    let wanted = if is_none { Some(SwizzleMode::Plain) } else { words.iter().find_map(|word| named(word)) };
    Some(Question::Swizzle(wanted.map(Wanted::Mode)))
}

/// Reads `16B`, `16 B`, `16 bytes` and `128-bit` as bytes.
fn width(lower: &str) -> Option<u32> {
    let digits = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u32 = lower[..digits].parse().ok()?;
    match lower[digits..].trim_start_matches([' ', '-', '_']) {
        "b" | "byte" | "bytes" => Some(number),
        "bit" | "bits" => Some(number / 8),
        _ => None,
    }
}

/// Reads `64x128` and `64×128`.
fn times(word: &str) -> Option<Vec<i64>> {
    let parts: Option<Vec<i64>> = word.split(['x', '×']).map(|part| part.parse().ok()).collect();
    parts.filter(|parts| parts.len() > 1)
}

/// Lists the kinds of questions, each with examples for this instance.
pub(super) fn kinds(text: &str, asked: &Asked<'_>) -> String {
    let (program, solution) = (asked.program(), &asked.solved.solution);
    let rows = program.target.rows();
    let has_product = solution.choices.values().any(|choice| matches!(choice, Choice::Gemm(_)));
    let mut lines = Vec::new();
    let mut line = |kind: &str, examples: Vec<String>| {
        if !examples.is_empty() {
            let examples: Vec<String> = examples
                .into_iter()
                .map(|text| match text.contains([' ', '(', '<']) {
                    true => format!("--not \"{text}\""),
                    false => format!("--not {text}"),
                })
                .collect();
            lines.push(format!("  {kind:<19}{}", examples.join("  ")));
        }
    };
    let names = instructions_of(asked);
    line("an instruction", names);
    line("an access width", vec![format!("{}B", program.target.limits.access_bytes)]);
    let shared = solution.shared.keys().next();
    if shared.is_some() {
        line("a swizzle", vec!["swizzle".to_owned(), "64B swizzle".to_owned()]);
        line("a box", vec!["box".to_owned()]);
    }
    if has_product {
        line("warps", vec!["warps".to_owned(), "warps [4, 2]".to_owned()]);
    }
    if !program.pipes.is_empty() {
        line("a stage count", vec!["stages".to_owned(), "5 stages".to_owned()]);
    }
    if has_product {
        line("a split of K", vec!["split".to_owned()]);
    }
    let number = |(name, value): (&hx_hir::Name, &CtValue)| match value {
        CtValue::Int(n) => Some(format!("{name}={}", n.saturating_mul(2))),
        _ => None,
    };
    let sizes = asked.source.sources.args.iter().filter_map(number).take(2);
    line("a parameter", sizes.collect());
    line("a candidate", vec!["1".to_owned()]);
    if let Some((tensor, layout)) = shared.and_then(|id| Some((*id, solution.shared.get(id)?))) {
        let name = &program.tensor(tensor).name;
        lines.push(format!("  {:<19}{name} --not \"{}\"", "a layout", layout.layout));
    } else if let Some(id) = program.tensor_ids().find(|id| layout_text(program, solution, *id).is_some())
        && let Some(held) = solution.registers.get(&id)
    {
        lines.push(format!("  {:<19}{} --not \"{}\"", "a layout", program.tensor(id).name, held.layout));
    }
    let near = hx_base::nearest(text, Instructions::names(rows));
    let hint = near.map_or_else(String::new, |name| format!("; perhaps {} is meant", quoted(&[name])));
    format!("`{text}` names nothing that a solution decides{hint}; questions are about\n{}", lines.join("\n"))
}

/// Returns names of instructions that operations of an instance may have: kinds of products, bulk copies, collective copies, and
/// where there is nothing else, the accesses of another width than the chosen ones.
fn instructions_of(asked: &Asked<'_>) -> Vec<String> {
    let rows = asked.program().target.rows();
    let family = |name: &str| name.split('.').next().unwrap_or(name).to_owned();
    let choices = || asked.solved.solution.choices.values();
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: String| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    if choices().any(|choice| matches!(choice, Choice::Gemm(_))) {
        rows.gemms.iter().rev().filter(|row| row.threads > 1).for_each(|row| add(family(&row.name)));
    }
    let is_async = |op: &Op| matches!(op.kind, OpKind::CopyAsync { .. } | OpKind::Store { .. });
    if asked.program().ops(1.0).into_iter().any(|(op, _)| is_async(op)) {
        rows.bulks.iter().take(1).for_each(|row| add(row.name.clone()));
    }
    if !asked.solved.solution.shared.is_empty() {
        rows.copies.iter().filter(|row| row.is_collective()).for_each(|row| add(family(&row.name)));
    }
    let chosen: Vec<_> = choices().filter_map(Choice::copy).map(|copy| copy.row.get()).collect();
    let is_other = |row: &&hx_target::CopyRow| {
        row.atomic.is_none()
            && chosen.iter().any(|own| [own.from, own.to] == [row.from, row.to] && own.bytes > row.bytes)
    };
    if names.is_empty() {
        names.extend(rows.copies.iter().find(is_other).map(|row| row.name.clone()));
    }
    names
}
