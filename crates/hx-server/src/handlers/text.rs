//! Questions about the whole text: colours, folds, selections, lenses, formatting, fixes.

use std::sync::PoisonError;

use hx_ide::{ActionConfig, ActionKind, FoldKind, LensAction, Modifiers, SourceFile, TextRange, TokenType};
use serde_json::json;
use tower_lsp::ls_types::*;

use super::language::workspace_edit;
use super::{at_position, with_file};
use crate::protocol;
use crate::state::Snapshot;
use crate::task::{Handled, invalid};
use crate::to_proto;

fn tokens(
    snapshot: &Snapshot,
    file: SourceFile,
    range: Option<TextRange>,
) -> Result<Vec<SemanticToken>, hx_ide::Cancelled> {
    let positions = snapshot.positions(file);
    let range = range.unwrap_or_else(|| TextRange::up_to(hx_ide::TextSize::of(file.text(&snapshot.db))));
    let found = hx_ide::semantic_tokens(&snapshot.db, file, range)?;
    let mut tokens = Vec::new();
    let (mut line, mut start) = (0, 0);
    for token in found {
        for part in positions.by_line(token.range) {
            let at = positions.position(part.start());
            let delta_line = at.line - line;
            let delta_start = if delta_line == 0 { at.character - start } else { at.character };
            (line, start) = (at.line, at.character);
            let kind = TokenType::ALL.iter().position(|kind| *kind == token.kind).unwrap_or_default();
            tokens.push(SemanticToken {
                delta_line,
                delta_start,
                length: positions.width(part),
                token_type: kind as u32,
                token_modifiers_bitset: token.modifiers.0,
            });
        }
    }
    Ok(tokens)
}

pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TokenType::ALL.iter().map(|kind| SemanticTokenType::new(kind.name())).collect(),
        token_modifiers: Modifiers::NAMES.iter().map(|name| SemanticTokenModifier::new(name)).collect(),
    }
}

/// Remembers the tokens of a file under an id. The client sends the id later to get only the changes.
fn remember(snapshot: &Snapshot, uri: &Uri, data: &[SemanticToken]) -> String {
    let mut known = snapshot.shared.tokens.lock().unwrap_or_else(PoisonError::into_inner);
    known.next += 1;
    let id = known.next.to_string();
    known.of.insert(uri.as_str().to_owned(), (id.clone(), data.to_vec()));
    id
}

pub(crate) fn semantic_tokens(
    snapshot: &Snapshot,
    params: &SemanticTokensParams,
) -> Handled<Option<SemanticTokensResult>> {
    let uri = &params.text_document.uri;
    with_file(snapshot, uri, |file| {
        let data = tokens(snapshot, file, None)?;
        let result_id = Some(remember(snapshot, uri, &data));
        Ok(Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id, data }))))
    })
}

pub(crate) fn semantic_tokens_delta(
    snapshot: &Snapshot,
    params: &SemanticTokensDeltaParams,
) -> Handled<Option<SemanticTokensFullDeltaResult>> {
    let uri = &params.text_document.uri;
    with_file(snapshot, uri, |file| {
        let data = tokens(snapshot, file, None)?;
        let before = {
            let known = snapshot.shared.tokens.lock().unwrap_or_else(PoisonError::into_inner);
            known
                .of
                .get(uri.as_str())
                .filter(|(id, _)| *id == params.previous_result_id)
                .map(|(_, d)| d.clone())
        };
        let result_id = Some(remember(snapshot, uri, &data));
        Ok(Ok(Some(match before {
            None => SemanticTokensFullDeltaResult::Tokens(SemanticTokens { result_id, data }),
            Some(before) => SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta {
                result_id,
                edits: token_edits(&before, &data),
            }),
        })))
    })
}

/// Returns one edit that replaces the tokens between the common prefix and the common suffix; none if the tokens are equal. The
/// protocol counts numbers, of which a token has five.
fn token_edits(before: &[SemanticToken], after: &[SemanticToken]) -> Vec<SemanticTokensEdit> {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let tails = before[start..].iter().rev().zip(after[start..].iter().rev());
    let end = tails.take_while(|(a, b)| a == b).count();
    let (removed, added) = (&before[start..before.len() - end], &after[start..after.len() - end]);
    if removed.is_empty() && added.is_empty() {
        return Vec::new();
    }
    let edit = SemanticTokensEdit {
        start: 5 * start as u32,
        delete_count: 5 * removed.len() as u32,
        data: Some(added.to_vec()),
    };
    vec![edit]
}

pub(crate) fn semantic_tokens_range(
    snapshot: &Snapshot,
    params: &SemanticTokensRangeParams,
) -> Handled<Option<SemanticTokensRangeResult>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let range = snapshot.positions(file).text_range(params.range);
        let data = tokens(snapshot, file, Some(range))?;
        Ok(Ok(Some(SemanticTokensRangeResult::Tokens(SemanticTokens { result_id: None, data }))))
    })
}

