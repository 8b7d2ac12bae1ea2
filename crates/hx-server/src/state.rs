//! The state of the writer, and the snapshots of it that readers get.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use hx_base::{Db as _, FileKind, SourceFile};
use hx_ide::{LastGood, Picked, Shown};
use hx_target::Target;
use hx_worker::Cache;
use hx_worker::toolkit::SearchEnv;
use hx_workspace::{Database, Manifest};
use tower_lsp::ls_types::{SemanticToken, Uri};

use crate::Config;
use crate::compile::{Reports, Seen, Toolchain};
use crate::files::{Documents, StdFolder, path_of, uri_of};
use crate::from_proto::Positions;
use crate::settings::{Client, Drawings, Options};

/// The state at one moment, which determines every answer. A write to the database waits until all snapshots are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) db: Database,
    pub(crate) shared: Shared,
}

/// The state that snapshots share with the writer, besides the database. The writer replaces its parts and never modifies them.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) client: Arc<Client>,
    pub(crate) options: Arc<Options>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) picked: Arc<Vec<Picked>>,
    /// The open projects, by folder.
    pub(crate) projects: Arc<BTreeMap<String, Manifest>>,
    pub(crate) last_good: Arc<LastGood>,
    pub(crate) std: Arc<StdFolder>,
    /// Registers that ptxas reported for compiled texts.
    pub(crate) seen: Seen,
    pub(crate) tokens: Arc<Mutex<SentTokens>>,
}

/// The semantic tokens that were sent last for each URI, with their id.
#[derive(Debug, Default)]
pub(crate) struct SentTokens {
    pub(crate) next: u64,
    pub(crate) of: BTreeMap<String, (String, Vec<SemanticToken>)>,
}

impl Shared {
    pub(crate) fn new(config: Config) -> Shared {
        Shared {
            std: StdFolder::new(config.std_folder.clone()),
            config: Arc::new(config),
            client: Arc::default(),
            options: Arc::default(),
            documents: Arc::default(),
            picked: Arc::default(),
            projects: Arc::default(),
            last_good: Arc::default(),
            seen: Seen::default(),
            tokens: Arc::default(),
        }
    }
}

impl Snapshot {
    /// Returns the file of a URI; `None` if the server does not know it.
    pub(crate) fn file(&self, uri: &Uri) -> Option<SourceFile> {
        file_at(&self.db, &self.shared, &path_of(uri))
    }

    pub(crate) fn uri(&self, file: SourceFile) -> Option<Uri> {
        uri_of(&self.db, &self.shared.documents, &self.shared.std, file)
    }

    /// Returns the converter of positions of a file, in the client's encoding.
    pub(crate) fn positions(&self, file: SourceFile) -> Positions<'_> {
        Positions::new(&self.db, file, self.shared.client.encoding)
    }

    /// Returns the instances that are shown in a file.
    pub(crate) fn shown(&self, file: SourceFile) -> Shown {
        Shown { target: self.target(file), picked: self.shared.picked.to_vec() }
    }

    fn target(&self, file: SourceFile) -> Target {
        let manifest = self.manifest(file);
        let target = match self.shared.options.target() {
            Ok(Some(target)) => target,
            _ => manifest.and_then(|manifest| manifest.target).unwrap_or_default(),
        };
        let costs = manifest.and_then(|manifest| manifest.costs.as_ref());
        costs.map_or(target, |costs| target.with_costs(costs))
    }

    /// Returns the project of a file: the innermost project whose folder contains it. `None` if no open project contains the
    /// file.
    pub(crate) fn manifest(&self, file: SourceFile) -> Option<&Manifest> {
        let path = self.db.path_on_disk(file)?;
        let around =
            self.shared.projects.iter().filter(|(root, _)| {
                path.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
            });
        around.max_by_key(|(root, _)| root.len()).map(|(_, manifest)| manifest)
    }

    /// Returns the CUDA compiler and the cache of a file's project. Loads nothing.
    pub(crate) fn toolchain(&self, file: Option<SourceFile>) -> Toolchain {
        let manifest = file.and_then(|file| self.manifest(file));
        let mut search = SearchEnv::of_process();
        let set = self.shared.options.nvrtc.as_deref().filter(|path| !path.is_empty()).map(Into::into);
        search.nvrtc = set.or(search.nvrtc).or_else(|| manifest?.nvrtc.clone());
        search.untrusted = manifest.filter(|m| !m.trusted).map(|m| PathBuf::from(&m.root));
        let folder = manifest.and_then(|m| m.cache.clone());
        Toolchain { search, cache: Cache::chosen(self.shared.config.cache.clone(), folder) }
    }

    /// Returns reports of the registers of a file's kernels. They never compile.
    pub(crate) fn reports(&self, file: SourceFile) -> Reports {
        self.shared.seen.reports(&self.toolchain(Some(file)))
    }

    pub(crate) fn drawings(&self) -> Drawings {
        self.shared.options.drawings.unwrap_or(self.shared.client.drawings)
    }
}

/// Returns the file at an absolute path: an open document, a text of the standard library or a file of the user. `None` if
/// there is none.
pub(crate) fn file_at(db: &Database, shared: &Shared, path: &str) -> Option<SourceFile> {
    if let Some(document) = shared.documents.get(path) {
        return Some(document.file);
    }
    shared.std.file(db, path).or_else(|| db.file(path).filter(|file| file.kind(db) == FileKind::Workspace))
}

/// Returns every known file of the user.
pub(crate) fn user_files(db: &Database) -> Vec<SourceFile> {
    let files = db.workspace().files(db);
    files.iter().copied().filter(|file| file.kind(db) == FileKind::Workspace).collect()
}
