//! Compares rows with their definitions. Every fragment is enumerated, because published tables have been wrong.

mod asynchronous;
mod inline;
mod original;
mod ptx;
mod reach;

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::DType;

use crate::{Cache, Catalogue, CopyRow, GemmRow, L1, L2, Space, Target};

/// Returns the rows of the default target.
fn catalogue() -> &'static Catalogue {
    &Target::usual().get().rows
}

/// Counts how often each element of a tile of `size` elements is held.
fn coverage(layout: &hx_layout::Layout, size: i64) -> Vec<usize> {
    let mut count = vec![0; size as usize];
    for i in 0..layout.size() {
        count[layout.eval(i) as usize] += 1;
    }
    count
}

#[test]
fn names_are_unique() {
    let c = catalogue();
    let mut seen = BTreeMap::new();
    let names = c.copies.iter().map(|r| &r.name);
    for name in names.chain(c.gemms.iter().map(|r| &r.name)).chain(c.converts.iter().map(|r| &r.name)) {
        assert!(seen.insert(name.clone(), ()).is_none(), "{name} occurs twice");
    }
}

#[test]
fn an_operator_on_a_type_has_one_row() {
    let mut seen = BTreeSet::new();
    for row in &catalogue().computes {
        let key = format!("{} of {} {}", row.operator, row.values, row.dtype);
        assert!(seen.insert(key.clone()), "{key} occurs twice");
    }
}

#[test]
fn conversions_take_each_source_once() {
    for row in catalogue().converts.iter().filter(|row| !row.order.is_empty()) {
        let mut sources: Vec<i64> = (0..i64::from(row.values)).map(|i| row.source(i)).collect();
        sources.sort_unstable();
        assert_eq!(sources, (0..i64::from(row.values)).collect::<Vec<i64>>(), "{}", row.name);
        assert_eq!(row.order.len(), row.values as usize, "{}", row.name);
    }
}

/// PTX ISA 9.7.15: each row of an 8×8 matrix lies in four neighbouring lanes, two elements in each. Every lane gets the
/// elements that the transposed matrix has at its place.
#[test]
fn matrices_are_transposed_between_lanes() {
    let rows: Vec<_> = catalogue().exchanges.iter().filter(|r| r.reach == crate::Reach::Tile).collect();
    assert_eq!(rows.len(), 1);
    let sources = rows[0].sources().expect("a source for each value");
    for lane in 0..32 {
        for value in 0..2 {
            let (row, column) = (lane / 4, 2 * (lane % 4) + value);
            let expected = (4 * column + row / 2, row % 2);
            assert_eq!(sources[value as usize][lane as usize], expected, "lane {lane} value {value}");
        }
    }
}

#[test]
fn fragments_cover_their_tiles_once() {
    for GemmRow { name, shape: [m, n, k], threads, a, b, c, .. } in &catalogue().gemms {
        let operands = [("A", a.fragment(), m * k), ("B", b.fragment(), n * k), ("C", Some(c), m * n)];
        for (what, fragment, size) in operands {
            let Some(fragment) = fragment else { continue };
            assert_eq!(fragment.layout.mode(0).size(), i64::from(*threads), "{name} {what}");
            assert_eq!(coverage(&fragment.layout, size), vec![1; size as usize], "{name} {what}");
        }
    }
}

/// PTX ISA 9.7.14.5: the fragments of every warp-level product of 8 columns, as in the figures. A 32-bit register holds
/// neighbours along K. Successive registers go down 8 rows first, then along K.
#[test]
fn warp_products_have_the_documented_fragments() {
    let mut kinds = std::collections::BTreeSet::new();
    for row in catalogue().gemms.iter().filter(|r| r.threads == 32 && r.shape[0] == 16) {
        kinds.insert((row.a.dtype().bits(), row.shape[2]));
        let per = i64::from(32 / row.a.dtype().bits());
        let [a, b] = row.fragments().expect("both operands are in registers");
        for lane in 0..32 {
            let (group, quad) = (lane / 4, lane % 4);
            let at = |fragment: &crate::Fragment, v: i64| fragment.layout.eval(lane + 32 * v);
            for v in 0..row.a.values() {
                let register = v / per;
                let (m, k) = (group + 8 * (register % 2), quad * per + v % per + 4 * per * (register / 2));
                assert_eq!(at(a, v), m + 16 * k, "{} A lane {lane} value {v}", row.name);
            }
            for v in 0..row.b.values() {
                let (n, k) = (group, quad * per + v % per + 4 * per * (v / per));
                assert_eq!(at(b, v), n + 8 * k, "{} B lane {lane} value {v}", row.name);
            }
            for v in 0..row.c.values() {
                let (m, n) = (group + 8 * (v / 2), quad * 2 + v % 2);
                assert_eq!(at(&row.c, v), m + 16 * n, "{} C lane {lane} value {v}", row.name);
            }
        }
    }
    let kinds: Vec<_> = kinds.into_iter().collect();
    assert_eq!(kinds, [(4, 32), (4, 64), (8, 16), (8, 32), (16, 8), (16, 16), (32, 4), (32, 8)]);
}

