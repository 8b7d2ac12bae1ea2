//! The comparison of a candidate's results with those of the anchor.

use hx_host::compare::{Tolerance, assert_close, assert_equal};
use hx_host::{HostResult, Tensor};

/// The tolerance of types narrower than f32, in units of the last place: candidates add in different orders, so results differ
/// by their rounding.
const NARROW_ULPS: f64 = 4.0;
/// The tolerance of f32 and wider types, in units of the last place: the rounding of sums over thousands of terms adds up. For f32,
/// 4096 units are 2⁻¹¹ of the value, about one unit of f16.
const WIDE_ULPS: f64 = 4096.0;
/// The bits of the mantissa of f32.
const WIDE_MANTISSA: u32 = 23;

/// Fails unless a candidate wrote what the reference wrote, up to the rounding of sums in other orders.
///
/// # Errors
/// The first elements that differ, and by how much.
pub(super) fn same_results(candidate: &[Tensor], reference: &[Tensor]) -> HostResult<()> {
    for (found, wanted) in candidate.iter().zip(reference) {
        if found.to_host().data == wanted.to_host().data {
            continue;
        }
        let Some(format) = found.dtype().float() else {
            assert_equal(found, wanted)?;
            continue;
        };
        let ulp = if format.mantissa < WIDE_MANTISSA { NARROW_ULPS } else { WIDE_ULPS };
        assert_close(found, wanted, Tolerance { ulp: Some(ulp), ..Tolerance::default() })?;
    }
    Ok(())
}
