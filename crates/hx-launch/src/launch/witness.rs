//! Simulates one launch of an evaluation with a record of its accesses, and of the values that led to its first wrong element.

mod source;

use std::collections::{BTreeMap, HashMap};

use hx_compile::{Instance, solved, thread_program};
use hx_host::HostError;
use hx_host::Tensor;
use hx_host::device::LaunchError;
use hx_host::eval::Suspect;
use hx_index::Symbol;
use hx_sim::{Argument, Config, Follow, Witness, Wrote};
use hx_thread::ThreadProgram;

use super::instance::Checked;
use super::simulate::{arguments, room};
use super::{Bound, BoundParam, BoundTensor, Launcher, stopped_at};
pub use source::{Source, stored_tensor};

/// The record of the watched launch.
pub struct Seen<'a> {
    pub instance: Instance<'a>,
    /// The position of the watched parameter.
    pub param: usize,
    pub witness: Witness,
    /// The memory of the watched parameter after the launch.
    pub bytes: Vec<u8>,
    /// For each element of the compared tensor, in row-major order, its position in the parameter's memory; `None` if the
    /// argument does not have it.
    pub positions: Vec<Option<usize>>,
    /// The first wrong element, a position in `positions`.
    pub first: usize,
    /// The dimensions, strides and integer arguments of the launch.
    pub symbols: BTreeMap<Symbol, i64>,
    /// The coordinates of the first wrong element in the argument.
    pub coordinate: Vec<i64>,
    /// The followed values, in the order of [`hx_sim::Change::value`].
    pub sources: Vec<Source>,
}

impl std::fmt::Debug for Seen<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Seen").field("param", &self.param).field("first", &self.first).finish_non_exhaustive()
    }
}

impl Seen<'_> {
    /// Returns the last write to an element of the compared tensor, given by its position in `positions`; `None` if nothing
    /// wrote it, or the argument does not have it.
    pub fn write(&self, element: usize) -> Option<Wrote> {
        *self.witness.writes.get(self.positions[element]?)?
    }
}

/// Returns the positions of the elements of a view in the memory of an argument. The view must be of a tensor with the argument's
/// strides, such as the argument in another run of the same evaluation.
fn positions(argument: &BoundTensor, view: &Tensor) -> Vec<Option<usize>> {
    let start = argument.tensor.span().start;
    let position =
        |(packed, offset): (usize, usize)| (offset, if argument.strided { offset - start } else { packed });
    let offsets = argument.tensor.element_offsets();
    let held: HashMap<usize, usize> = offsets.into_iter().enumerate().map(position).collect();
    view.element_offsets().iter().map(|offset| held.get(offset).copied()).collect()
}

impl<'a> Launcher<'a> {
    /// Returns the launcher with a launch to watch. That launch runs on the simulator and ends the evaluation.
    #[must_use]
    pub fn watching(self, suspect: &'a Suspect) -> Launcher<'a> {
        Launcher { watch: Some(suspect), ..self }
    }

    /// Takes the record of the watched launch; `None` if it did not run.
    pub fn seen(&mut self) -> Option<Seen<'a>> {
        self.seen.take()
    }

    /// Simulates the watched launch. Returns the error that ends the evaluation.
    pub(super) fn watched(
        &mut self,
        checked: Checked<'a>,
        bound: &Bound,
        (param, suspect): (Option<usize>, &Suspect),
    ) -> LaunchError {
        let watched = param.and_then(|param| Some((param, bound.params.get(param)?)));
        let Some((param, BoundParam::Tensor(argument))) = watched else {
            return LaunchError::call(HostError::stopped());
        };
        match self.record(checked, bound, (param, argument, suspect)) {
            Ok(seen) => {
                self.seen = seen;
                LaunchError::call(HostError::stopped())
            }
            Err(error) => error,
        }
    }

    /// Simulates the launch to learn who wrote what. If a thread wrote the first wrong element, simulates it again to follow the
    /// values that led to the element.
    fn record(
        &self,
        checked: Checked<'a>,
        bound: &Bound,
        (param, argument, suspect): (usize, &BoundTensor, &Suspect),
    ) -> Result<Option<Seen<'a>>, LaunchError> {
        let (db, instance) = (self.db, checked.get());
        let program = thread_program(db, instance).as_ref().map_err(|stop| stopped_at(db, instance, stop))?;
        let Some(first) = suspect.wrong.iter().position(|wrong| *wrong) else { return Ok(None) };
        let (Some(witness), bytes) = self.traced(instance, program, bound, (param, None))? else {
            return Ok(None);
        };
        let positions = positions(argument, &suspect.tensor);
        let coordinate = positions[first].and_then(|at| witness.coordinate(at as i64));
        let coordinate = coordinate.unwrap_or_default();
        let (symbols, sources) = (bound.symbols.clone(), Vec::new());
        let mut seen =
            Seen { instance, param, witness, bytes, positions, first, symbols, coordinate, sources };
        if let (Some(wrote), Ok(solved)) = (seen.write(first), solved(db, instance)) {
            let programs = (&*solved.program, &solved.solution, program);
            seen.sources = source::sources(programs, &seen.witness, wrote, (param, &seen.coordinate));
            let values = seen.sources.iter().map(|source| source.held).collect();
            let element = seen.positions[first].unwrap_or_default() as i64;
            let follow = Follow { block: wrote.block, element, values };
            if let (Some(witness), _) = self.traced(instance, program, bound, (param, Some(&follow)))? {
                seen.witness = witness;
            }
        }
        Ok(Some(seen))
    }

    /// Simulates the launch with a record. Returns the record, and the memory of the watched parameter. The arguments stay as they
    /// are.
    fn traced(
        &self,
        instance: Instance<'a>,
        program: &ThreadProgram,
        bound: &Bound,
        (param, follow): (usize, Option<&Follow>),
    ) -> Result<(Option<Witness>, Vec<u8>), LaunchError> {
        let mut arguments = arguments(bound)?;
        let until = self.until;
        let cancel = move || until.is_reached();
        let (room, seed) = (room(self.db, instance), self.order);
        let config = Config { cancel: &cancel, seed, room, watch: Some(param), follow, ..Config::default() };
        let report = hx_sim::run(program, &bound.symbols, &mut arguments, &config)
            .map_err(|error| self.fault(instance, &error))?;
        let bytes = match arguments.into_iter().nth(param) {
            Some(Argument::Tensor { bytes, .. }) => bytes,
            _ => Vec::new(),
        };
        Ok((report.witness.map(|witness| *witness), bytes))
    }
}
