//! A database of this layer that logs the queries that run.

use hx_base::{Db as _, SourceFile};

hx_base::test_database! {
    pub(crate) struct TestDb: [hx_hir::Db]
}

#[salsa::db]
impl crate::Db for TestDb {
    fn fork(&self) -> Box<dyn crate::Db> {
        Box::new(self.clone())
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
