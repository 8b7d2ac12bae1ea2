//! The recipe of a launch: its checks, its grid and its parameters as expressions of the launch's numbers. Launches with the same instance
//! share one, and evaluate it without the text of the kernel.
//!
//! Invariant: a recipe has values only for numbers that a binding of the launch accepts too, and then the same values.

use hx_codegen::{LaunchDescription, LaunchParam};
use hx_dtype::DType;
use hx_index::{Cond, Expr, Symbol};
use hx_target::Target;
use hx_tile::{Param, TileProgram};

use super::form::{Given, LaunchForm, Read};

/// A parameter of a direct launch. `arg` is a position in the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DirectParam {
    /// The address of a tensor's first element.
    Tensor { arg: usize },
    /// A number of this type. Each launch writes its own: [`number_bytes`].
    Scalar { arg: usize, dtype: DType },
    /// The value of a parameter that is the same in every launch with these numbers.
    Value(Vec<u8>),
    /// The map of a tensor, which the driver encodes with the tensor's address.
    Map { arg: usize, map: hx_worker::TensorMap },
    /// The address of a buffer for prints and assertions with these contents.
    Log(Vec<u8>),
}

/// The values of a launch that depend on its numbers.
#[derive(Clone, PartialEq, Debug)]
pub struct Values {
    /// Number of blocks along x, y and z. If one is 0, nothing is to be launched.
    pub grid: [u32; 3],
    /// In the order of the kernel's parameters.
    pub params: Vec<DirectParam>,
}

/// The expressions of a launch.
#[derive(Clone, Debug)]
pub struct Recipe {
    target: Target,
    symbols: Vec<(Symbol, Source)>,
    /// The extents of tensors: argument, axis, and the value that the extent must have.
    extents: Vec<(usize, usize, Expr)>,
    requires: Vec<Cond>,
    /// The blocks along each axis as the header counts them, and the most that the device takes.
    blocks: Vec<(Expr, i64)>,
    grid: Vec<Expr>,
    params: Vec<Part>,
    /// Whether a value other than a parameter's own bytes depends on a whole number among the arguments.
    pub reads_numbers: bool,
    /// Whether the values hold for the launch that made the recipe only.
    is_fixed: bool,
}

/// The origin of a symbol's value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// A name of the form, by its position.
    Name(usize),
    /// A whole number, by the position of its argument.
    Argument(usize),
    Constant(i64),
}

#[derive(Clone, Debug)]
enum Part {
    Tensor { arg: usize },
    Scalar { arg: usize, dtype: DType },
    Symbol(Symbol),
    Map { arg: usize, map: hx_thread::TensorMap },
}

impl Recipe {
    /// Returns the recipe of launches of a program. `sources` has the position of the argument of each parameter.
    pub(super) fn new(
        form: &LaunchForm,
        (tile, description): (&TileProgram, &LaunchDescription),
        sources: &[usize],
        multiprocessors: u32,
    ) -> Recipe {
        let names =
            form.names.iter().enumerate().map(|(at, name)| (Symbol::Dim(name.clone()), Source::Name(at)));
        let mut symbols: Vec<(Symbol, Source)> = names.collect();
        symbols.push((Symbol::Multiprocessors, Source::Constant(i64::from(multiprocessors))));
        let (mut extents, mut params) = (Vec::new(), Vec::new());
        for (param, &source) in tile.params.iter().zip(sources) {
            match param {
                Param::Tensor(tensor) => {
                    let computed = tensor.shape.iter().enumerate();
                    extents.extend(computed.map(|(axis, expr)| (source, axis, expr.clone())));
                }
                Param::Int { name, .. } => {
                    symbols.push((Symbol::Scalar(name.as_str().into()), Source::Argument(source)));
                }
                Param::Float { .. } => {}
            }
        }
        let mut is_fixed = form.is_exact;
        for (position, param) in description.params.iter().enumerate() {
            match (param, sources.get(position)) {
                (LaunchParam::Tensor(_), Some(&arg)) => params.push(Part::Tensor { arg }),
                (LaunchParam::Scalar { dtype, .. }, Some(&arg)) => {
                    params.push(Part::Scalar { arg, dtype: *dtype })
                }
                (LaunchParam::Symbol(symbol), _) => params.push(Part::Symbol(symbol.clone())),
                (LaunchParam::TensorMap(map), _) if (map.param as usize) < sources.len() => {
                    params.push(Part::Map { arg: sources[map.param as usize], map: map.clone() });
                }
                // The contents of a log depend on the program.
                _ => is_fixed = true,
            }
        }
        let limits = tile.target.limits.grid;
        let mut recipe = Recipe {
            target: tile.target,
            symbols,
            extents,
            requires: tile.requires.iter().map(|requirement| requirement.cond.clone()).collect(),
            blocks: tile.grid.iter().zip(limits).map(|(axis, limit)| (axis.blocks.clone(), limit)).collect(),
            grid: description.grid.clone(),
            params,
            reads_numbers: is_fixed,
            is_fixed,
        };
        recipe.reads_numbers |= recipe.mentions_numbers();
        recipe
    }

