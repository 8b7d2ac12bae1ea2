//! HX0507: the assembler spilled registers of a kernel to local memory.
//!
//! Only a compile tells whether registers spill. The disassembled code shows the lines whose instructions spill, and so the
//! roles.

use std::collections::BTreeMap;

use hx_base::{Diagnostic, SourceFile, TextRange, TextSize, codes, line_index};
use hx_compile::{Db, Instance, cuda_source, default_instance, is_accepted, sound_kernels};
use hx_hir::{Item, Kernel, RoleKind, StmtKind, body_of, body_source_map, signature_source_map};
use hx_lower::{ItemPart, Place};
use hx_worker::log::KernelResources;
use hx_worker::{Limits, Listing, disassemble};

use crate::setup::Setup;

/// The most lines that are shown.
const SHOWN: usize = 3;

/// Returns the finding about a compiled instance, if registers were spilled.
pub(crate) fn spilled(
    db: &dyn Db,
    instance: Instance<'_>,
    resources: Option<&KernelResources>,
    listing: Option<&Listing>,
) -> Option<Diagnostic> {
    let found = resources.filter(|found| found.spill_store_bytes + found.spill_load_bytes > 0)?;
    let kernel = instance.kernel(db);
    let place = Place { item: kernel.key(db), part: ItemPart::Name };
    let (file, range) = place.range(db)?;
    let message = format!(
        "registers of `{}` are spilled: each thread stores {} and loads {} bytes of local memory",
        kernel.name(db),
        found.spill_store_bytes,
        found.spill_load_bytes
    );
    let mut diagnostic = Diagnostic::new(&codes::SPILLS, file, range, message);
    for (line, count) in listing.map(lines).unwrap_or_default().into_iter().take(SHOWN) {
        let Some(range) = line_of(db, kernel, line) else { continue };
        let role = role_of(db, kernel, range).map_or_else(String::new, |role| format!(" in `{role}`"));
        let what = if count == 1 { "1 instruction".to_owned() } else { format!("{count} instructions") };
        let verb = if count == 1 { "spills" } else { "spill" };
        diagnostic = diagnostic.also(file, range, format!("{what} of this line{role} {verb}"));
    }
    let args: Vec<String> =
        instance.args(db).iter().map(|(name, value)| format!("{name} = {value}")).collect();
    if !args.is_empty() {
        diagnostic = diagnostic.note(format!("this is the instance with `{}`", args.join("`, `")));
    }
    Some(diagnostic.help("smaller tiles, more threads, or tensors that are used sooner; a role has as many registers as its `registers` says"))
}

/// Returns the finding about a compiled instance, if registers were spilled, with the lines that spill if there is a disassembler.
pub fn spilled_in(
    db: &dyn Db,
    instance: Instance<'_>,
    resources: Option<&KernelResources>,
    code: &[u8],
    setup: &Setup,
    limits: &Limits,
) -> Option<Diagnostic> {
    spilled(db, instance, resources, None)?;
    let listing = disassemble(&setup.search, code, limits).ok();
    spilled(db, instance, resources, listing.as_ref())
}

/// Returns the findings about spilled registers of a file's default instances, as far as the cache holds a compile of them: nothing is
/// compiled. Those that the source accepts are left out.
pub fn known_spills(db: &dyn Db, file: SourceFile, setup: &Setup, limits: &Limits<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for kernel in sound_kernels(db, file) {
        let Some(instance) = default_instance(db, kernel, setup.target) else { continue };
        let Ok(source) = cuda_source(db, instance) else { continue };
        let Some(compiled) = setup.cached(&source.text, &source.symbol, setup.target.name()) else {
            continue;
        };
        let resources = compiled.kernel(&source.symbol);
        let spills = spilled_in(db, instance, resources, &compiled.code, setup, limits);
        found.extend(spills.filter(|found| !is_accepted(db, instance, found)));
    }
    found
}

/// Returns the lines with instructions that move registers to local memory and back, each with the number of these
/// instructions, the line with the most first. Lines count as in [`line_of`].
fn lines(listing: &Listing) -> Vec<(u32, usize)> {
    let mut lines: BTreeMap<u32, usize> = BTreeMap::new();
    for line in &listing.lines {
        let spills = line.text.split([' ', '\t', '.', ';']).any(|word| matches!(word, "STL" | "LDL"));
        if let Some(source) = line.source.filter(|_| spills) {
            *lines.entry(source).or_default() += 1;
        }
    }
    let mut lines: Vec<(u32, usize)> = lines.into_iter().collect();
    lines.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    lines
}

/// Returns the range of the code on a line, which is counted from 1 at the kernel's header; `None` if the line is blank or does
/// not exist.
fn line_of(db: &dyn Db, kernel: Kernel<'_>, line: u32) -> Option<TextRange> {
    let file = kernel.file(db);
    let header = signature_source_map(db, Item::Kernel(kernel))?.header + kernel.offset(db);
    let first = line_index(db, file).try_line_col(header.start())?.line;
    let number = (first + line).checked_sub(1)?;
    let range = line_index(db, file).line(number)?;
    let text = &file.text(db)[std::ops::Range::<usize>::from(range)];
    let code = text.trim();
    let start = range.start() + TextSize::of(&text[..text.find(code)?]);
    (!code.is_empty()).then(|| TextRange::at(start, TextSize::of(code)))
}

/// Returns the name of the role that a place of the kernel belongs to; `None` if it is in no role.
fn role_of(db: &dyn Db, kernel: Kernel<'_>, place: TextRange) -> Option<&'static str> {
    let item = Item::Kernel(kernel);
    let map = body_source_map(db, item)?;
    let place = place.checked_sub(kernel.offset(db))?;
    let roles = body_of(db, item).store.stmts.iter().find_map(|(_, stmt)| match &stmt.kind {
        StmtKind::WarpGroups(roles) => Some(roles),
        _ => None,
    })?;
    let role =
        roles.iter().find(|role| map.expr(role.body).is_some_and(|body| body.contains_range(place)))?;
    Some(match role.kind {
        RoleKind::Producer => "producer",
        RoleKind::Consumer => "consumer",
    })
}
