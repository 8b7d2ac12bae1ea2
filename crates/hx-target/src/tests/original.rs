//! Compares the thread-value layouts of matrix loads with those of the original system, for elements of 16, 8 and 4 bits,
//! row by row.

use hx_dtype::DType;
use hx_layout::{Layout, equal_function};

use super::catalogue;

/// Compares thread and value modes one by one, as functions.
#[track_caller]
fn same(found: &Layout, want: &str, what: &str) {
    let want = Layout::literal(want);
    for mode in 0..2 {
        let (found, want) = (found.mode(mode), want.mode(mode));
        assert!(equal_function(&found, &want), "{what}: {found} where {want} was expected");
    }
}

#[test]
fn matrix_loads() {
    let rows = [
        (
            "ldmatrix.x4",
            "(32,8):(1,32)",
            [
                "((4,8),(2,4)):((64,1),(32,8))",
                "((4,8),(4,4)):((128,1),(32,8))",
                "((4,8),(8,4)):((256,1),(32,8))",
            ],
        ),
        (
            "ldmatrix.x2",
            "((16,2),8):((1,0),16)",
            [
                "((4,8),(2,2)):((32,1),(16,8))",
                "((4,8),(4,2)):((64,1),(16,8))",
                "((4,8),(8,2)):((128,1),(16,8))",
            ],
        ),
        (
            "ldmatrix.x1",
            "((8,4),8):((1,0),8)",
            ["((4,8),2):((16,1),8)", "((4,8),4):((32,1),8)", "((4,8),8):((64,1),8)"],
        ),
        (
            "ldmatrix.x4.trans",
            "(32,8):(1,32)",
            [
                "((4,8),(2,4)):((2,32),(1,8))",
                "((4,8),(2,2,4)):((2,64),(32,1,8))",
                "((4,8),(4,2,4)):((2,128),(32,1,8))",
            ],
        ),
        (
            "ldmatrix.x2.trans",
            "((16,2),8):((1,0),16)",
            [
                "((4,8),(2,2)):((2,16),(1,8))",
                "((4,8),(2,2,2)):((2,32),(16,1,8))",
                "((4,8),(4,2,2)):((2,64),(16,1,8))",
            ],
        ),
        (
            "ldmatrix.x1.trans",
            "((8,4),8):((1,0),8)",
            ["(32,2):(2,1)", "((4,8),(2,2)):((2,16),(8,1))", "((4,8),(4,2)):((2,32),(8,1))"],
        ),
    ];
    for (name, src, dst) in rows {
        let row = catalogue().copies.iter().find(|row| row.name == name).expect(name);
        let atoms = [DType::F16, DType::U8, DType::U4].map(|dtype| row.atom(dtype).expect(name));
        same(&atoms[0].memory, src, name);
        for (atom, want) in atoms.iter().zip(dst) {
            same(&atom.register, want, name);
        }
    }
}
