//! Compares the table of asynchronous instructions with the rows that it names.

use std::collections::BTreeSet;

use expect_test::expect;

use super::catalogue;
use crate::asynchronous::table;
use crate::{Addressing, Completion, Form, Proxy, Space, space};

#[test]
fn every_asynchronous_row_has_a_form_and_every_form_rows() {
    let c = catalogue();
    let copies = c.copies.iter().filter(|row| row.is_async()).map(|row| &row.name);
    let products = c.gemms.iter().filter(|row| row.is_by_descriptor()).map(|row| &row.name);
    let sends = c.syncs.iter().filter(|row| row.ptx.contains("st.async")).map(|row| &row.name);
    let bulks = c.bulks.iter().map(|row| &row.name);
    let asynchronous: BTreeSet<&String> = copies.chain(products).chain(sends).chain(bulks).collect();
    for name in &asynchronous {
        let of = |entry: &&crate::Asynchronous| entry.rows.iter().any(|row| name.starts_with(row.as_str()));
        let forms: Vec<Form> = table().iter().filter(of).map(|entry| entry.form).collect();
        let expected = if name.starts_with("cp.") { 2 } else { 1 };
        assert_eq!(forms.len(), expected, "`{name}` has the forms {forms:?}");
        if let Some(bulk) = c.bulk(name) {
            assert_eq!(forms, [bulk.form()], "{name}");
        }
        if let Some(gemm) = c.gemm(name) {
            assert_eq!(forms, [gemm.form], "{name}");
        }
    }
    for form in Form::ALL {
        let entry = form.asynchronous();
        for row in &entry.rows {
            assert!(asynchronous.iter().any(|name| name.starts_with(row.as_str())), "no row is a `{row}`");
        }
    }
    assert_eq!(table().len(), Form::ALL.len());
}

#[test]
fn the_table_of_memories_is_complete_and_accesses_agree_with_it() {
    let memories = [Space::Global, Space::Shared, Space::Register];
    assert_eq!(space::table().len(), memories.len());
    for memory in memories {
        assert_eq!(memory.row().space, memory);
    }
    // A value has no address, and what is addressed is no value.
    assert!(space::table().iter().all(|row| row.addressed.is_empty() == row.space.is_held()));
    for row in &catalogue().gemms {
        assert_eq!(row.accumulates_in(), Space::Register, "{}", row.name);
        let by_descriptor = row.form.asynchronous().access(Space::Shared).proxy == Proxy::Asynchronous;
        assert!(
            by_descriptor && Space::Shared.row().addressed.contains(&Addressing::Descriptor),
            "{}",
            row.name
        );
    }
}

#[test]
fn a_wait_for_reads_leaves_the_writes_of_bulk_stores() {
    let until = [
        Completion::Group,
        Completion::Product,
        Completion::Barrier,
        Completion::Store,
        Completion::StoreRead,
    ];
    let line = |completion| {
        let wait = catalogue().wait_for(completion);
        format!("{completion:?}: {} completes {:?}\n", wait.row, wait.completes)
    };
    expect![[r"
        Group: wait completes [Group]
        Product: products.wait completes [Product]
        Barrier: barrier.await completes [Barrier]
        Store: bulk.wait completes [Store, StoreRead]
        StoreRead: bulk.wait.read completes [StoreRead]
    "]]
    .assert_eq(&until.map(line).concat());
    let waited: BTreeSet<Completion> =
        table().iter().flat_map(|entry| &entry.accesses).map(|access| access.until).collect();
    assert_eq!(waited, until.into(), "each access has a wait, and each wait an access");
    for wait in &catalogue().waits {
        let rows = std::iter::once(&wait.row).chain(&wait.closes);
        let exists = |row: &&String| catalogue().group(row).is_some() || catalogue().sync(row).is_some();
        assert!(rows.clone().all(|row| exists(&row)), "{wait:?}");
    }
}
