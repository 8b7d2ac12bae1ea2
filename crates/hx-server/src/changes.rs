//! Changes of the state: documents, folders, settings and files on disk. Only the main loop applies them, in the order of the
//! client's messages.

use std::collections::BTreeMap;
use std::str::FromStr as _;
use std::sync::Arc;

use hx_ide::SourceFile;
use hx_workspace::Manifest;
use tower_lsp::jsonrpc::Result;
use tower_lsp::ls_types::*;

use crate::files::{Document, path_of};
use crate::from_proto::{Positions, changed, first_difference};
use crate::main_loop::Writer;
use crate::outgoing::Outgoing;
use crate::protocol;
use crate::settings::{self, Options};
use crate::state::{Snapshot, file_at};
use crate::task::invalid;
use crate::touched::Touched;

pub(crate) fn initialize(writer: &mut Writer, client: settings::Client, params: &InitializeParams) {
    writer.shared.client = Arc::new(client);
    if let Some(options) = &params.initialization_options {
        configure(writer, options);
    }
    let mut folders: Vec<String> =
        params.workspace_folders.iter().flatten().map(|folder| path_of(&folder.uri)).collect();
    #[allow(deprecated, reason = "clients without workspace folders say it so")]
    if folders.is_empty()
        && let Some(root) = &params.root_uri
    {
        folders.push(path_of(root));
    }
    for folder in folders {
        open_folder(writer, &folder);
    }
}

/// Applies the user's settings. Invalid settings are reported, and the old ones stay in force.
pub(crate) fn configure(writer: &mut Writer, value: &serde_json::Value) {
    match Options::parse(value) {
        Ok(options) => writer.shared.options = Arc::new(options),
        Err(error) => {
            let text = format!("the settings of hx are not understood: {error}");
            writer.client.send(Outgoing::Show(MessageType::WARNING, text));
        }
    }
}

pub(crate) fn open_folder(writer: &mut Writer, path: &str) {
    let loaded = writer.db.open_folder(path);
    for error in &loaded.unreadable {
        writer.unreadable(error);
    }
    for manifest in loaded.manifests {
        add_manifest(writer, manifest);
    }
}

fn add_manifest(writer: &mut Writer, manifest: Manifest) {
    let path = format!("{}/{}", manifest.root.trim_end_matches('/'), hx_workspace::MANIFEST_NAME);
    if let Some(uri) = Uri::from_file_path(&path) {
        let snapshot = Snapshot { db: writer.db.clone(), shared: writer.shared.clone() };
        let diagnostics = crate::to_proto::diagnostics(&snapshot, manifest.file, &manifest.diagnostics);
        drop(snapshot);
        writer.client.send(Outgoing::Publish { uri, diagnostics, version: None });
    }
    Arc::make_mut(&mut writer.shared.projects).insert(manifest.root.clone(), manifest);
}

pub(crate) fn close_folder(writer: &mut Writer, path: &str) {
    let prefix = format!("{}/", path.trim_end_matches('/'));
    for file in crate::state::user_files(&writer.db) {
        let Some(on_disk) = writer.db.path_on_disk(file).map(str::to_owned) else { continue };
        if on_disk.starts_with(&prefix) && writer.shared.documents.get(&on_disk).is_none() {
            remove(writer, file, &on_disk);
        }
    }
    Arc::make_mut(&mut writer.shared.projects).retain(|root, _| *root != path && !root.starts_with(&prefix));
}

fn remove(writer: &mut Writer, file: SourceFile, path: &str) {
    let shown = file.path(&writer.db).to_owned();
    writer.db.unload(path);
    writer.shared.last_good.forget(&shown);
    if let Some(uri) = Uri::from_file_path(path) {
        writer.unpublish(file, uri);
    }
}

pub(crate) fn open(writer: &mut Writer, uri: Uri, version: i32, text: &str) {
    let path = path_of(&uri);
    let file = match writer.shared.std.file(&writer.db, &path) {
        // The standard library is part of the binary: an editor may show its files but cannot change them.
        Some(file) => file,
        None => {
            let file = writer.db.set_overlay(&path, text);
            if let Some(root) = writer.db.project_of(&path)
                && !writer.shared.projects.contains_key(&root)
            {
                open_folder(writer, &root);
            }
            writer.db.load_uses(&path);
            file
        }
    };
    let generation = writer.generation;
    let documents = Arc::make_mut(&mut writer.shared.documents);
    let known = documents.remove(&path);
    if let Some(known) = &known {
        // The message carries the client's whole text, so the reopened document loses nothing.
        let text = format!("`{path}` was opened again, as version {version} after {}", known.version);
        writer.client.error(text);
    }
    let mut touched = known.map_or_else(Touched::default, |known| known.touched);
    touched.touch(generation, Position::default());
    documents.insert(path, Document { uri, version, file, touched });
    writer.diagnose_open(Some(file));
}