#[test]
fn exchanged_operands_are_the_transposed_product() {
    let row = |name: &str| catalogue().gemm(name).expect("there is one");
    let (plain, swapped) = (row("mma.m16n8k16.f32.f16"), row("mma.m16n8k16.f32.f16.swapped"));
    assert_eq!(swapped.shape, [8, 16, 16]);
    assert_eq!(swapped.ptx, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c}, {b}, {a}, {c};");
    assert_eq!([&swapped.a, &swapped.b], [&plain.b, &plain.a]);
    for held in 0..32 * plain.c.values() {
        let (plain, swapped) = (plain.c.layout.eval(held), swapped.c.layout.eval(held));
        assert_eq!([plain % 16, plain / 16], [swapped / 8, swapped % 8], "element {held}");
    }
    assert!(swapped.suits([8, 64]) && swapped.suits([24, 16]), "half of the rows would be past the edge");
    assert!(!swapped.suits([16, 64]) && !swapped.suits([8, 8]), "nothing is gained");
    assert!(plain.suits([8, 64]));
}

/// PTX ISA 9.7.14.5: the fragments of m8n8k4 in double precision.
#[test]
fn m8n8k4_is_the_documented_fragment() {
    let row = catalogue().gemms.iter().find(|r| r.shape == [8, 8, 4]).expect("there is one");
    let [a, b] = row.fragments().expect("both operands are in registers");
    for lane in 0..32 {
        let (group, quad) = (lane / 4, lane % 4);
        assert_eq!(a.layout.eval(lane), group + 8 * quad, "A lane {lane}");
        assert_eq!(b.layout.eval(lane), group + 8 * quad, "B lane {lane}");
        for v in 0..2 {
            assert_eq!(row.c.layout.eval(lane + 32 * v), group + 8 * (2 * quad + v), "C lane {lane}");
        }
    }
}

/// PTX ISA 9.7.14.5.15: lane 8i + r addresses row r of matrix i. Register i of lane l holds row l / 4 of matrix i, columns 2
/// (l % 4) and the next; with `.trans` row and column of the element are exchanged.
#[test]
fn matrix_loads_are_the_documented_exchange() {
    for row in catalogue().copies.iter().filter(|r| r.element_bits == Some(16)) {
        let matrices = i64::from(row.bytes / 4);
        let rows = 8 * matrices;
        let (memory, register) = (row.memory.as_ref().unwrap(), row.register.as_ref().unwrap());
        for lane in 0..32 {
            for col in 0..8 {
                let addressed = if lane < rows { lane } else { lane % rows };
                assert_eq!(memory.eval(lane + 32 * col), addressed + rows * col, "{} lane {lane}", row.name);
            }
            for v in 0..2 * matrices {
                let (matrix, r, c) = (v / 2, lane / 4, 2 * (lane % 4) + v % 2);
                let (r, c) = if row.name.ends_with(".trans") { (c, r) } else { (r, c) };
                assert_eq!(
                    register.eval(lane + 32 * v),
                    8 * matrix + r + rows * c,
                    "{} lane {lane}",
                    row.name
                );
            }
        }
    }
}

