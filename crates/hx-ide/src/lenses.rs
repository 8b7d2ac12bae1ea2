//! Code lenses above items: run, show, costs.

use std::collections::BTreeMap;

use hx_base::{SourceFile, TextRange};
use hx_compile::Db;
use hx_compile::{CtValue, WrittenArg};
use hx_hir::{Expr, Item, ItemKind, Resolution, body_names, body_of, body_source_map, file_items};

use hx_syntax::{SyntaxKind, SyntaxNode, SyntaxToken};

use crate::last_good::LastGood;
use crate::names::item_heading;
use crate::shown_costs::{Costs, Reported, of_kernel};
use crate::solved::is_whole;
use crate::{Cancellable, Shown, catch};

/// The action of a lens.
#[derive(Clone, PartialEq, Debug)]
pub enum LensAction {
    /// Runs the test of that title; `filter` selects it on the command line.
    Test {
        name: String,
        filter: String,
    },
    Bench {
        name: String,
        filter: String,
    },
    /// Runs `main`.
    Run,
    /// Shows a stage: `cuda`, `ptx` or `sass`.
    Show {
        kernel: String,
        stage: &'static str,
    },
    Costs(Box<Costs>),
    /// Returns to the default instance; offered while another instance is shown.
    ShowDefault {
        kernel: String,
    },
    /// Shows the instance that a launch names, with its compile-time arguments as they are written.
    ShowInstance {
        file: SourceFile,
        kernel: String,
        args: BTreeMap<String, String>,
    },
}

/// An action above an item.
#[derive(Clone, PartialEq, Debug)]
pub struct Lens {
    /// The range of the item's name, title or keyword.
    pub range: TextRange,
    pub action: LensAction,
    /// The item has errors: the lens shows the state before them.
    pub stale: bool,
}

impl Lens {
    /// Returns the text of the lens.
    pub fn title(&self) -> String {
        match &self.action {
            LensAction::Test { .. } => "▶ Run test".to_owned(),
            LensAction::Bench { .. } => "▶ Bench".to_owned(),
            LensAction::Run => "▶ Run".to_owned(),
            LensAction::Show { stage, .. } => match *stage {
                "cuda" => "CUDA".to_owned(),
                other => other.to_uppercase(),
            },
            LensAction::Costs(costs) if self.stale => format!("~ {}", costs.resources),
            LensAction::Costs(costs) => costs.resources.to_string(),
            LensAction::ShowDefault { .. } => "Show the default instance".to_owned(),
            LensAction::ShowInstance { kernel, args, .. } => {
                let args: Vec<String> =
                    args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                format!("Show {kernel}<{}>", args.join(", "))
            }
        }
    }
}

/// Returns the lenses of a file, in text order. Without `costs` no kernel is solved. Kernels with errors keep their lenses from
/// before the errors, marked as stale, so that the text does not jump while a line is half-typed.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn lenses(
    db: &dyn Db,
    file: SourceFile,
    shown: &Shown,
    costs: bool,
    reported: Reported<'_>,
    last_good: &LastGood,
) -> Cancellable<Vec<Lens>> {
    catch(|| {
        let parsed = hx_base::parse(db, file);
        let root = parsed.syntax_node();
        let mut before = last_good.lenses_of(file.path(db));
        let (mut lenses, mut kept) = (Vec::new(), Vec::new());
        for &item in &file_items(db, file).items {
            let key = item.key(db);
            let old = before.iter().position(|(known, _)| *known == key).map(|at| before.remove(at).1);
            let Some(range) = item_heading(db, &root, item) else { continue };
            let (actions, stale) = of_item(db, item, shown, costs, reported, old.unwrap_or_default());
            lenses.extend(actions.iter().map(|action| Lens { range, action: action.clone(), stale }));
            kept.push((key, actions));
            if item.kind() != ItemKind::Kernel {
                lenses.extend(launches(db, item));
            }
        }
        if !parsed.is_ok() {
            // A syntax error may hide the items after it, or the header of its own item. So place the earlier lenses at their
            // headings.
            let headings = if before.is_empty() { Vec::new() } else { headings(&root) };
            for (key, actions) in before {
                let same = |(kind, name, _): &&Heading| *kind == key.kind && *name == key.name.as_str();
                let Some((_, _, range)) = headings.iter().filter(same).nth(key.nth as usize) else {
                    continue;
                };
                lenses.extend(actions.iter().map(|it| Lens {
                    range: *range,
                    action: it.clone(),
                    stale: true,
                }));
                kept.push((key, actions));
            }
            lenses.sort_by_key(|lens| lens.range.start());
        }
        last_good.keep_lenses(file.path(db), kept);
        lenses
    })
}

