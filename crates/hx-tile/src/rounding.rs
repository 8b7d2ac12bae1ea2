//! Values that are rounded to 16 bits or fewer before anything else is made of them. Their arithmetic may be as coarse as the rounding.

use std::collections::BTreeMap;

use hx_dtype::{DType, Operator};

use crate::{Map, Op, OpKind, Scalar, TensorId, TileProgram};

/// A type with this many bits or fewer keeps none of the bits that an approximation in f32 loses.
const COARSE: u32 = 16;

/// Follows the uses of tensors to the types to which they are rounded.
#[derive(Debug)]
pub struct Rounding<'p> {
    program: &'p TileProgram,
    /// The operations that read each tensor.
    readers: BTreeMap<TensorId, Vec<&'p Op>>,
    /// Reports whether errors of the operands may become those of the result: such an operator may stand between an approximation and the
    /// rounding.
    passes: fn(Operator, &[Scalar]) -> bool,
    found: BTreeMap<TensorId, Option<DType>>,
}

impl<'p> Rounding<'p> {
    pub fn new(program: &'p TileProgram, passes: fn(Operator, &[Scalar]) -> bool) -> Rounding<'p> {
        let mut readers: BTreeMap<TensorId, Vec<&'p Op>> = BTreeMap::new();
        for (op, _) in program.ops(1.0) {
            op.kind.read_registers().for_each(|tensor| readers.entry(tensor).or_default().push(op));
        }
        Rounding { program, readers, passes, found: BTreeMap::new() }
    }

    /// Returns the coarse type to which every element of a register tensor is rounded; `None` if some operation uses it as it is. Of
    /// several types it is the one with the most digits.
    pub fn of(&mut self, tensor: TensorId) -> Option<DType> {
        if let Some(known) = self.found.get(&tensor) {
            return *known;
        }
        let dtype = self.program.tensor(tensor).dtype;
        if coarse(dtype).is_some() || !dtype.is_float() {
            return coarse(dtype);
        }
        // A value that a loop carries from round to round meets itself here. It gathers errors before it is rounded.
        self.found.insert(tensor, None);
        let readers = self.readers.get(&tensor).cloned().unwrap_or_default();
        let mut finest: Option<DType> = None;
        for op in readers {
            let to = self.by(op, tensor)?;
            finest = Some(finest.map_or(to, |found| finer(found, to)));
        }
        self.found.insert(tensor, finest);
        finest
    }

    /// Returns the coarse type to which an operation rounds its use of a tensor; `None` if it uses the tensor as it is.
    fn by(&mut self, op: &'p Op, tensor: TensorId) -> Option<DType> {
        if let OpKind::Cast { dst, .. } = &op.kind {
            return coarse(self.program.tensor(*dst).dtype);
        }
        let OpKind::Map(map) = &op.kind else { return None };
        let end = self.of(map.dst);
        let mut uses: Vec<Option<DType>> = Vec::new();
        self.visit(&map.value, end, &mut |part, rounded| {
            if matches!(part, Scalar::Input { index, .. } if map.inputs[*index as usize] == tensor) {
                uses.push(rounded);
            }
        });
        uses.into_iter().collect::<Option<Vec<_>>>()?.into_iter().reduce(finer)
    }

    /// Calls `found` for each part of an expression, with the coarse type to which that part's value is rounded, if it is. The value of the whole
    /// expression is rounded to `rounded`.
    pub fn visit(
        &self,
        value: &Scalar,
        rounded: Option<DType>,
        found: &mut dyn FnMut(&Scalar, Option<DType>),
    ) {
        found(value, rounded);
        match value {
            Scalar::Bitcast { arg, .. } => self.visit(arg, None, found),
            // An instruction of the source may enlarge an error by any factor.
            Scalar::Inlined(inlined) => inlined.args.iter().for_each(|arg| self.visit(arg, None, found)),
            Scalar::Cast { to, arg } => self.visit(arg, coarse(*to), found),
            Scalar::Apply { args, .. } => {
                for (number, arg) in args.iter().enumerate() {
                    self.visit(arg, self.of_operand(value, number, rounded), found);
                }
            }
            Scalar::Input { .. }
            | Scalar::Index { .. }
            | Scalar::Integer { .. }
            | Scalar::Var { .. }
            | Scalar::Param { .. }
            | Scalar::Const { .. } => {}
        }
    }

    /// Returns the coarse type to which an operand of an operator is rounded. The operator's result is rounded to `rounded`.
    fn of_operand(&self, value: &Scalar, number: usize, rounded: Option<DType>) -> Option<DType> {
        let Scalar::Apply { operator, dtype, args } = value else { return None };
        let is_condition = *operator == Operator::Select && number == 0;
        coarse(*dtype).or(rounded).filter(|_| (self.passes)(*operator, args) && !is_condition)
    }

    /// Rewrites the operators of a map from the leaves to the root. `change` gets an operator with its type, its operands, and the coarse type to
    /// which its result is rounded, if it is.
    pub fn rewritten(
        &mut self,
        map: &Map,
        change: &mut dyn FnMut((Operator, DType), Vec<Scalar>, Option<DType>) -> Scalar,
    ) -> Scalar {
        let rounded = self.of(map.dst);
        self.rewrite(&map.value, rounded, change)
    }

    fn rewrite(
        &self,
        value: &Scalar,
        rounded: Option<DType>,
        change: &mut dyn FnMut((Operator, DType), Vec<Scalar>, Option<DType>) -> Scalar,
    ) -> Scalar {
        match value {
            Scalar::Bitcast { to, arg } => self.rewrite(arg, None, change).bitcast(*to),
            Scalar::Inlined(inlined) => {
                Scalar::Inlined(Box::new(inlined.map(&mut |part| self.rewrite(part, None, change))))
            }
            Scalar::Cast { to, arg } => self.rewrite(arg, coarse(*to), change).cast(*to),
            Scalar::Apply { operator, dtype, args } => {
                let mut operands = Vec::with_capacity(args.len());
                for (number, arg) in args.iter().enumerate() {
                    operands.push(self.rewrite(arg, self.of_operand(value, number, rounded), change));
                }
                change((*operator, *dtype), operands, coarse(*dtype).or(rounded))
            }
            leaf => leaf.clone(),
        }
    }
}

/// Returns a type of floating-point numbers to which rounding loses the bits that an approximation in f32 loses; `None` for others.
pub fn coarse(dtype: DType) -> Option<DType> {
    (dtype.is_float() && dtype.bits() <= COARSE).then_some(dtype)
}

/// Returns that of two types whose numbers have more digits.
fn finer(a: DType, b: DType) -> DType {
    let digits = |dtype: DType| dtype.float().map_or(0, |format| format.mantissa);
    if digits(b) > digits(a) { b } else { a }
}