/// Checks the same exchange on narrower elements: each 16-bit element of the definition is 2 to 16 elements that are
/// adjacent in memory.
#[test]
fn matrix_loads_move_packs() {
    for row in catalogue().copies.iter().filter(|r| r.element_bits == Some(16)) {
        let rows = 8 * i64::from(row.bytes / 4);
        for (dtype, packed) in
            [(DType::U8, 2), (DType::F8E4m3, 2), (DType::I4, 4), (DType::U2, 8), (DType::U1, 16)]
        {
            let (whole, atom) = (row.atom(DType::F16).unwrap(), row.atom(dtype).unwrap());
            assert_eq!((atom.values, atom.access), (whole.values * packed, whole.access * packed));
            for lane in 0..32 {
                for (split, of, count) in [
                    (&atom.memory, &whole.memory, atom.access),
                    (&atom.register, &whole.register, atom.values),
                ] {
                    for v in 0..count {
                        let element = of.eval(lane + 32 * (v / packed));
                        let (r, c) = (element % rows, element / rows);
                        let want = r + rows * (packed * c + v % packed);
                        assert_eq!(split.eval(lane + 32 * v), want, "{} {dtype} lane {lane}", row.name);
                    }
                }
            }
        }
    }
}

/// The instructions in the PTX of a row that transposes bytes, one after the other: matrices of pairs of bytes by the definition of
/// PTX ISA 9.7.14.5.15, and permutations by that of `prmt` (9.7.9.7). Each byte of memory is one element.
#[test]
fn matrices_of_bytes_are_transposed_by_their_instructions() {
    let rows: Vec<_> = catalogue().copies.iter().filter(|r| r.element_bits == Some(8)).collect();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let (name, words) = (&row.name, row.words as usize);
        let (memory, register) = (row.memory.as_ref().unwrap(), row.register.as_ref().unwrap());
        let statements: Vec<Vec<&str>> = row
            .ptx
            .split(';')
            .map(|text| text.split([' ', ',', '[', ']']).filter(|word| !word.is_empty()).collect())
            .collect();
        let permutations: Vec<_> = statements.iter().filter(|words| words.contains(&"prmt.b32")).collect();
        assert_eq!((permutations.len(), row.permutes), (words, words as u32), "{name}");
        assert!(row.ptx.contains(&format!("m8n8.x{words}.trans.shared.b16")), "{name}");
        for lane in 0..32 {
            // Register i of a lane holds the pair of bytes l / 4 of rows 2 (l % 4) and the next of matrix i, whose row r lane
            // 8i + r addresses.
            let byte = |matrix: i64, byte: i64| {
                let (addressing, column) =
                    (8 * matrix + 2 * (lane % 4) + byte / 2, 2 * (lane / 4) + byte % 2);
                memory.eval(addressing + 32 * column)
            };
            let matrices: Vec<Vec<i64>> =
                (0..words as i64).map(|m| (0..4).map(|b| byte(m, b)).collect()).collect();
            let held: Vec<Vec<i64>> = (0..words as i64)
                .map(|word| (0..4).map(|b| register.eval(lane + 32 * (4 * word + b))).collect())
                .collect();
            let named = |operand: &str| -> Vec<i64> {
                let index: usize = operand.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
                if operand.starts_with('x') { matrices[index].clone() } else { held[index].clone() }
            };
            for words in &permutations {
                let [.., to, first, second, selector] = words.as_slice() else { panic!("{name}") };
                let bytes = [named(first), named(second)].concat();
                let selector = u32::from_str_radix(selector.trim_start_matches("0x"), 16).unwrap();
                let taken: Vec<i64> = (0..4).map(|i| bytes[(selector >> (4 * i) & 7) as usize]).collect();
                assert_eq!(taken, named(to), "{name} lane {lane}");
            }
        }
    }
}

/// A register of a row that transposes bytes holds four neighbours along the rows of the tile, and two neighbouring registers hold
/// neighbouring columns: the fragments of products of bytes, with their columns in pairs.
#[test]
fn matrices_of_bytes_are_fragments() {
    for row in catalogue().copies.iter().filter(|r| r.element_bits == Some(8)) {
        let (matrices, register) = (i64::from(row.words), row.register.as_ref().unwrap());
        let rows = 8 * matrices;
        for lane in 0..32 {
            for value in 0..4 * matrices {
                let (word, byte) = (value / 4, value % 4);
                let (k, n) = (4 * (lane % 4) + byte + 16 * (word / 2), 2 * (lane / 4) + word % 2);
                assert_eq!(register.eval(lane + 32 * value), k % rows + rows * n, "{} lane {lane}", row.name);
            }
        }
        assert_eq!(coverage(register, rows * 16), vec![1; rows as usize * 16]);
        let memory = row.memory.as_ref().unwrap();
        let once = coverage(memory, rows * 16);
        assert!(once.iter().all(|count| *count == 32 / rows as usize), "{}", row.name);
        assert!(row.atom(DType::F16).is_none(), "{}", row.name);
        assert_eq!(row.atom(DType::F8E4m3).map(|atom| atom.register), Some(register.clone()));
    }
}

