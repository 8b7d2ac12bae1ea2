//! The tensors of a recorded launch by name, and the memory of their elements.

use hx_dtype::DType;
use hx_sim::{Fault, Memory};
use hx_thread::Param;
use hx_tile::TensorId;

use super::{Place, Stepper};

/// The memory of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Home {
    /// The position of the parameter.
    Global(usize),
    Shared(TensorId),
    /// The tensor, and the position of its array.
    Register(TensorId, usize),
}

/// A tensor that the agent in focus can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Named {
    pub name: String,
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub(super) home: Home,
}

impl Named {
    /// Returns the word for the tensor's memory.
    pub fn memory(&self) -> &'static str {
        match self.home {
            Home::Global(_) => "global",
            Home::Shared(_) => "shared",
            Home::Register(..) => "register",
        }
    }
}

impl Stepper<'_> {
    /// Returns the tensors that the agent in focus can name: those in registers, in shared and in global memory. If several tensors
    /// have the same name and memory, the last one with values is returned.
    pub fn tensors(&self) -> Vec<Named> {
        let focus = self.focus();
        let mut out: Vec<Named> = Vec::new();
        let mut add = |named: Named, has_values: bool| match out
            .iter_mut()
            .find(|other| other.name == named.name && other.memory() == named.memory())
        {
            Some(other) if has_values => *other = named,
            Some(_) => {}
            None => out.push(named),
        };
        for (at, array) in self.program.registers.iter().enumerate() {
            let Some(tensor) = array.tensor.filter(|tensor| self.solution.registers.contains_key(tensor))
            else {
                continue;
            };
            let Some(file) = self.playback.registers(focus.id, at) else { continue };
            let shape = self.tile.tensor(tensor).shape.clone();
            let (name, home) = (self.tile.tensor(tensor).name.clone(), Home::Register(tensor, at));
            let has_values = file.value(focus.threads[0], 0).is_some();
            add(Named { name, dtype: array.dtype, shape, home }, has_values);
        }
        for tensor in self.solution.shared.keys() {
            let of = self.tile.tensor(*tensor);
            let (name, shape, home) = (of.name.clone(), of.shape.clone(), Home::Shared(*tensor));
            add(Named { name, dtype: of.dtype, shape, home }, true);
        }
        for (at, param) in self.program.params.iter().enumerate() {
            if let (Param::Tensor(param), Some((shape, _))) = (param, self.prepared.dims(at)) {
                let (name, shape, home) = (param.name.clone(), shape.to_vec(), Home::Global(at));
                add(Named { name, dtype: param.dtype, shape, home }, true);
            }
        }
        out
    }

    /// Returns the memory of the element at an offset in a tensor parameter, in elements. `None` if the parameter is no tensor
    /// or the offset is negative.
    pub(super) fn global_place(&self, param: usize, element: i64) -> Option<Place> {
        let Some(Param::Tensor(tensor)) = self.program.params.get(param) else { return None };
        let (bits, element) = (tensor.dtype.bits() as usize, usize::try_from(element).ok()?);
        let range = element * bits / 8..((element + 1) * bits).div_ceil(8);
        Some(Place { memory: Memory::Global(param), range, thread: None })
    }

    /// Returns the element that the fault names: the tensor's name and the coordinate. The fault names an element of a shared
    /// tensor by its position in memory, from which the coordinate is computed. `None` if there is no fault or it names no
    /// element.
    pub fn fault_element(&self) -> Option<(String, Vec<i64>)> {
        let (name, element) = match &self.playback.outcome()?.fault {
            Fault::SharedRace { tensor, element, .. }
            | Fault::UninitializedShared { tensor, element, .. }
            | Fault::CopyInFlight { tensor, element, .. }
            | Fault::StoreInFlight { tensor, element, .. }
            | Fault::OperandInFlight { tensor, element, .. } => (tensor, usize::try_from(*element).ok()?),
            Fault::GlobalRace { tensor, coord, .. }
            | Fault::SourceInFlight { tensor, coord, .. }
            | Fault::DestinationInFlight { tensor, coord, .. }
            | Fault::OutOfBounds { tensor, coord, .. } => return Some((tensor.clone(), coord.clone()?)),
            _ => return None,
        };
        let fits = |tensor: &&TensorId| self.tile.tensor(**tensor).name == *name;
        let tensor = *self.solution.shared.keys().rfind(fits)?;
        let coordinate = self.coordinate_of(tensor, element)?;
        Some((name.clone(), coordinate))
    }

    /// Returns the memory of an element. For a register tensor, this is the copy of the thread in focus if that thread holds the
    /// element, otherwise the copy of the first thread that does. `None` if the coordinate is outside of the tensor.
    pub fn place(&self, named: &Named, coordinate: &[i64]) -> Option<Place> {
        let is_inside = coordinate.len() == named.shape.len()
            && coordinate.iter().zip(&named.shape).all(|(at, extent)| (0..*extent).contains(at));
        if !is_inside {
            return None;
        }
        match named.home {
            Home::Global(param) => {
                let (_, strides) = self.prepared.dims(param)?;
                self.global_place(param, coordinate.iter().zip(strides).map(|(at, stride)| at * stride).sum())
            }
            Home::Shared(tensor) => {
                let range = self.shared_bytes(tensor, coordinate)?;
                Some(Place { memory: Memory::Shared, range, thread: None })
            }
            Home::Register(tensor, array) => {
                let (thread, value) = self.holder(tensor, coordinate)?;
                Some(Place { memory: Memory::Register(array), range: value..value + 1, thread: Some(thread) })
            }
        }
    }
}
