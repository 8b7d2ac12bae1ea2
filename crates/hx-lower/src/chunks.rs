//! The chunks of a copy that moves in rounds: how large they are.

/// The chunks in which a copy moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunks {
    /// The extents of a chunk; the last chunk along a mode may have fewer.
    pub shape: Vec<i64>,
    /// The number of chunks.
    pub count: i64,
    /// The 32-bit registers of each thread that the whole tile takes.
    pub registers: i64,
}

/// Returns the extents of a chunk of at most `held` elements, or of one element if `held` is smaller. The chunk is whole
/// along the modes at the end of `order` and has extent 1 along those at its start. Along the mode in between, the chunk is
/// as long as fits. It is shorter by less than a quarter if that length divides the mode's extent, unless the mode is the
/// last, contiguous one.
pub(crate) fn cut(shape: &[i64], order: &[usize], held: i64) -> Vec<i64> {
    let mut chunk = shape.to_vec();
    let mut size: i64 = shape.iter().product();
    for (i, &mode) in order.iter().enumerate() {
        if size <= held {
            break;
        }
        size /= shape[mode];
        let most = (held / size).max(1);
        let is_last = i + 1 == order.len();
        let divisor = (most * 3 / 4 + 1..=most).rev().find(|n| shape[mode] % n == 0);
        // Along the contiguous mode, a chunk of whole vectors in every thread is better than a divisor.
        chunk[mode] = if is_last { most } else { divisor.unwrap_or(most) };
        size *= chunk[mode];
    }
    chunk
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn chunks_are_cut_along_the_slowest_modes() {
        assert_eq!(cut(&[256, 128], &[0, 1], 4096), [32, 128]);
        assert_eq!(cut(&[256, 128], &[1, 0], 4096), [256, 16]);
        assert_eq!(cut(&[70000], &[0], 4096), [4096]);
        assert_eq!(cut(&[100, 500], &[0, 1], 3072), [5, 500]);
        assert_eq!(cut(&[3, 7, 5000], &[0, 1, 2], 4096), [1, 1, 4096]);
        assert_eq!(cut(&[6, 7, 500], &[0, 1, 2], 4096), [1, 7, 500]);
    }
}