#[test]
fn operands_hold_the_bytes() {
    for CopyRow { name, bytes, word, words, .. } in catalogue().copies.iter().filter(|r| !r.is_async()) {
        assert!(word * words / 8 >= *bytes && word * words / 8 <= 2 * bytes, "{name}");
    }
}

#[test]
fn rows_are_listed_widest_first() {
    let c = catalogue();
    for pair in c.copies.windows(2) {
        let kind = |r: &CopyRow| {
            (
                r.from,
                r.to,
                r.atomic.map(|a| (a.op, a.dtype, a.returns)),
                r.is_collective(),
                r.name.ends_with(".trans"),
                r.element_bits,
            )
        };
        assert!(kind(&pair[0]) != kind(&pair[1]) || pair[0].bytes > pair[1].bytes, "{}", pair[1].name);
    }
}

/// A made-up file: a family of rows that read B from shared memory.
const FAMILY: &str = r#"
[[reach]]
name = 'made_up.k'
x = [[8, '8T'], ['*', 'S']]
k = [['8T', 1]]
swizzle = '128B'

[[gemm]]
name = 'made_up.n{n}'
n = [8, 24, 8]
shape = [64, '{n}', 16]
threads = 128
a = { type = 'f16', layout = '((4,8,4),(2,2,2)):((128,1,16),(64,8,512))' }
b = { type = 'f16', reach = ['made_up.*'] }
c = { type = 'f32', layout = '((4,8,4),(2,2,{n/8})):((128,1,16),(64,8,512))' }
issue = '{n/2}'
latency = 1
ptx = 'made_up.n{n} {c}, {a};'
"#;

#[test]
fn a_row_with_a_parameter_stands_for_a_family() {
    let rows = crate::catalogue::read(FAMILY).expect("it is well formed").gemms;
    let named: Vec<_> =
        rows.iter().map(|row| (row.name.as_str(), row.shape, row.issue, row.ptx.as_str())).collect();
    assert_eq!(
        named,
        [
            ("made_up.n8", [64, 8, 16], 4.0, "made_up.n8 {c}, {a};"),
            ("made_up.n16", [64, 16, 16], 8.0, "made_up.n16 {c}, {a};"),
            ("made_up.n24", [64, 24, 16], 12.0, "made_up.n24 {c}, {a};"),
        ]
    );
    for row in &rows {
        let [m, n, _] = row.shape;
        assert_eq!(coverage(&row.c.layout, m * n), vec![1; (m * n) as usize], "{}", row.name);
        assert_eq!((row.a.values(), row.b.values(), row.b.dtype()), (8, 0, DType::F16));
        assert!(row.a.fragment().is_some() && row.is_by_descriptor());
        assert_eq!(row.b.reach(), ["made_up.k"]);
    }
}

#[test]
fn malformed_families_are_refused() {
    let refused = |from: &str, to: &str| crate::catalogue::read(&FAMILY.replace(from, to)).map(|_| ());
    let contains = |found: Result<(), String>, text: &str| {
        assert!(found.as_ref().is_err_and(|e| e.contains(text)), "{found:?}")
    };
    contains(refused("[8, 24, 8]", "[8, 24]"), "`n` is [from, to, step]");
    contains(refused("[8, 24, 8]", "[8, 24, 0]"), "`n` is [from, to, step]");
    contains(refused("[8, 24, 8]", "[24, 8, 8]"), "`n` is [from, to, step]");
    contains(refused("[8, 24, 8]", "[0, 24, 8]"), "`n` is [from, to, step]");
    contains(refused("'{n/2}'", "'{n/3}'"), "is not a whole part of 8");
    contains(refused("'{n/2}'", "'{n'"), "is not closed");
    contains(refused("'made_up.*'", "'mn.*'"), "no reach of elements of type f16 is `mn.*`");
    contains(
        refused("reach = ['made_up.*']", "reach = []"),
        "an operand needs a `layout`, a `reach`, or both",
    );
    contains(refused("[['8T', 1]]", "[['8U', 1]]"), "`8U` is not an extent or stride of a reach");
    contains(refused("'128B'", "'256B'"), "unknown variant `256B`");
}