/// Returns the lenses above an item, and whether they are stale.
fn of_item(
    db: &dyn Db,
    item: Item<'_>,
    shown: &Shown,
    costs: bool,
    reported: Reported<'_>,
    before: Vec<LensAction>,
) -> (Vec<LensAction>, bool) {
    let name = item.name(db).to_string();
    // Items with the same title are numbered from the second on.
    let nth = item.key(db).nth;
    let number = if nth > 0 { format!("#{}", nth + 1) } else { String::new() };
    let filter = hx_base::printable(&format!("::{name}{number}")).into_owned();
    let Item::Kernel(kernel) = item else {
        let actions = match item.kind() {
            ItemKind::Test => vec![LensAction::Test { name, filter }],
            ItemKind::Bench => vec![LensAction::Bench { name, filter }],
            ItemKind::Main => vec![LensAction::Run],
            ItemKind::Kernel | ItemKind::Use | ItemKind::Const | ItemKind::Function | ItemKind::Cell => {
                Vec::new()
            }
        };
        return (actions, false);
    };
    let mut actions = Vec::new();
    if shown.args(&kernel.key(db)).is_some() {
        actions.push(LensAction::ShowDefault { kernel: name.clone() });
    }
    let whole = is_whole(db, kernel) && shown.instance(db, kernel).is_some();
    let found = if whole && costs { of_kernel(db, kernel, shown, reported) } else { None };
    let stale = !whole || (costs && found.is_none());
    let of_before = before.into_iter().filter(|action| match action {
        LensAction::Costs(_) => costs && stale,
        LensAction::Show { .. } => !whole,
        _ => false,
    });
    actions.extend(of_before);
    actions.extend(found.map(|costs| LensAction::Costs(Box::new(costs))));
    if whole {
        let show = |stage| LensAction::Show { kernel: name.clone(), stage };
        actions.extend(["cuda", "ptx", "sass"].map(show));
    }
    (actions, stale)
}

/// The kind of an item, its name or title, and the range of that.
type Heading = (ItemKind, String, TextRange);

/// Returns every place that looks like the beginning of an item. The tree may not contain it as an item.
fn headings(root: &SyntaxNode) -> Vec<Heading> {
    let tokens = root.descendants_with_tokens().filter_map(|it| it.into_token());
    let tokens: Vec<SyntaxToken> = tokens.filter(|token| !token.kind().is_trivia()).collect();
    let with_lenses = [ItemKind::Kernel, ItemKind::Test, ItemKind::Bench, ItemKind::Main];
    let mut found = Vec::new();
    for pair in tokens.windows(2) {
        let Some(kind) = with_lenses.into_iter().find(|kind| kind.word() == pair[0].text()) else { continue };
        let next = &pair[1];
        match next.kind() {
            SyntaxKind::IDENT => found.push((kind, next.text().to_owned(), next.text_range())),
            SyntaxKind::STRING => {
                found.push((kind, next.text().trim_matches('"').to_owned(), next.text_range()));
            }
            _ if kind == ItemKind::Main => {
                found.push((kind, kind.word().to_owned(), pair[0].text_range()));
            }
            _ => {}
        }
    }
    found
}

/// Returns lenses for launches in host code that have compile-time arguments. Every argument must be a literal, or a function by a
/// path that means the same in the file of the kernel.
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
            let meant = value.parse::<WrittenArg>().ok()?.resolve(db, key.file).ok()?;
            let named = names.exprs.get(generic.value).and_then(Resolution::item);
            if let CtValue::Function(function) = meant
                && named != Some(&function)
            {
                return None;
            }
            Some((generic.name.as_ref()?.to_string(), value))
        };
        let args: Option<BTreeMap<String, String>> = generics.iter().map(arg).collect();
        if let Some(args) = args {
            let action = LensAction::ShowInstance { file: key.file, kernel: key.name.to_string(), args };
            lenses.push(Lens { range: range + offset, action, stale: false });
        }
    }
    lenses.sort_by_key(|lens| lens.range.start());
    lenses
}
