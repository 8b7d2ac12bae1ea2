//! What an editor offers above an item: run, show, costs.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange};
use hx_compile::CtValue;
use hx_compile::Db;
use hx_hir::{Expr, Item, ItemKind, Resolution, body_names, body_of, body_source_map, file_items};

use crate::costs::{Costs, of_kernel};
use crate::names::item_heading;
use crate::solved::is_whole;
use crate::{Cancellable, Shown, catch};

/// What a lens does.
#[derive(Clone, PartialEq, Debug)]
pub enum LensAction {
    /// Run the test of that title; the filter finds it on the command line.
    Test {
        name: String,
        filter: String,
    },
    Bench {
        name: String,
        filter: String,
    },
    /// Run `main`.
    Run,
    /// Show a stage: `cuda`, `ptx` or `sass`.
    Show {
        kernel: String,
        stage: &'static str,
    },
    Costs(Box<Costs>),
    /// Another instance than the default one is shown; go back to that.
    ShowDefault {
        kernel: String,
    },
    /// Show the instance of a kernel that a launch names, with its compile-time arguments as they are written.
    ShowInstance {
        file: SourceFile,
        kernel: String,
        args: BTreeMap<String, String>,
    },
}

/// An action at a place.
#[derive(Clone, PartialEq, Debug)]
pub struct Lens {
    /// The name, title or keyword of the item.
    pub range: TextRange,
    pub action: LensAction,
}

impl Lens {
    /// What is written.
    pub fn title(&self) -> String {
        match &self.action {
            LensAction::Test { .. } => "▶ Run test".to_owned(),
            LensAction::Bench { .. } => "▶ Bench".to_owned(),
            LensAction::Run => "▶ Run".to_owned(),
            LensAction::Show { stage, .. } => match *stage {
                "cuda" => "CUDA".to_owned(),
                other => other.to_uppercase(),
            },
            LensAction::Costs(costs) => costs.summary(),
            LensAction::ShowDefault { .. } => "Show the default instance".to_owned(),
            LensAction::ShowInstance { kernel, args, .. } => {
                let args: Vec<String> =
                    args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                format!("Show {kernel}<{}>", args.join(", "))
            }
        }
    }
}

impl Costs {
    /// `8 KiB shared · ~96 registers · 5 blocks (registers)`
    pub fn summary(&self) -> String {
        let about = if self.estimated { "~" } else { "" };
        let blocks = self.residency.blocks;
        let plural = if blocks == 1 { "" } else { "s" };
        format!(
            "{} shared · {about}{} registers · {blocks} block{plural} a multiprocessor ({})",
            bytes(self.shared_bytes),
            self.registers,
            self.residency.limited_by
        )
    }
}

fn bytes(count: u32) -> String {
    if count >= 1024 && count.is_multiple_of(1024) {
        return format!("{} KiB", count / 1024);
    }
    if count >= 10 * 1024 {
        return format!("{:.1} KiB", f64::from(count) / 1024.0);
    }
    format!("{count} B")
}

/// The lenses of a file, in the order of the text. Without `costs` nothing is solved.
///
/// # Errors
/// When a newer text is waiting, or the question was withdrawn.
pub fn lenses(
    db: &dyn Db,
    file: SourceFile,
    shown: &Shown,
    costs: bool,
    measured: &dyn Fn(&str) -> Option<u32>,
) -> Cancellable<Vec<Lens>> {
    catch(|| {
        let root = hx_base::parse(db, file).syntax_node();
        let mut lenses = Vec::new();
        for &item in &file_items(db, file).items {
            let Some(range) = item_heading(db, &root, item) else { continue };
            let name = item.name(db).to_string();
            let mut add = |action| lenses.push(Lens { range, action });
            // Several items of one title are numbered from the second on.
            let nth = item.key(db).nth;
            let number = if nth > 0 { format!("#{}", nth + 1) } else { String::new() };
            let filter = format!("::{name}{number}");
            match item.kind() {
                ItemKind::Test => add(LensAction::Test { name, filter }),
                ItemKind::Bench => add(LensAction::Bench { name, filter }),
                ItemKind::Main => add(LensAction::Run),
                ItemKind::Kernel | ItemKind::Use | ItemKind::Const | ItemKind::Function | ItemKind::Cell => {}
            }
            if item.kind() != ItemKind::Kernel {
                lenses.extend(launches(db, item));
            }
            let Item::Kernel(kernel) = item else { continue };
            let mut add = |action| lenses.push(Lens { range, action });
            if shown.args(&kernel.key(db)).is_some() {
                add(LensAction::ShowDefault { kernel: kernel.name(db).to_string() });
            }
            if !is_whole(db, kernel) || shown.instance(db, kernel).is_none() {
                continue;
            }
            if costs && let Some(costs) = of_kernel(db, kernel, shown, measured) {
                add(LensAction::Costs(Box::new(costs)));
            }
            for stage in ["cuda", "ptx", "sass"] {
                add(LensAction::Show { kernel: kernel.name(db).to_string(), stage });
            }
        }
        lenses
    })
}

/// The launches of host code that name compile-time arguments, each value a literal.
fn launches(db: &dyn Db, item: Item<'_>) -> Vec<Lens> {
    let (body, names) = (body_of(db, item), body_names(db, item));
    let Some(map) = body_source_map(db, item) else { return Vec::new() };
    let offset = item.offset(db);
    let text = item.file(db).text(db);
    let written = |range: TextRange| {
        text.get(std::ops::Range::<usize>::from(range + offset)).map(|text| text.trim().to_owned())
    };
    let mut lenses = Vec::new();
    for (expr, data) in body.store.exprs.iter() {
        let Expr::Path { generics, .. } = data else { continue };
        let Some(Resolution::Item(key)) = names.exprs.get(expr) else { continue };
        let Some(range) = map.expr(expr).filter(|_| key.kind == ItemKind::Kernel && !generics.is_empty())
        else {
            continue;
        };
        let arg = |generic: &hx_hir::GenericArg| {
            let value = written(map.expr(generic.value)?)?;
            value.parse::<CtValue>().ok()?;
            Some((generic.name.as_ref()?.to_string(), value))
        };
        let args: Option<BTreeMap<String, String>> = generics.iter().map(arg).collect();
        if let Some(args) = args {
            let action = LensAction::ShowInstance { file: key.file, kernel: key.name.to_string(), args };
            lenses.push(Lens { range: range + offset, action });
        }
    }
    lenses.sort_by_key(|lens| lens.range.start());
    lenses
}