#[test]
fn a_misspelt_field_is_named_with_its_row() {
    let refused = |from: &str, to: &str| {
        crate::catalogue::read(&FAMILY.replace(from, to)).map(|_| ()).expect_err("the row is malformed")
    };
    let found = refused("reach = ['made_up.*']", "reech = ['made_up.*']");
    assert!(
        found.starts_with(
            "gemm `made_up.n8`: unknown field `reech`, expected one of `type`, `layout`, `reach`"
        ),
        "{found}"
    );
    assert_eq!(
        refused("'made_up.*'", "'mn.*'"),
        "gemm `made_up.n8`: no reach of elements of type f16 is `mn.*`"
    );
}

/// The peaks that `hx bench` compares with: on an H100, 4096 operations in a cycle of each of 132 multiprocessors.
#[test]
fn operations_of_products_in_a_cycle() {
    let target = Target::usual();
    let rows = [
        "wgmma.m64n256k16.f32.bf16",
        "wgmma.m64n128k32.f32.f8e4m3",
        "wgmma.m64n8k8.f32.tf32",
        "mma.m16n8k16.f32.f16",
        "fma.f32",
    ];
    let shown = rows.map(|name| {
        let row = target.rows().gemm(name).expect("it is in the catalogue");
        format!("{name} {:.0}\n", row.operations_in_a_cycle(&target.limits))
    });
    assert_eq!(
        shown.concat(),
        "wgmma.m64n256k16.f32.bf16 4096\nwgmma.m64n128k32.f32.f8e4m3 8192\nwgmma.m64n8k8.f32.tf32 2048\nmma.m16n8k16.f32.f16 2726\nfma.f32 256\n"
    );
}

/// PTX ISA 9.7.9: the qualifiers of hints come behind the memory, and the policy is the last operand.
#[test]
fn hints_stand_where_the_instructions_take_them() {
    let (mut found, mut add) = (String::new(), Vec::new());
    let both = Cache { l1: Some(L1::NoAllocate), l2: Some(L2::EvictFirst) };
    let l2 = Cache { l1: None, ..both };
    for row in &catalogue().copies {
        let is_global = [row.from, row.to].contains(&Space::Global) && row.atomic.is_none();
        assert_eq!(row.hints.is_some(), is_global, "{}", row.name);
        assert_eq!(row.hinted(both).is_some(), is_global && !row.is_async(), "{}", row.name);
        if row.access == 16 || row.is_async() {
            add.extend(row.hinted(if row.is_async() { l2 } else { both }));
        }
    }
    for row in &catalogue().bulks {
        assert_eq!(row.hinted(both, false), None, "{}", row.name);
        add.extend([false, true].into_iter().filter_map(|multicast| row.hinted(l2, multicast)));
    }
    add.into_iter().for_each(|ptx| found += &format!("{ptx}\n"));
    expect_test::expect![[r#"
        ld.global.L1::no_allocate.L2::cache_hint.v4.b32 {r}, [{a}], {p};
        st.global.L1::no_allocate.L2::cache_hint.v4.b32 [{a}], {r}, {p};
        cp.async.cg.shared.global.L2::cache_hint [{d}], [{a}], 16, {n}, {p};
        cp.async.ca.shared.global.L2::cache_hint [{d}], [{a}], 8, {n}, {p};
        cp.async.ca.shared.global.L2::cache_hint [{d}], [{a}], 4, {n}, {p};
        cp.async.bulk.tensor.{r}d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [{s}], [{m}, {c}], [{b}], {p};
        cp.async.bulk.tensor.{r}d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint [{s}], [{m}, {c}], [{b}], {k}, {p};
        cp.async.bulk.tensor.{r}d.global.shared::cta.bulk_group.L2::cache_hint [{m}, {c}], [{s}], {p};
        cp.reduce.async.bulk.tensor.{r}d.global.shared::cta.add.bulk_group.L2::cache_hint [{m}, {c}], [{s}], {p};
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [{s}], [{a}], {n}, [{b}], {p};
        cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint [{a}], [{s}], {n}, {p};
    "#]].assert_eq(&found);
}