pub(crate) fn change(writer: &mut Writer, params: &DidChangeTextDocumentParams) {
    let path = path_of(&params.text_document.uri);
    let version = params.text_document.version;
    let Some(document) = Arc::make_mut(&mut writer.shared.documents).get_mut(&path) else {
        return writer.client.error(format!("`{path}` was changed and is not open"));
    };
    if version <= document.version {
        // The ranges of the change refer to a different text.
        let text =
            format!("`{path}` went from version {} to {version}: the change is ignored", document.version);
        return writer.client.error(text);
    }
    document.version = version;
    let file = document.file;
    if file.kind(&writer.db) == hx_ide::FileKind::Std {
        return;
    }
    let encoding = writer.shared.client.encoding;
    let before = file.text(&writer.db);
    let text = changed(before, &params.content_changes, encoding);
    let first = Positions::new(&writer.db, file, encoding).position(first_difference(before, &text));
    document.touched.touch(writer.generation, first);
    writer.db.set_overlay(&path, &text);
    writer.diagnose_open(Some(file));
}

pub(crate) fn close(writer: &mut Writer, uri: &Uri) {
    let path = path_of(uri);
    let Some(document) = Arc::make_mut(&mut writer.shared.documents).remove(&path) else { return };
    writer.db.remove_overlay(&path);
    let still_there = writer.db.file(&path) == Some(document.file);
    if document.file.kind(&writer.db) == hx_ide::FileKind::Workspace && !still_there {
        let shown = document.file.path(&writer.db).to_owned();
        writer.shared.last_good.forget(&shown);
        writer.unpublish(document.file, uri.clone());
    } else {
        writer.diagnose(document.file);
    }
    writer.diagnose_open(None);
}

pub(crate) fn watched(writer: &mut Writer, changes: &[FileEvent]) {
    for change in changes {
        let path = path_of(&change.uri);
        if path.ends_with(&format!("/{}", hx_workspace::MANIFEST_NAME)) {
            let folder = path.rsplit_once('/').map_or("/", |(folder, _)| folder).to_owned();
            Arc::make_mut(&mut writer.shared.projects).remove(&folder);
            writer.client.send(Outgoing::Publish {
                uri: change.uri.clone(),
                diagnostics: Vec::new(),
                version: None,
            });
            open_folder(writer, &folder);
            continue;
        }
        let before = file_at(&writer.db, &writer.shared, &path);
        match writer.db.reload(&path) {
            Ok(()) => {
                writer.client.send(Outgoing::Publish {
                    uri: change.uri.clone(),
                    diagnostics: Vec::new(),
                    version: None,
                });
            }
            Err(error) if error.reason != hx_workspace::SystemError::NotFound => writer.unreadable(&error),
            Err(_) => {}
        }
        let after = file_at(&writer.db, &writer.shared, &path);
        if let (Some(file), None) = (before, after) {
            writer.unpublish(file, change.uri.clone());
        }
    }
    writer.diagnose_all();
    writer.refresh();
}

/// From now on shows the instance of a kernel with these arguments; without arguments, the default instance.
///
/// # Errors
/// If the file or the kernel is not known, or an argument cannot be parsed.
pub(crate) fn pick(writer: &mut Writer, wanted: &protocol::InstanceParams) -> Result<Option<LSPAny>> {
    let path = path_of(&wanted.text_document.uri);
    let file = file_at(&writer.db, &writer.shared, &path)
        .ok_or_else(|| invalid(format!("`{}` is not known", wanted.text_document.uri.as_str())))?;
    let args: BTreeMap<String, String> = wanted.args.clone().unwrap_or_default();
    let (key, args) = hx_ide::instance(&writer.db, file, &wanted.kernel, &args).map_err(invalid)?;
    let mut picked = writer.shared.picked.to_vec();
    picked.retain(|known| known.kernel != key);
    if !args.is_empty() {
        picked.push(hx_ide::Picked { kernel: key, args });
    }
    writer.shared.picked = Arc::new(picked);
    writer.refresh();
    Ok(None)
}

impl Writer {
    /// Reports that a file cannot be read: with a diagnostic at its beginning, or in the client's log if its path has no URI.
    fn unreadable(&self, error: &hx_workspace::OpenError) {
        let Some(uri) = Uri::from_file_path(&error.path)
            .or_else(|| Uri::from_str(&format!("file://{}", error.path)).ok())
        else {
            return self.client.error(hx_base::printable(&error.to_string()).into_owned());
        };
        let code = error.code();
        let diagnostic = Diagnostic {
            range: Range::default(),
            severity: Some(DiagnosticSeverity::ERROR),
            code: Some(NumberOrString::String(code.id.to_owned())),
            source: Some("hx".to_owned()),
            message: hx_base::printable(&error.to_string()).into_owned(),
            ..Default::default()
        };
        self.client.send(Outgoing::Publish { uri, diagnostics: vec![diagnostic], version: None });
    }
}
