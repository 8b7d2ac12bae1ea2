//! A hash that is the same on every machine and in every version.

/// Returns the FNV-1a hash of some bytes, in 64 bits.
pub fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, mix)
}