pub(crate) fn folds(snapshot: &Snapshot, params: &FoldingRangeParams) -> Handled<Option<Vec<FoldingRange>>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let fold = |fold: hx_ide::Fold| {
            let range = positions.range(fold.range);
            FoldingRange {
                start_line: range.start.line,
                start_character: Some(range.start.character),
                end_line: range.end.line,
                end_character: Some(range.end.character),
                kind: match fold.kind {
                    FoldKind::Code => None,
                    FoldKind::Comment => Some(FoldingRangeKind::Comment),
                    FoldKind::Imports => Some(FoldingRangeKind::Imports),
                },
                collapsed_text: None,
            }
        };
        Ok(Ok(Some(hx_ide::folds(&snapshot.db, file)?.into_iter().map(fold).collect())))
    })
}

pub(crate) fn selections(
    snapshot: &Snapshot,
    params: &SelectionRangeParams,
) -> Handled<Option<Vec<SelectionRange>>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let mut all = Vec::new();
        for position in &params.positions {
            let ranges = hx_ide::selection(&snapshot.db, file, positions.offset(*position))?;
            let nested = ranges.iter().rev().fold(None, |parent, range| {
                Some(SelectionRange { range: positions.range(*range), parent: parent.map(Box::new) })
            });
            all.extend(nested);
        }
        Ok(Ok(Some(all)))
    })
}

pub(crate) fn lenses(snapshot: &Snapshot, params: &CodeLensParams) -> Handled<Option<Vec<CodeLens>>> {
    let uri = &params.text_document.uri;
    with_file(snapshot, uri, |file| {
        let positions = snapshot.positions(file);
        let wanted = snapshot.shared.options.lenses;
        let reports = snapshot.reports(file);
        let reported = |cuda: &hx_ide::CudaText| reports.get(cuda);
        let (shown, kept) = (snapshot.shown(file), &snapshot.shared.last_good);
        let found = hx_ide::lenses(&snapshot.db, file, &shown, wanted.costs, &reported, kept)?;
        let lens = |lens: &hx_ide::Lens| {
            let (command, argument) = command(snapshot, uri, &lens.action);
            CodeLens {
                range: positions.range(lens.range),
                command: Some(Command {
                    title: lens.title(),
                    command: command.to_owned(),
                    arguments: Some(vec![argument]),
                }),
                data: None,
            }
        };
        let is_wanted = |lens: &&hx_ide::Lens| match lens.action {
            LensAction::Test { .. } | LensAction::Bench { .. } | LensAction::Run => wanted.run,
            LensAction::Show { .. } => wanted.code,
            LensAction::Costs(_) | LensAction::ShowDefault { .. } | LensAction::ShowInstance { .. } => true,
        };
        Ok(Ok(Some(found.iter().filter(is_wanted).map(lens).collect())))
    })
}

/// Returns the command of a lens and its argument, in the form of `book/src/contributing/protocol.md`.
fn command(snapshot: &Snapshot, uri: &Uri, action: &LensAction) -> (&'static str, serde_json::Value) {
    match action {
        LensAction::Test { name, filter } => {
            ("hx.runTest", json!({ "uri": uri, "name": name, "filter": filter }))
        }
        LensAction::Bench { name, filter } => {
            ("hx.bench", json!({ "uri": uri, "name": name, "filter": filter }))
        }
        LensAction::Run => ("hx.run", json!({ "uri": uri })),
        LensAction::Show { kernel, stage } => {
            let command = match *stage {
                "ptx" => "hx.showPtx",
                "sass" => "hx.showSass",
                _ => "hx.showCuda",
            };
            (command, json!({ "uri": uri, "kernel": kernel }))
        }
        LensAction::Costs(costs) => ("hx.showCosts", json!({ "uri": uri, "kernel": costs.kernel })),
        LensAction::ShowDefault { kernel } => {
            (protocol::SHOW_INSTANCE, json!({ "textDocument": { "uri": uri }, "kernel": kernel }))
        }
        LensAction::ShowInstance { file, kernel, args } => {
            let document = snapshot.uri(*file).map_or_else(|| json!(uri), |uri| json!(uri));
            let argument = json!({ "textDocument": { "uri": document }, "kernel": kernel, "args": args });
            (protocol::SHOW_INSTANCE, argument)
        }
    }
}

fn text_edits(
    snapshot: &Snapshot,
    file: SourceFile,
    changes: Vec<hx_ide::TextChange>,
) -> Option<Vec<TextEdit>> {
    let positions = snapshot.positions(file);
    let edit =
        |change: hx_ide::TextChange| TextEdit { range: positions.range(change.range), new_text: change.text };
    Some(changes.into_iter().map(edit).collect())
}

pub(crate) fn formatting(
    snapshot: &Snapshot,
    params: &DocumentFormattingParams,
) -> Handled<Option<Vec<TextEdit>>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let changes = hx_ide::format(&snapshot.db, file, None)?;
        Ok(changes.map(|changes| text_edits(snapshot, file, changes)).map_err(not_formatted))
    })
}

