//! Maps coordinates of a tensor in global memory to offsets: by strides, or by a block with a layout of its own.

use hx_index::{Expr, Facts};

use crate::TensorParam;

impl TensorParam {
    /// Returns the offset of the element at a coordinate, in elements from the first.
    pub fn offset(&self, at: &[Expr], facts: &Facts) -> Expr {
        let Some(block) = &self.block else {
            return at.iter().zip(&self.stride).fold(Expr::default(), |sum, (c, s)| sum + c * s);
        };
        let (mut inside, mut number) = (Expr::default(), Expr::default());
        for ((mode, coordinate), extent) in block.modes().iter().zip(at).zip(&self.shape) {
            let size = Expr::constant(mode.size());
            number = &number * &extent.div(&size, facts) + coordinate.div(&size, facts);
            let within = coordinate.rem(&size, facts);
            let mut unit = 1;
            for (extent, stride) in mode.leaves() {
                let digit = within.div(&Expr::constant(unit), facts).rem(&Expr::constant(*extent), facts);
                inside = inside + digit.scale(*stride);
                unit *= extent;
            }
        }
        inside + number.scale(block.size())
    }
}

#[cfg(test)]
mod tests {
    use hx_dtype::DType;

    use super::*;

    #[test]
    fn blocks_follow_each_other_in_row_major_order() {
        let param = TensorParam {
            name: "w".into(),
            dtype: DType::U4,
            mutable: false,
            shape: [8, 12].map(Expr::constant).to_vec(),
            stride: [12, 1].map(Expr::constant).to_vec(),
            block: Some("(4,(2,3)):(2,(1,8))".parse().expect("a layout")),
            align: 16,
        };
        let mut seen = [false; 96];
        for row in 0..8 {
            for col in 0..12 {
                let at = [row, col].map(Expr::constant);
                let offset = param.offset(&at, &Facts::default()).as_const().expect("a number");
                let within = row % 4 * 2 + col % 6 % 2 + col % 6 / 2 * 8;
                assert_eq!(offset, within + 24 * (row / 4 * 2 + col / 6), "({row}, {col})");
                assert!(!std::mem::replace(&mut seen[offset as usize], true));
            }
        }
    }
}
