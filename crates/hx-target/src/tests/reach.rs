//! Compares the reaches with the address function of the hardware, element by element, and the products that use them with the
//! documented fragments.

use hx_layout::Swizzle;

use super::catalogue;
use crate::{Field, ReachRow, Reached, ReachedStride, SwizzleMode};

/// PTX ISA, "Matrix descriptor": the byte address of element (x, k), from the fields of the descriptor alone. `width` are the
/// bytes of a row of the swizzle.
fn address(is_k_major: bool, width: i64, [lbo, sbo]: [i64; 2], size: i64, [x, k]: [i64; 2]) -> i64 {
    let inside = match (is_k_major, width) {
        (true, 16) => x % 8 * 16 + x / 8 * sbo + k * size % 16 + k * size / 16 * lbo,
        (true, _) => x % 8 * width + x / 8 * sbo + k * size,
        (false, 16) => x * size % 16 + x * size / 16 * sbo + k % 8 * 16 + k / 8 * lbo,
        (false, _) => x * size % width + x * size / width * lbo + k % 8 * width + k / 8 * sbo,
    };
    let bits = match width {
        128 => 3,
        64 => 2,
        32 => 1,
        _ => 0,
    };
    // Bits 7 and up are xored into bits 4 and up.
    inside ^ (inside >> 3 & ((1 << bits) - 1) << 4)
}

/// Returns the offset of a coordinate by the modes of one dimension.
fn offset(modes: &[Reached], mut at: i64, fields: [i64; 2]) -> i64 {
    let mut sum = 0;
    for mode in modes {
        let digit = mode.extent.map_or(at, |extent| at % extent);
        at = mode.extent.map_or(0, |extent| at / extent);
        sum += digit
            * match mode.stride {
                ReachedStride::Known(stride) => stride,
                ReachedStride::Free(Field::Leading) => fields[0],
                ReachedStride::Free(Field::Stride) => fields[1],
            };
    }
    sum
}

fn check(row: &ReachRow, bits: u32) {
    let [along_x, along_k] = row.modes(bits).expect("elements of this width are reached");
    let size = i64::from(bits / 8);
    let swizzle = row.swizzle.of_elements(bits).expect("pieces of such elements");
    let (steps, width) = (32 / size, i64::from(row.swizzle.width_bytes()));
    assert_eq!(row.name, format!("{}.{width}B", if row.is_k_major() { "k" } else { "mn" }));
    // Offsets in bytes that put the pieces at different places, multiples of the swizzle's block.
    for fields in [[1024, 2048], [16384, 1024], [3072, 9216]] {
        let elements = fields.map(|bytes| bytes / size);
        for x in 0..256 {
            for k in 0..steps {
                let found = swizzle.apply(offset(&along_x, x, elements) + offset(&along_k, k, elements));
                let want = address(row.is_k_major(), width, fields, size, [x, k]);
                assert_eq!(found * size, want, "{} of {bits} bits at ({x}, {k})", row.name);
            }
        }
    }
}

#[test]
fn reaches_are_the_address_function_of_the_descriptor() {
    let mut names = Vec::new();
    for row in &catalogue().reaches {
        names.push(row.name.as_str());
        for bits in [8, 16, 32].into_iter().filter(|bits| row.modes(*bits).is_some()) {
            check(row, bits);
        }
        let is_transposable = row.is_k_major() || row.bits == [16];
        assert!(is_transposable, "{}: only 16-bit types may be contiguous along M or N", row.name);
    }
    assert_eq!(names, ["k.128B", "k.64B", "k.32B", "k.16B", "mn.128B", "mn.64B", "mn.32B", "mn.16B"]);
}

#[test]
fn swizzles_are_named_in_units_of_the_element() {
    let named = |bits: u32| -> Vec<String> {
        let all = SwizzleMode::ALL.into_iter().map(|mode| (mode, mode.of_elements(bits).expect("a swizzle")));
        all.map(|(mode, swizzle)| {
            assert_eq!(SwizzleMode::of(swizzle, bits), Some(mode));
            format!("{} {swizzle}", mode.name())
        })
        .collect()
    };
    assert_eq!(named(8), ["none Sw<0,0,0>", "32B Sw<1,4,3>", "64B Sw<2,4,3>", "128B Sw<3,4,3>"]);
    assert_eq!(named(16), ["none Sw<0,0,0>", "32B Sw<1,3,3>", "64B Sw<2,3,3>", "128B Sw<3,3,3>"]);
    assert_eq!(named(32), ["none Sw<0,0,0>", "32B Sw<1,2,3>", "64B Sw<2,2,3>", "128B Sw<3,2,3>"]);
    assert_eq!(SwizzleMode::of(Swizzle::new(2, 0, 3).expect("a swizzle"), 16), None);
    assert_eq!(SwizzleMode::Bytes64.of_elements(6), None);
    let blocks = SwizzleMode::ALL.map(|mode| (mode.block_bytes(), mode.width_bytes(), mode.code()));
    assert_eq!(blocks, [(16, 16, 0), (256, 32, 3), (512, 64, 2), (1024, 128, 1)]);
}

/// PTX ISA 9.7.15.5: the fragments of products of warp groups. Each warp has 16 rows. A register holds neighbours, and successive
/// registers go down 8 rows first.
#[test]
fn products_of_warp_groups_have_the_documented_fragments() {
    let mut counts = std::collections::BTreeMap::new();
    for row in catalogue().gemms.iter().filter(|row| row.is_by_descriptor()) {
        let [m, n, k] = row.shape;
        assert_eq!((row.threads, m, k * i64::from(row.a.dtype().bits())), (128, 64, 256), "{}", row.name);
        let head = row.name.split(&format!("n{n}")).collect::<Vec<_>>().join("");
        counts.entry(head).or_insert_with(Vec::new).push(n);
        let a = row.a.fragment().expect("A may be in registers");
        let per = i64::from(32 / row.a.dtype().bits());
        for thread in 0..128 {
            let (first, quad) = (thread / 32 * 16 + thread % 32 / 4, thread % 4);
            for v in 0..row.a.values() {
                let register = v / per;
                let at = [first + register % 2 * 8, quad * per + v % per + register / 2 * 4 * per];
                assert_eq!(a.layout.eval(thread + 128 * v), at[0] + 64 * at[1], "{} A", row.name);
            }
            for v in 0..row.c.values() {
                let at = [first + v / 2 % 2 * 8, quad * 2 + v % 2 + v / 4 * 8];
                assert_eq!(row.c.layout.eval(thread + 128 * v), at[0] + 64 * at[1], "{} C", row.name);
            }
        }
        let both = row.a.dtype().bits() == 16;
        assert_eq!(row.b.reach().len(), if both { 8 } else { 4 }, "{}", row.name);
        assert_eq!((row.a.reach(), row.issue), (row.b.reach(), n as f64 / 2.0), "{}", row.name);
        assert_eq!(row.ptx.contains("{tb}"), both, "{}", row.name);
    }
    let eights: Vec<i64> = (8..=256).step_by(8).collect();
    let few: Vec<i64> = [8, 16, 24, 32].into_iter().chain((48..=256).step_by(16)).collect();
    assert_eq!(counts.len(), 12);
    for (head, found) in counts {
        assert_eq!(found, if head.contains("i32") { few.clone() } else { eights.clone() }, "{head}");
    }
}
