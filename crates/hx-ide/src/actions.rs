//! Code actions: fixes that diagnostics carry, and assists for code without errors.

use hx_base::{Applicability, Diagnostic, Edit, SourceFile, TextRange};
use hx_compile::{AssistConfig, Db, assists};
use hx_hir::{Item, file_items, item_range};

use crate::refactor::{ActionKind, refactorings};
use crate::solved::is_whole;
use crate::{Cancellable, Shown, catch};

/// A change of the text that an editor offers.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    pub title: String,
    pub kind: ActionKind,
    pub edits: Vec<Edit>,
    /// The diagnostic that the action fixes; `None` for an assist.
    pub mends: Option<Diagnostic>,
    /// The action was verified and is the only fix, so an editor may apply it without asking.
    pub preferred: bool,
}

/// The kinds of actions that are requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActionConfig {
    pub fixes: bool,
    pub assists: bool,
    /// A person asked for actions, instead of only moving the cursor. Then actions that take long to find are searched for, too.
    pub invoked: bool,
}

impl ActionConfig {
    /// All actions, as if a person had asked for them.
    pub const ALL: ActionConfig = ActionConfig { fixes: true, assists: true, invoked: true };
}

/// Returns the fixes of the diagnostics in a range, and the assists that apply there.
///
/// # Errors
/// If a newer text is waiting, or the client withdrew the request.
pub fn actions(
    db: &dyn Db,
    file: SourceFile,
    range: TextRange,
    shown: &Shown,
    config: ActionConfig,
) -> Cancellable<Vec<Action>> {
    catch(|| {
        let mut actions = Vec::new();
        if config.fixes {
            actions.extend(fixes(db, file, range, shown));
        }
        if config.assists {
            actions.extend(offers(db, file, range, shown, config.invoked));
            // Each refactoring is tried on a copy of the text, which takes too long while the cursor moves.
            if config.invoked {
                let found = refactorings(db, file, range).into_iter();
                actions.extend(found.map(|(title, kind, edits)| Action {
                    title,
                    kind,
                    edits,
                    mends: None,
                    preferred: false,
                }));
            }
        }
        actions
    })
}

fn fixes(db: &dyn Db, file: SourceFile, range: TextRange, shown: &Shown) -> Vec<Action> {
    let found = hx_compile::check_file(db, file, shown.target);
    let touched = found.iter().filter(|found| {
        let own = found.primary.file == file && found.primary.range.intersect(range).is_some();
        let also = |label: &hx_base::Label| label.file == file && label.range.intersect(range).is_some();
        own || found.secondary.iter().any(also)
    });
    let mut actions = Vec::new();
    for found in touched {
        for fix in &found.fixes {
            let verified = fix.applicability == Applicability::Verified;
            actions.push(Action {
                title: fix.title.clone(),
                kind: ActionKind::Fix,
                edits: fix.edits.clone(),
                mends: Some(found.clone()),
                preferred: verified && found.fixes.len() == 1,
            });
        }
    }
    actions
}

fn offers(db: &dyn Db, file: SourceFile, range: TextRange, shown: &Shown, invoked: bool) -> Vec<Action> {
    let touched = |kernel: &hx_hir::Kernel<'_>| {
        item_range(db, Item::Kernel(*kernel)).intersect(range).is_some() && is_whole(db, *kernel)
    };
    let kernels = file_items(db, file).kernels().filter(touched);
    let config = AssistConfig { widths: invoked };
    let found = kernels.filter_map(|kernel| Some(assists(db, shown.instance(db, kernel)?, range, config)));
    let action = |offer: hx_compile::Assist| Action {
        title: offer.title,
        kind: ActionKind::Rewrite,
        edits: offer.edits,
        mends: None,
        preferred: false,
    };
    found.flatten().map(action).collect()
}
