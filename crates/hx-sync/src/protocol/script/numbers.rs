//! Numbers that data decide. A launch supplies the data: equal data are equal numbers in all groups that read them.

use hx_dtype::DType;
use hx_index::Symbol;
use hx_tile::{Scalar, TensorId};

use super::super::launch::{REGISTERS, level};
use super::super::program::{Identity, Number, Value};
use super::names::Name;
use super::unroll::Unroller;

impl Unroller<'_> {
    /// Returns a number, or `None` if the launch does not decide it.
    pub(super) fn number(&mut self, var: &Symbol, number: &Number) -> Option<i64> {
        match number {
            Number::Element { source, at, dtype, identity } => {
                let coordinates: Option<Vec<i64>> = at.iter().map(|e| self.value(e)).collect();
                let weight = match (identity, coordinates) {
                    (Identity::Data, Some(at)) => self.pattern.weight(&at),
                    (identity, at) => {
                        let name = at.iter().flatten().fold(Name::of(source), |n, c| n.and(*c as u64));
                        self.weight_of(name, *identity)
                    }
                };
                Some(bits(*dtype, self.level(source).checked_mul(weight)?))
            }
            Number::Register { tensor, dtype } => {
                let name = self.name_of(*tensor);
                let weight = self.weight_of(Name(name), Identity::Data);
                Some(bits(*dtype, self.level(REGISTERS).checked_mul(weight)?))
            }
            Number::Computed(scalar) => {
                let _ = var;
                let dtype = scalar.dtype();
                Some(local(dtype, self.scalar(scalar)?))
            }
        }
    }

    /// Gives a register tensor the name of its new data.
    pub(super) fn give(&mut self, value: &Value) {
        let mut name = Name::of(&value.kind);
        for input in &value.inputs {
            name = name.and(self.name_of(*input));
        }
        for part in &value.at {
            name = name.and(self.value(part).map_or(u64::MAX, |value| value as u64));
        }
        let name = self.identified(name, value.identity);
        self.data.insert(value.tensor, name.0);
    }

    fn name_of(&self, tensor: TensorId) -> u64 {
        self.data.get(&tensor).copied().unwrap_or(u64::from(tensor.0))
    }

    /// Distinguishes reads of one place that may give different data.
    fn identified(&mut self, name: Name, identity: Identity) -> Name {
        if identity == Identity::Data {
            return name;
        }
        let turn = self.turns.entry(name.0).or_default();
        *turn += 1;
        let name = name.and(*turn);
        match identity {
            Identity::Own => {
                let team = [self.block, self.team.first, self.team.groups];
                team.into_iter().fold(name, |name, part| name.and(u64::from(part)))
            }
            Identity::Data | Identity::Turn => name,
        }
    }

    fn weight_of(&mut self, name: Name, identity: Identity) -> i64 {
        let name = self.identified(name, identity);
        let index = self.names.index(name.0);
        self.pattern.weight(&[index])
    }

    fn level(&self, source: &str) -> i64 {
        self.values.get(&level(source)).copied().unwrap_or(1)
    }

    /// Evaluates an expression to bits of its type; `None` if it depends on a number that is not known.
    fn scalar(&self, scalar: &Scalar) -> Option<u64> {
        match scalar {
            Scalar::Integer { value, dtype } => Some(bits(*dtype, self.value(value)?) as u64),
            Scalar::Var { var, .. } => Some(self.symbol(var)? as u64),
            // Every parameter is 1: no number of rounds is expected to depend on its size or sign.
            Scalar::Param { dtype, .. } => Some(dtype.encode(1.0)),
            Scalar::Const { bits, .. } => Some(*bits),
            Scalar::Apply { operator, dtype, args } => {
                let args = args.iter().map(|arg| self.scalar(arg)).collect::<Option<Vec<_>>>()?;
                Some(operator.eval(*dtype, &args))
            }
            Scalar::Cast { to, arg } => {
                let (from, value) = (arg.dtype(), self.scalar(arg)?);
                if from.is_float() || to.is_float() {
                    Some(to.encode(from.decode(value)))
                } else {
                    Some(bits(*to, local(from, value)) as u64)
                }
            }
            Scalar::Bitcast { arg, .. } => self.scalar(arg),
            Scalar::Inlined(inlined) => self.scalar(inlined.meaning.as_ref()?),
            Scalar::Input { .. } | Scalar::Index { .. } => None,
        }
    }
}

/// Returns an integer as a local of a type: the integer that the type holds, or the bits of a floating-point number.
fn bits(dtype: DType, value: i64) -> i64 {
    if dtype.is_float() { dtype.encode(value as f64) as i64 } else { local(dtype, value as u64) }
}

/// Returns bits of a type as a local.
fn local(dtype: DType, bits: u64) -> i64 {
    if dtype == DType::Bool {
        (bits & 1) as i64
    } else if dtype.is_float() {
        bits as i64
    } else {
        let width = dtype.bits();
        let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        if dtype.is_signed() { dtype.sign_extend(bits & mask) } else { (bits & mask) as i64 }
    }
}
