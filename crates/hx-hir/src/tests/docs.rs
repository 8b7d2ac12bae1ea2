//! Tests of the blocks of code in doc comments, and of what an edit does not run again.

use expect_test::{Expect, expect};

use crate::testing::TestDb;
use crate::{DocBlock, doc_blocks, file_doc_blocks, file_items};

/// Shows each block: the name of its item, the words behind its fence, and its lines.
fn check(text: &str, want: Expect) {
    let (db, file) = TestDb::with_file(text);
    let show = |of: &str, block: &DocBlock, offset| {
        let part = |range| &text[std::ops::Range::<usize>::from(range + offset)];
        let lines: String = block.lines.iter().map(|line| format!("|{}\n", part(*line))).collect();
        format!("{of} {:?} {:?}\n{lines}", part(block.fence), block.words)
    };
    let mut out: String =
        file_doc_blocks(&db, file).iter().map(|block| show("file", block, 0.into())).collect();
    for item in &file_items(&db, file).items {
        let blocks = doc_blocks(&db, *item).iter();
        out.extend(blocks.map(|block| show(item.name(&db), block, item.offset(&db))));
    }
    want.assert_eq(&out);
}

#[test]
fn blocks_are_found_with_their_lines() {
    check(
        "//! Head.\n//!```hx\n//!f();\n//! ```\n\n\
         /// Text.\n///  ```hx, no_run ignore\n/// let é = 1;\n///   indented\n///\n/// ```\n\
         /// ```text\n/// other\n/// ```\n\
         // no doc\n/// ```hx\n#[slow]\n/// open\nkernel f() grid [1] threads 32 { }\n\
         /// ```hxx\n/// a\n/// ```\n/// ```\n/// b\n/// ```\nfn g() { /// ```hx\n }\n\
         /// ```hx\n/// ```\ntest \"t\" { }\n",
        expect![[r#"
            file "```hx" []
            |f();
            f "```hx, no_run ignore" ["no_run", "ignore"]
            |let é = 1;
            |  indented
            |
            f "```hx" []
            |open
            t "```hx" []
        "#]],
    );
}

#[test]
fn an_edit_of_another_item_reads_no_comment_again() {
    let before = "/// ```hx\n/// f();\n/// ```\nfn f() { }\n\n/// Text.\nfn g() { }\n";
    let check = |from: &str, to: &str, want: Expect| {
        let (mut db, file) = TestDb::with_file(before);
        let all = |db: &TestDb| {
            for item in &file_items(db, file).items {
                doc_blocks(db, *item);
            }
        };
        all(&db);
        db.log.take();
        assert!(before.contains(from));
        file.update_text(&mut db, before.replacen(from, to, 1));
        all(&db);
        want.assert_eq(&db.log.take_counts());
    };
    check(
        "fn g() { }",
        "fn g() { f() }",
        expect![[r#"
        doc_blocks × 1
        file_items × 1
        parse × 1
    "#]],
    );
    check(
        "/// ```hx",
        "const A = 1;\n\n/// ```hx",
        expect![[r#"
        doc_blocks × 1
        file_items × 1
        parse × 1
    "#]],
    );
    check(
        "/// f();",
        "/// f() ;",
        expect![[r#"
        doc_blocks × 1
        file_items × 1
        parse × 1
    "#]],
    );
}