    /// Makes the recipe one for a single launch, because it does not reproduce the values of that launch.
    pub(super) fn fix(&mut self) {
        (self.is_fixed, self.reads_numbers) = (true, true);
    }

    /// Reports whether the values hold for the launch that made the recipe only.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    fn mentions_numbers(&self) -> bool {
        let is_number = |symbol: &Symbol| matches!(symbol, Symbol::Scalar(_));
        let of_expr = |expr: &Expr| expr.symbols().iter().any(is_number);
        let maps = self
            .params
            .iter()
            .filter_map(|part| if let Part::Map { map, .. } = part { Some(map) } else { None });
        self.requires.iter().any(|cond| cond.symbols().iter().any(is_number))
            || self.extents.iter().any(|(_, _, expr)| of_expr(expr))
            || self.blocks.iter().any(|(expr, _)| of_expr(expr))
            || self.grid.iter().any(of_expr)
            || self.params.iter().any(|part| matches!(part, Part::Symbol(symbol) if is_number(symbol)))
            || maps.flat_map(|map| map.dims.iter().chain(&map.strides)).any(of_expr)
    }

    /// Computes the values of a launch from its numbers; `None` if a check fails, or the recipe does not know them.
    pub fn values(&self, given: &[Given<'_>], read: &Read) -> Option<Values> {
        if self.is_fixed {
            return None;
        }
        let value = |source: Source| match source {
            Source::Name(at) => read.dims.get(at).copied(),
            Source::Argument(arg) => match given.get(arg) {
                Some(Given::Number(value)) => Some(*value),
                _ => None,
            },
            Source::Constant(value) => Some(value),
        };
        let lookup = |symbol: &Symbol| {
            let known = self.symbols.iter().find(|(known, _)| known == symbol);
            known.and_then(|(_, source)| value(*source))
        };
        for (arg, axis, expr) in &self.extents {
            let Some(Given::Tensor { shape, .. }) = given.get(*arg) else { return None };
            if expr.eval(&lookup).ok()? != *shape.get(*axis)? {
                return None;
            }
        }
        let holds = self.requires.iter().all(|cond| cond.eval(&lookup) == Ok(true));
        let counts = |(blocks, limit): &(Expr, i64)| {
            blocks.eval(&lookup).is_ok_and(|blocks| (0..=*limit).contains(&blocks))
        };
        if !holds || !self.blocks.iter().all(counts) {
            return None;
        }
        let mut grid = [1u32; 3];
        for (slot, blocks) in grid.iter_mut().zip(&self.grid) {
            *slot = u32::try_from(blocks.eval(&lookup).ok()?).ok()?;
        }
        let params = self.params.iter().map(|part| self.param(part, &lookup));
        Some(Values { grid, params: params.collect::<Option<_>>()? })
    }

    fn param(&self, part: &Part, lookup: &dyn Fn(&Symbol) -> Option<i64>) -> Option<DirectParam> {
        Some(match part {
            Part::Tensor { arg } => DirectParam::Tensor { arg: *arg },
            Part::Scalar { arg, dtype } => DirectParam::Scalar { arg: *arg, dtype: *dtype },
            Part::Symbol(symbol) => {
                let value = i32::try_from(lookup(symbol)?).ok()?;
                DirectParam::Value(value.to_le_bytes().to_vec())
            }
            Part::Map { arg, map } => {
                let values = map.evaluated(|expr| expr.eval(lookup)).ok()?;
                self.target.rows().map.check(map, &values).ok()?;
                values.driver().ok()?;
                DirectParam::Map { arg: *arg, map: values }
            }
        })
    }
}

/// Returns the bytes of a whole number as a parameter of this type.
pub fn number_bytes(dtype: DType, value: i64) -> Vec<u8> {
    let bits =
        if dtype.is_float() { dtype.encode(value as f64) } else { hx_host::tensor::encode_int(dtype, value) };
    bits.to_le_bytes()[..hx_dtype::packed_bytes(dtype, 1)].to_vec()
}

/// Returns the bytes of a float as a parameter of this type.
pub fn float_bytes(dtype: DType, value: f64) -> Vec<u8> {
    dtype.encode(value).to_le_bytes()[..hx_dtype::packed_bytes(dtype, 1)].to_vec()
}
