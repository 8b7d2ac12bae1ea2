//! Links between files: links in a document, and the edits that a move of files needs.

use std::path::Path;
use std::str::FromStr as _;

use hx_base::SourceFile;
use hx_ide::{LinkTarget, MovedFile};
use tower_lsp::ls_types::*;

use super::language::workspace_edit;
use super::with_file;
use crate::files::path_of;
use crate::state::{Snapshot, user_files};
use crate::task::Handled;

pub(crate) fn links(snapshot: &Snapshot, params: &DocumentLinkParams) -> Handled<Option<Vec<DocumentLink>>> {
    with_file(snapshot, &params.text_document.uri, |file| {
        let positions = snapshot.positions(file);
        let link = |link: hx_ide::Link| {
            let target = match &link.to {
                LinkTarget::Source(to) => snapshot.uri(*to)?,
                LinkTarget::Path(path) => there(snapshot, file, path)?,
                LinkTarget::Url(url) => Uri::from_str(url).ok()?,
            };
            let range = positions.range(link.range);
            Some(DocumentLink { range, target: Some(target), tooltip: None, data: None })
        };
        Ok(Ok(Some(hx_ide::links(&snapshot.db, file)?.into_iter().filter_map(link).collect())))
    })
}

/// Returns the file to which a path in a text refers, relative to the text's folder or to the project's, in which `hx test`
/// usually runs. `None` if neither file exists.
fn there(snapshot: &Snapshot, file: SourceFile, path: &str) -> Option<Uri> {
    // A fragment `#section` is not part of the path.
    let path = path.split('#').next()?;
    let beside = Path::new(snapshot.db.path_on_disk(file)?).parent()?.to_path_buf();
    let project = snapshot.manifest(file).map(|manifest| Path::new(&manifest.root).to_path_buf());
    let found = std::iter::once(beside).chain(project).map(|folder| folder.join(path));
    let is_file = |path: &std::path::PathBuf| snapshot.db.system().is_file(&path.to_string_lossy());
    found.into_iter().find(is_file).and_then(Uri::from_file_path)
}

pub(crate) fn moved_files(snapshot: &Snapshot, params: &RenameFilesParams) -> Handled<Option<WorkspaceEdit>> {
    let uri = |text: &str| Uri::from_str(text).ok().map(|uri| path_of(&uri));
    let mut moved = Vec::new();
    for renamed in &params.files {
        let (Some(from), Some(to)) = (uri(&renamed.old_uri), uri(&renamed.new_uri)) else { continue };
        for file in user_files(&snapshot.db) {
            let Some(path) = snapshot.db.path_on_disk(file) else { continue };
            // If a folder moves, all files in it move.
            match path.strip_prefix(from.as_str()) {
                Some("") => moved.push(MovedFile { file, to: to.clone() }),
                Some(rest) if rest.starts_with('/') => {
                    moved.push(MovedFile { file, to: format!("{to}{rest}") })
                }
                _ => {}
            }
        }
    }
    let edits = hx_ide::moved_files(&snapshot.db, &moved)?;
    Ok(Ok((!edits.is_empty()).then(|| workspace_edit(snapshot, &edits))))
}
