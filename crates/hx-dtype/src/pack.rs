//! Reads and writes elements in packed little-endian bytes. Below 8 bits, the first element takes the lowest bits of its byte.
//!
//! This module knows widths and bytes, not the meaning of the bits.

use crate::DType;

/// Returns the bytes that `count` packed elements take, rounded up to a whole byte.
///
/// Saturates at `usize::MAX`.
#[inline]
pub fn packed_bytes(dtype: DType, count: usize) -> usize {
    let bits = dtype.bits() as usize;
    if bits >= 8 { count.saturating_mul(bits / 8) } else { count.div_ceil(8 / bits) }
}

/// Returns the bits of element `index`.
///
/// # Panics
/// If the element lies beyond `bytes`.
#[inline]
pub fn load(dtype: DType, bytes: &[u8], index: usize) -> u64 {
    match dtype.bits() {
        16 => u64::from(u16::from_le_bytes(array(bytes, index))),
        32 => u64::from(u32::from_le_bytes(array(bytes, index))),
        8 => u64::from(bytes[index]),
        64 => u64::from_le_bytes(array(bytes, index)),
        bits => {
            let (byte, shift) = place(bits, index);
            (u64::from(bytes[byte]) >> shift) & dtype.mask()
        }
    }
}

/// Writes the low bits of `value` as element `index`. Other elements in the same byte keep their bits.
///
/// # Panics
/// If the element lies beyond `bytes`.
#[inline]
pub fn store(dtype: DType, bytes: &mut [u8], index: usize, value: u64) {
    match dtype.bits() {
        16 => bytes[index * 2..][..2].copy_from_slice(&(value as u16).to_le_bytes()),
        32 => bytes[index * 4..][..4].copy_from_slice(&(value as u32).to_le_bytes()),
        8 => bytes[index] = value as u8,
        64 => bytes[index * 8..][..8].copy_from_slice(&value.to_le_bytes()),
        bits => {
            let (byte, shift) = place(bits, index);
            let mask = (dtype.mask() << shift) as u8;
            bytes[byte] = (bytes[byte] & !mask) | ((value << shift) as u8 & mask);
        }
    }
}

/// Returns the byte and bit offset of an element narrower than a byte.
#[inline]
fn place(bits: u32, index: usize) -> (usize, u32) {
    let per_byte = (8 / bits) as usize;
    (index / per_byte, (index % per_byte) as u32 * bits)
}

#[inline]
fn array<const N: usize>(bytes: &[u8], index: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[index * N..][..N]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_do_not_disturb_each_other() {
        for dtype in DType::ALL {
            let count = 19;
            let mut bytes = vec![0u8; packed_bytes(dtype, count)];
            let value = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) & dtype.mask();
            for i in (0..count).rev() {
                store(dtype, &mut bytes, i, u64::MAX);
            }
            for i in 0..count {
                store(dtype, &mut bytes, i, value(i));
            }
            for i in 0..count {
                assert_eq!(load(dtype, &bytes, i), value(i), "{dtype} {i}");
            }
        }
    }

    #[test]
    fn the_first_of_a_byte_is_lowest() {
        let mut bytes = [0u8; 2];
        store(DType::U4, &mut bytes, 0, 0x3);
        store(DType::U4, &mut bytes, 1, 0xa);
        store(DType::U1, &mut bytes, 9, 1);
        assert_eq!(bytes, [0xa3, 0x02]);
        assert_eq!(packed_bytes(DType::U4, 3), 2);
        assert_eq!(packed_bytes(DType::F16, 3), 6);
    }
}