pub(crate) fn range_formatting(
    snapshot: &Snapshot,
    params: &DocumentRangeFormattingParams,
) -> Handled<Option<Vec<TextEdit>>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let range = snapshot.positions(file).text_range(params.range);
        let changes = hx_ide::format(&snapshot.db, file, Some(range))?;
        Ok(changes.map(|changes| text_edits(snapshot, file, changes)).map_err(not_formatted))
    })
}

pub(crate) fn on_type_formatting(
    snapshot: &Snapshot,
    params: &DocumentOnTypeFormattingParams,
) -> Handled<Option<Vec<TextEdit>>> {
    at_position(snapshot, &params.text_document_position, |file, offset| {
        let Some(typed) = params.ch.chars().next() else { return Ok(Ok(None)) };
        let changes = hx_ide::format_on_type(&snapshot.db, file, offset, typed)?;
        Ok(Ok(text_edits(snapshot, file, changes)))
    })
}

fn not_formatted(error: impl std::fmt::Display) -> tower_lsp::jsonrpc::Error {
    invalid(format!("the file is left as it is: {error}"))
}

/// The kinds of actions that a client may request.
pub(crate) const ACTION_KINDS: [CodeActionKind; 4] = [
    CodeActionKind::QUICKFIX,
    CodeActionKind::REFACTOR_REWRITE,
    CodeActionKind::REFACTOR_EXTRACT,
    CodeActionKind::REFACTOR_INLINE,
];

fn kind_of(action: &hx_ide::Action) -> CodeActionKind {
    match action.kind {
        ActionKind::Fix => CodeActionKind::QUICKFIX,
        ActionKind::Rewrite => CodeActionKind::REFACTOR_REWRITE,
        ActionKind::Extract => CodeActionKind::REFACTOR_EXTRACT,
        ActionKind::Inline => CodeActionKind::REFACTOR_INLINE,
    }
}

/// Returns the fixes and assists of a range. Each carries its edits, unless the client resolves edits when the user chooses one.
pub(crate) fn actions(snapshot: &Snapshot, params: &CodeActionParams) -> Handled<Option<CodeActionResponse>> {
    let uri = &params.text_document.uri;
    let only = params.context.only.as_ref();
    // A request for `refactor` includes `refactor.rewrite`.
    let wants = |kind: &CodeActionKind| {
        let below = |asked: &CodeActionKind| {
            let rest = kind.as_str().strip_prefix(asked.as_str());
            rest.is_some_and(|rest| asked.as_str().is_empty() || rest.is_empty() || rest.starts_with('.'))
        };
        only.is_none_or(|only| only.iter().any(below))
    };
    let [fixes, assists @ ..] = ACTION_KINDS.map(|kind| wants(&kind));
    let assists = assists.contains(&true);
    let invoked = params.context.trigger_kind != Some(CodeActionTriggerKind::AUTOMATIC);
    let config = ActionConfig { fixes, assists, invoked };
    with_file(snapshot, uri, |file| {
        let range = snapshot.positions(file).text_range(params.range);
        let found = hx_ide::actions(&snapshot.db, file, range, &snapshot.shown(file), config)?;
        let later = snapshot.shared.client.resolves_edits;
        let action = |action: &hx_ide::Action| {
            let mends = action.mends.as_ref().map(|mends| vec![to_proto::diagnostic(snapshot, mends)]);
            let data = json!({ "uri": uri, "range": params.range, "title": action.title });
            CodeActionOrCommand::CodeAction(CodeAction {
                title: action.title.clone(),
                kind: Some(kind_of(action)),
                diagnostics: mends,
                edit: (!later).then(|| workspace_edit(snapshot, &action.edits)),
                is_preferred: Some(action.preferred),
                data: later.then_some(data),
                ..Default::default()
            })
        };
        let wanted = found.iter().filter(|action| wants(&kind_of(action)));
        Ok(Ok(Some(wanted.map(action).collect())))
    })
}

#[derive(serde::Deserialize)]
struct ActionData {
    uri: Uri,
    range: Range,
    title: String,
}

/// Returns the action with its edits, or an error if the current text has no action of that title any more. An action without
/// data is returned as it is.
pub(crate) fn action_resolve(snapshot: &Snapshot, action: &CodeAction) -> Handled<CodeAction> {
    let data = action.data.clone().and_then(|data| serde_json::from_value::<ActionData>(data).ok());
    let Some(data) = data else { return Ok(Ok(action.clone())) };
    with_file(snapshot, &data.uri, |file| {
        let range = snapshot.positions(file).text_range(data.range);
        let found = hx_ide::actions(&snapshot.db, file, range, &snapshot.shown(file), ActionConfig::ALL)?;
        let same = found.iter().find(|found| found.title == data.title);
        Ok(match same {
            Some(found) => {
                let edit = Some(workspace_edit(snapshot, &found.edits));
                Ok(CodeAction { edit, ..action.clone() })
            }
            None => {
                Err(invalid("the text is another one by now, and what this changes is not there any more"))
            }
        })
    })
}
