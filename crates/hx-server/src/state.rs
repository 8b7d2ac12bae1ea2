//! What the writer owns, and what readers get of it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hx_base::{Db as _, FileKind, SourceFile};
use hx_ide::{LastGood, Picked, Shown};
use hx_target::Arch;
use hx_workspace::{Database, Manifest};
use tower_lsp::ls_types::{SemanticToken, Uri};

use crate::Config;
use crate::compile::Measured;
use crate::files::{Documents, StdFolder, path_of, uri_of};
use crate::from_proto::Positions;
use crate::settings::{Client, Drawings, Options};

/// The architecture that is shown where nothing names one.
const DEFAULT_TARGET: Arch = Arch::Sm90a;

/// Everything that an answer depends on, as it was at one moment. A write to the database waits until all are gone.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) db: Database,
    pub(crate) shared: Shared,
}

/// What snapshots share with the writer beside the database; each part is replaced, never changed.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) client: Arc<Client>,
    pub(crate) options: Arc<Options>,
    pub(crate) documents: Arc<Documents>,
    pub(crate) picked: Arc<Vec<Picked>>,
    /// The projects that were opened, by their folders.
    pub(crate) projects: Arc<BTreeMap<String, Manifest>>,
    pub(crate) last_good: Arc<LastGood>,
    pub(crate) std: Arc<StdFolder>,
    /// What the CUDA compiler said of texts that it compiled.
    pub(crate) measured: Measured,
    pub(crate) tokens: Arc<Mutex<SentTokens>>,
}

/// The semantic tokens that were sent last for each address, and the number under which.
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
            measured: Measured::default(),
            tokens: Arc::default(),
        }
    }
}

impl Snapshot {
    /// The file of an address.
    pub(crate) fn file(&self, uri: &Uri) -> Option<SourceFile> {
        file_at(&self.db, &self.shared, &path_of(uri))
    }

    pub(crate) fn uri(&self, file: SourceFile) -> Option<Uri> {
        uri_of(&self.db, &self.shared.documents, &self.shared.std, file)
    }

    /// Positions in a file as the client counts them.
    pub(crate) fn positions(&self, file: SourceFile) -> Positions<'_> {
        Positions::new(&self.db, file, self.shared.client.encoding)
    }

    /// The instances that are shown in a file.
    pub(crate) fn shown(&self, file: SourceFile) -> Shown {
        Shown { arch: self.arch(file), picked: self.shared.picked.to_vec() }
    }

    fn arch(&self, file: SourceFile) -> Arch {
        if let Ok(Some(arch)) = self.shared.options.arch() {
            return arch;
        }
        self.manifest(file).and_then(|manifest| manifest.target).unwrap_or(DEFAULT_TARGET)
    }

    /// The project of a file: the innermost whose folder it is in.
    pub(crate) fn manifest(&self, file: SourceFile) -> Option<&Manifest> {
        let path = self.db.path_on_disk(file)?;
        let around =
            self.shared.projects.iter().filter(|(root, _)| {
                path.strip_prefix(root.as_str()).is_some_and(|rest| rest.starts_with('/'))
            });
        around.max_by_key(|(root, _)| root.len()).map(|(_, manifest)| manifest)
    }

    pub(crate) fn drawings(&self) -> Drawings {
        self.shared.options.drawings.unwrap_or(self.shared.client.drawings)
    }
}

/// The file at an absolute path.
pub(crate) fn file_at(db: &Database, shared: &Shared, path: &str) -> Option<SourceFile> {
    if let Some(document) = shared.documents.get(path) {
        return Some(document.file);
    }
    shared.std.file(db, path).or_else(|| db.file(path).filter(|file| file.kind(db) == FileKind::Workspace))
}

/// Every file of the user that is known.
pub(crate) fn user_files(db: &Database) -> Vec<SourceFile> {
    let files = db.workspace().files(db);
    files.iter().copied().filter(|file| file.kind(db) == FileKind::Workspace).collect()
}
