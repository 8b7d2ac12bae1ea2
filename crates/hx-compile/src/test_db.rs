//! A database of this layer that logs the queries that run.

use hx_base::{Db as _, SourceFile, Workspace, testing::EventLog};

#[salsa::db]
#[derive(Clone)]
pub(crate) struct TestDb {
    storage: salsa::Storage<Self>,
    pub(crate) log: EventLog,
}

impl Default for TestDb {
    fn default() -> Self {
        let log = EventLog::default();
        let db = TestDb { storage: salsa::Storage::new(Some(log.callback())), log };
        Workspace::new(&db, Vec::new());
        db
    }
}

impl TestDb {
    /// Returns a database with one file.
    pub(crate) fn with_file(text: &str) -> (TestDb, SourceFile) {
        let mut db = TestDb::default();
        let file = SourceFile::workspace(&db, "a.hx", text);
        db.workspace().add_files(&mut db, [file]);
        (db, file)
    }
}

#[salsa::db]
impl salsa::Database for TestDb {}

#[salsa::db]
impl hx_base::Db for TestDb {
    fn workspace(&self) -> Workspace {
        Workspace::get(self)
    }
}

#[salsa::db]
impl hx_hir::Db for TestDb {}

#[salsa::db]
impl crate::Db for TestDb {}
