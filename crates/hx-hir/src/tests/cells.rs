//! Cells of a session: what a cell sees of earlier cells, and which queries a new cell does not run again.

use expect_test::{Expect, expect};
use hx_base::{Scope, SourceFile};

use crate::testing::{TestDb, draw};
use crate::{Item, Resolution, body_names, body_of, cell_bindings, file_diagnostics, file_items};

/// A session of cells.
struct Cells {
    db: TestDb,
    scope: Option<Scope>,
    files: Vec<SourceFile>,
}

impl Cells {
    fn new() -> Cells {
        Cells { db: TestDb::default(), scope: None, files: Vec::new() }
    }

    fn add(&mut self, text: &str) -> SourceFile {
        let file = SourceFile::cell(&self.db, format!("cell {}", self.files.len() + 1), text, self.scope);
        self.scope = Some(Scope::after(&self.db, self.scope, file));
        self.files.push(file);
        file
    }

    /// Lists the meanings of the names in the statements of a cell, in the order of the text.
    fn meanings(&self, file: SourceFile) -> String {
        let Some(cell) = file_items(&self.db, file).cell() else { return String::new() };
        let item = Item::Cell(cell);
        let names = body_names(&self.db, item);
        let mut out = String::new();
        for (id, expr) in body_of(&self.db, item).store.exprs.iter() {
            let crate::Expr::Path { path, .. } = expr else { continue };
            let meaning = match names.exprs.get(id) {
                None => "nothing".to_owned(),
                Some(Resolution::Local(_)) => "a local".to_owned(),
                Some(Resolution::Binding(_)) => "a value of the session".to_owned(),
                Some(Resolution::Item(key)) => format!("{} of {}", key.kind.word(), key.file.path(&self.db)),
                Some(Resolution::Builtin(_)) => "built in".to_owned(),
                Some(other) => format!("{other:?}"),
            };
            out += &format!("{path}: {meaning}\n");
        }
        out
    }
}

/// Checks the meanings of the names of the last cell, and its diagnostics.
fn check(cells: &[&str], expect: Expect) {
    let mut session = Cells::new();
    let last = cells.iter().map(|text| session.add(text)).last().expect("a cell");
    let wrong = draw(&session.db, file_diagnostics(&session.db, last));
    expect.assert_eq(&(session.meanings(last) + &wrong));
}

#[test]
fn the_nearest_meaning_counts() {
    let kernel = "kernel k(a: f16[m]) grid [1] threads 32 {}";
    check(
        &["let x = 1", kernel, "let k = 2\nconst x = 3", "x; k; let k = 4; k; print(y)"],
        expect![[r#"
            x: const of cell 3
            k: a value of the session
            k: a local
            print: built in
            y: nothing
            error[HX0101]: nothing in scope is called `y`
              cell 4: x; k; let k = 4; k; print(y)
                                                ^
        "#]],
    );
    check(
        &[kernel, kernel, "k(1); let x = 2", "k(x)"],
        expect![[r#"
            k: kernel of cell 2
            x: a value of the session
        "#]],
    );
}

#[test]
fn items_see_no_values() {
    check(
        &["let rows = 4", "kernel k(a: f16[m]) grid [rows] threads 32 {}"],
        expect![[r#"
            error[HX0101]: nothing in scope is called `rows`
              cell 2: kernel k(a: f16[m]) grid [rows] threads 32 {}
                                                ^^^^
              note: `rows` is a value of the session, which items do not see
              note: a dimension is bound where its name stands alone in a parameter's shape
              help: pass it as an argument, or define a constant: `const rows = …;`
        "#]],
    );
}

#[test]
fn names_of_earlier_cells_are_offered() {
    check(
        &["let weights = 4", "print(weigths)"],
        expect![[r#"
            print: built in
            weigths: nothing
            error[HX0101]: nothing in scope is called `weigths`
              cell 2: print(weigths)
                            ^^^^^^^
              help: `weights` is near in spelling
              fix: replace it by `weights` (`weigths` → `weights`)
        "#]],
    );
}

#[test]
fn a_cell_binds_what_its_own_statements_bind() {
    let mut session = Cells::new();
    let file = session.add("let a = 1\nlet (b, [c, _]) = x\nfor d in 0..3 { let e = d }\nlet a = 2");
    assert_eq!(cell_bindings(&session.db, file), &["a", "b", "c", "a"]);
}

/// A redefinition only shadows: earlier cells do not depend on later ones, so new cells run no query of theirs again.
#[test]
fn a_new_cell_runs_nothing_of_the_earlier_ones() {
    let mut session = Cells::new();
    session.add("const N = 4");
    session.add("fn f(x: f32) -> f32 { x * 2.0 }");
    session.add("kernel k(c: mut f32[m]) grid [1] threads 32 { copy(load(tile(c, [N])[.., 0]), tile(c, [N])[.., 0]); }");
    let all = |session: &Cells| {
        session.files.iter().for_each(|file| drop(file_diagnostics(&session.db, *file).clone()))
    };
    all(&session);
    session.db.log.take();
    session.add("const N = 8\nlet a = N");
    all(&session);
    let ran = session.db.log.take_counts();
    expect![[r#"
        body_names × 2
        body_of × 2
        file_diagnostics × 1
        file_items × 1
        imports × 1
        infer_body × 2
        item_diagnostics × 2
        item_named × 1
        lowered_cell × 1
        lowered_const × 1
        parse × 1
        signature_names × 2
        whole_file × 1
    "#]]
    .assert_eq(&ran);
    // A second request runs nothing at all, because no input of the cells has changed.
    all(&session);
    assert_eq!(session.db.log.take_counts(), "");
}
