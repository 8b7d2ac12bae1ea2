//! Compares projections of thread-value layouts with the original system. A reduction zeroes the strides along its axis, and a
//! register that holds one element for several positions holds it once. Here a reduction names an axis of the tile instead of a
//! range of strides.

use hx_layout::{Layout, equal_function};
use hx_tile::{TileMode, tile_modes};

use crate::distribution::ThreadValueLayout;

/// Threads and values over a 16×8 tile.
const LAYOUT: &str = "((4,8),(2,2)):((32,1),(16,8))";
const TILE: i64 = 16 * 8;

/// Returns the layout with its strides from `low` to `high` zeroed: the tile is read as three dimensions, and the second is
/// reduced.
fn reduced([low, high]: [i64; 2]) -> Layout {
    let dims = [low, high / low, TILE / high];
    let layout = Layout::literal(LAYOUT);
    let modes = |i: usize| tile_modes(&layout.mode(i), &dims).expect("steps along the dimensions");
    let projected = ThreadValueLayout::covering(&dims, modes(0), modes(1)).project_values(&[1], 32);
    // The original numbers elements by the whole tile, including the elements that the reduction removed.
    let units = [1, low, high];
    let stride = |mode: &TileMode| mode.strides.iter().zip(units).map(|(step, unit)| step * unit).sum();
    let flat: Vec<(i64, i64)> =
        projected.thread.iter().chain(&projected.value).map(|mode| (mode.extent, stride(mode))).collect();
    Layout::flat(&flat).expect("a layout")
}

#[test]
fn reductions_zero_the_strides_along_their_axis() {
    for (range, zeroed, removed) in [
        ([1, 16], "(4,8,2,2):(32,0,16,0)", "(4,2):(32,16)"),
        ([16, 128], "(4,8,2,2):(0,1,0,8)", "(8,2):(1,8)"),
        ([8, 16], "(4,8,2,2):(32,1,16,0)", "(4,8,2):(32,1,16)"),
        ([32, 64], "(2,2,8,2,2):(0,64,1,16,8)", "(2,8,2,2):(64,1,16,8)"),
    ] {
        let found = reduced(range);
        assert!(equal_function(&found, &Layout::literal(zeroed)), "{range:?}: {found}");
        // The original system also drops the modes of stride 0, so that a thread holds each result once.
        assert!(equal_function(&found.filter(), &Layout::literal(removed)), "{range:?}: {}", found.filter());
    }
}

/// The original's codomain: for each element of the tile, the element to which the layout maps it.
#[test]
fn every_element_of_the_tile_has_its_place_in_the_result() {
    let whole = Layout::literal(LAYOUT);
    let element = whole.right_inverse();
    for (layout, wanted) in [(whole, "(16,8):(1,16)"), (reduced([1, 16]), "(16,8):(0,16)")] {
        let found = layout.compose(&element).expect("a layout");
        assert!(equal_function(&found, &Layout::literal(wanted)), "{found}");
    }
}

/// A thread whose values repeat along a mode keeps each element in one register. The original's strides are 16, 0 and 8; here the
/// first walks a dimension of its own, so that no two elements coincide.
#[test]
fn repeated_values_share_a_register() {
    let value =
        vec![TileMode::new(2, vec![0, 1]), TileMode::new(2, vec![0, 0]), TileMode::new(4, vec![8, 0])];
    let repeated = ThreadValueLayout::covering(&[32, 2], vec![TileMode::new(8, vec![1, 0])], value);
    let registers = repeated.project(&[], 32);
    assert_eq!(registers.values(), 8);
    let found = registers.positions_of(&repeated).expect("every value is held");
    let wanted: Vec<i64> = Layout::literal("(2,2,4):(1,0,2)").table().collect();
    assert_eq!(found, wanted);
}
