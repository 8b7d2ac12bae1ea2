//! Arguments of Python as arguments of a launch: tensors by address, shape and strides, and numbers.

use std::cell::OnceCell;

use hx_base::codes;
use hx_dtype::DType;
use hx_host::HostError;
use hx_launch::{Given, Region};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};

use crate::errors::{Class, Problem};
use crate::torch::{self, Torch};

/// The largest number of dimensions of a tensor.
const MOST_DIMS: usize = 8;
/// The device numbers with which `hx._arrays.describe` marks a tensor without elements, and a number.
const FAKE: i64 = -2;
const NUMBER: i64 = -3;

/// The extents or the strides of a tensor, in elements.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dims {
    count: usize,
    values: [i64; MOST_DIMS],
}

impl Dims {
    /// Copies a list; `None` if it has more than [`MOST_DIMS`] numbers.
    fn of_slice(values: &[i64]) -> Option<Dims> {
        let mut dims = Dims { count: values.len(), ..Dims::default() };
        dims.values.get_mut(..values.len())?.copy_from_slice(values);
        Some(dims)
    }

    fn of(values: &Bound<'_, PyTuple>) -> PyResult<Dims> {
        let mut dims = Dims { count: values.len(), ..Dims::default() };
        if dims.count > MOST_DIMS {
            let text = format!("found a tensor of {} dimensions, expected at most {MOST_DIMS}", dims.count);
            return Err(Problem::new(Class::Launch, &codes::LAUNCH_RANK, text).raise(values.py()));
        }
        for (slot, value) in dims.values.iter_mut().zip(values.iter()) {
            *slot = value.extract()?;
        }
        Ok(dims)
    }

    /// Returns the numbers, one for each dimension.
    pub(crate) fn as_slice(&self) -> &[i64] {
        &self.values[..self.count]
    }
}

/// The place and form of a tensor's elements in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    /// The address of the first element.
    pub(crate) address: u64,
    pub(crate) dtype: DType,
    pub(crate) shape: Dims,
    /// The strides in elements.
    pub(crate) strides: Dims,
}

impl Memory {
    /// Returns the largest power of two, at most 16, by whose bytes the address is divisible.
    pub(crate) fn align(&self) -> u32 {
        1 << self.address.trailing_zeros().min(4)
    }

    /// Returns the region of memory that the tensor covers, for comparisons with other tensors.
    pub(crate) fn region(&self) -> Region<'_> {
        let (extents, strides) = (self.shape.as_slice(), self.strides.as_slice());
        Region { address: self.address, bits: self.dtype.bits(), extents, strides }
    }

    /// Reinterprets the elements as elements of another type. If its width differs, the last extent and the outer strides change.
    ///
    /// # Errors
    /// If the last dimension is not contiguous, or a row or stride is not a whole number of new elements.
    fn viewed(mut self, dtype: DType) -> Result<Memory, HostError> {
        let (from, to) = (i64::from(self.dtype.bits()), i64::from(dtype.bits()));
        self.dtype = dtype;
        if from == to {
            return Ok(self);
        }
        let refuse = |text: String| Err(HostError::new(&codes::LAUNCH_DTYPE, text));
        let Some(last) = self.shape.count.checked_sub(1) else {
            return refuse("a tensor without dimensions has no other width".to_owned());
        };
        if self.strides.values[last] != 1 || self.shape.values[last] * from % to != 0 {
            return refuse(format!("a row of {} elements is not a row of {dtype}", self.shape.values[last]));
        }
        self.shape.values[last] = self.shape.values[last] * from / to;
        for stride in &mut self.strides.values[..last] {
            if *stride * from % to != 0 {
                return refuse(format!("a stride of {stride} elements is not a stride of {dtype}"));
            }
            *stride = *stride * from / to;
        }
        Ok(self)
    }
}

/// The facts about memory on a GPU that only the protocols of other libraries have.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Protocol {
    pub(crate) is_read_only: bool,
    /// The stream on which the elements were written, if the launch must wait for it.
    pub(crate) produced_on: Option<u64>,
}

/// The parts of a call that the reading of its arguments needs.
pub(crate) struct Reader<'a, 'py> {
    pub(crate) torch: Option<&'a Torch>,
    /// All arguments of the call.
    all: Option<(&'a Bound<'py, PyTuple>, Option<&'a Bound<'py, PyDict>>)>,
    /// The stream that the call names.
    stream: Option<u64>,
    /// The object that knows the stream of a launch on arrays of libraries other than PyTorch, once it was needed.
    launch_stream: OnceCell<Bound<'py, PyAny>>,
}

impl<'a, 'py> Reader<'a, 'py> {
    /// Makes a reader of an array without a launch.
    pub(crate) fn of_array(torch: Option<&'a Torch>) -> Reader<'a, 'py> {
        Reader { torch, all: None, stream: None, launch_stream: OnceCell::new() }
    }

    /// Makes a reader of the arguments of a call.
    pub(crate) fn of_call(
        torch: Option<&'a Torch>,
        args: &'a Bound<'py, PyTuple>,
        kwargs: Option<&'a Bound<'py, PyDict>>,
        stream: Option<u64>,
    ) -> Reader<'a, 'py> {
        Reader { torch, all: Some((args, kwargs)), stream, launch_stream: OnceCell::new() }
    }

    /// Returns the stream of the launch: the one that the call names, or the one that an argument of another library has decided.
    pub(crate) fn stream(&self) -> PyResult<Option<u64>> {
        match (self.stream, self.launch_stream.get()) {
            (None, Some(decided)) => decided.getattr(intern!(decided.py(), "chosen"))?.extract(),
            (stream, _) => Ok(stream),
        }
    }

    fn launch_stream(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if let Some(known) = self.launch_stream.get() {
            return Ok(known.clone());
        }
        let mut all: Vec<Bound<'py, PyAny>> = Vec::new();
        if let Some((args, kwargs)) = self.all {
            all.extend(args.iter());
            all.extend(kwargs.into_iter().flatten().map(|(_, value)| value));
        }
        let made = py.import("hx._arrays")?.getattr("LaunchStream")?.call1((all, self.stream))?;
        Ok(self.launch_stream.get_or_init(|| made).clone())
    }
}

/// A run-time argument.
#[derive(Debug)]
pub(crate) enum Argument<'py> {
    /// A tensor in the memory of a device.
    Device {
        device: u32,
        memory: Memory,
        protocol: Protocol,
    },
    /// An array in host memory, with the object that reads and writes its elements.
    Host {
        memory: Memory,
        array: Bound<'py, PyAny>,
    },
    /// A tensor without elements, as in a trace of PyTorch.
    Fake,
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Argument<'_> {
    /// Returns the memory of a tensor; `None` for numbers and tensors without elements.
    pub(crate) fn memory(&self) -> Option<&Memory> {
        match self {
            Argument::Device { memory, .. } | Argument::Host { memory, .. } => Some(memory),
            _ => None,
        }
    }

    /// Appends to `key` everything that the form of a launch depends on: kind, element type, rank, and on a device the alignment. Shapes,
    /// strides and numbers are those of [`Argument::given`]; a launch fills in addresses.
    pub(crate) fn identify(&self, key: &mut Vec<u64>) {
        let (kind, memory) = match self {
            Argument::Device { device, memory, .. } => {
                ((1 + (u64::from(*device) << 8)) | (u64::from(memory.align()) << 40), memory)
            }
            // The simulator has no alignments of its own.
            Argument::Host { memory, .. } => (2, memory),
            Argument::Fake => return key.push(3),
            Argument::Int(_) => return key.push(4),
            Argument::Float(_) => return key.push(5),
            Argument::Bool(_) => return key.push(6),
        };
        key.push(kind | (memory.dtype as u64) << 32 | (memory.shape.count as u64) << 48);
    }

    /// Returns the numbers of the argument.
    pub(crate) fn given(&self) -> Given<'_> {
        match self {
            Argument::Device { memory, .. } | Argument::Host { memory, .. } => {
                Given::Tensor { shape: memory.shape.as_slice(), strides: memory.strides.as_slice() }
            }
            Argument::Int(value) => Given::Number(*value),
            Argument::Bool(value) => Given::Number(i64::from(*value)),
            Argument::Fake | Argument::Float(_) => Given::Other,
        }
    }
}

/// Reads an argument. `which` names it in errors.
///
/// # Errors
/// An exception if the object is neither a tensor, an array nor a number, or no kernel can use its memory.
pub(crate) fn read<'py>(
    object: &Bound<'py, PyAny>,
    reader: &Reader<'_, 'py>,
    which: &dyn Fn() -> String,
) -> PyResult<Argument<'py>> {
    if let Some(torch) = reader.torch
        && torch.is_tensor(object)?
    {
        return tensor(object, torch, (reader, which));
    }
    if let Some(number) = number(object, which)? {
        return Ok(number);
    }
    if let Some(base) = object.getattr_opt(intern!(object.py(), "__hx_base__"))? {
        return viewed(object, &base, reader, which);
    }
    described(object, reader, which)
}

/// Reads a bool, an integer or a float; `None` for other objects.
fn number<'py>(object: &Bound<'py, PyAny>, which: &dyn Fn() -> String) -> PyResult<Option<Argument<'py>>> {
    if object.is_instance_of::<PyBool>() {
        return Ok(Some(Argument::Bool(object.extract()?)));
    }
    if object.is_instance_of::<PyInt>() {
        let value = object.extract().map_err(|_| {
            let text = format!("{} is {object}, an integer of a launch has 64 bits", which());
            Problem::new(Class::Launch, &codes::LAUNCH_DTYPE, text).raise(object.py())
        })?;
        return Ok(Some(Argument::Int(value)));
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(Some(Argument::Float(object.extract()?)));
    }
    Ok(None)
}

/// Reads `hx.view(x, "u4")`: the memory of another array, with elements of another type unless the view has none.
fn viewed<'py>(
    view: &Bound<'py, PyAny>,
    base: &Bound<'py, PyAny>,
    reader: &Reader<'_, 'py>,
    which: &dyn Fn() -> String,
) -> PyResult<Argument<'py>> {
    let py = view.py();
    let name: Option<String> = view.getattr(intern!(py, "dtype"))?.extract()?;
    let dtype = name.map(|name| parse(py, &name)).transpose()?;
    let changed = |memory: Memory| match dtype {
        Some(dtype) => seen_as(py, memory, dtype, which),
        None => Ok(memory),
    };
    Ok(match read(base, reader, which)? {
        Argument::Device { device, memory, protocol } => {
            Argument::Device { device, memory: changed(memory)?, protocol }
        }
        Argument::Host { memory, array } => Argument::Host { memory: changed(memory)?, array },
        other => other,
    })
}

/// Returns memory with elements of another type.
fn seen_as(py: Python<'_>, memory: Memory, dtype: DType, which: &dyn Fn() -> String) -> PyResult<Memory> {
    memory.viewed(dtype).map_err(|error| {
        let text = format!("{}: {}", which(), error.message);
        Problem::new(Class::Launch, error.code, text).raise(py)
    })
}

/// Returns the element type with this name, or an exception that lists all names.
pub(crate) fn parse(py: Python<'_>, name: &str) -> PyResult<DType> {
    DType::parse(name).ok_or_else(|| {
        let known: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.name()).collect();
        let text = format!("found the element type `{name}`, expected one of {}", known.join(", "));
        Problem::new(Class::Launch, &codes::LAUNCH_DTYPE, text).raise(py)
    })
}

fn tensor<'py>(
    object: &Bound<'py, PyAny>,
    torch: &Torch,
    (reader, which): (&Reader<'_, 'py>, &dyn Fn() -> String),
) -> PyResult<Argument<'py>> {
    let seen = torch.seen(object, |seen| {
        let (shape, strides) = (Dims::of_slice(seen.shape)?, Dims::of_slice(seen.strides)?);
        Some((seen.device, Memory { address: seen.address, dtype: seen.dtype, shape, strides }))
    })?;
    if let Some(Some((device, memory))) = seen {
        let memory = usable(object.py(), memory, which)?;
        return Ok(Argument::Device { device, memory, protocol: Protocol::default() });
    }
    if torch.is_fake(object)? {
        return Ok(Argument::Fake);
    }
    if !torch.is_plain(object) {
        // An object of a subclass may have no memory, or memory in another place than its attributes say.
        return described(object, reader, which);
    }
    let device = torch::device(object)?;
    let Ok(device) = u32::try_from(device) else { return described(object, reader, which) };
    let element = torch::dtype(object)?;
    let pair = torch.pair(&element);
    let held = pair.map(|_| DType::U8).or_else(|| torch.dtype(&element));
    let dtype = held.ok_or_else(|| unknown(&element, which))?;
    let address = torch::address(object)?;
    let (shape, strides) = torch::extents(object)?;
    let memory = Memory { address, dtype, shape: Dims::of(&shape)?, strides: Dims::of(&strides)? };
    let memory = match pair {
        Some(dtype) => seen_as(object.py(), memory, dtype, which)?,
        None => memory,
    };
    let memory = usable(object.py(), memory, which)?;
    Ok(Argument::Device { device, memory, protocol: Protocol::default() })
}

fn unknown(element: &Bound<'_, PyAny>, which: &dyn Fn() -> String) -> PyErr {
    let text = format!("{} has elements of type {element}, which has no counterpart in hx", which());
    let error = Problem::new(Class::Launch, &codes::LAUNCH_DTYPE, text);
    error.raise(element.py())
}

/// Returns the memory, or an exception if no kernel can use it: negative strides, no address, or an unaligned one.
fn usable(py: Python<'_>, memory: Memory, which: &dyn Fn() -> String) -> PyResult<Memory> {
    let is_empty = memory.shape.as_slice().contains(&0);
    let width = u64::from(memory.dtype.bits()).div_ceil(8);
    let refuse = |text: String| Err(Problem::new(Class::Launch, &codes::LAUNCH_MEMORY, text).raise(py));
    if memory.strides.as_slice().iter().any(|stride| *stride < 0) {
        return refuse(format!("{} has negative strides, which kernels cannot use: pass a copy", which()));
    }
    if memory.address == 0 && !is_empty {
        return refuse(format!("{} has no memory: its storage was freed or resized to 0", which()));
    }
    if !memory.address.is_multiple_of(width) {
        return refuse(format!(
            "{} starts at the address {:#x}, which is not a multiple of the {width} bytes of an element",
            which(),
            memory.address
        ));
    }
    Ok(memory)
}

/// Reads an array of a library other than PyTorch, through the protocols that it supports.
fn described<'py>(
    object: &Bound<'py, PyAny>,
    reader: &Reader<'_, 'py>,
    which: &dyn Fn() -> String,
) -> PyResult<Argument<'py>> {
    let py = object.py();
    let found = py.import("hx._arrays")?.call_method1("describe", (object, reader.launch_stream(py)?))?;
    if found.is_none() {
        let class = object.get_type().name()?;
        let text = format!("{} is of the class {class}, expected a tensor, an array or a number", which());
        return Err(Problem::new(Class::Launch, &codes::LAUNCH_DTYPE, text).raise(py));
    }
    type Described<'py> = (i64, u64, String, Bound<'py, PyTuple>, Bound<'py, PyTuple>, Bound<'py, PyAny>);
    let (device, address, dtype, shape, strides, array): Described<'py> = found.extract()?;
    match device {
        FAKE => return Ok(Argument::Fake),
        NUMBER => {
            if let Some(number) = number(&array, which)? {
                return Ok(number);
            }
        }
        _ => {}
    }
    let Some(dtype) = DType::parse(&dtype) else {
        let text = format!("{} has elements of type {dtype}, which has no counterpart in hx", which());
        return Err(Problem::new(Class::Launch, &codes::LAUNCH_DTYPE, text).raise(py));
    };
    let memory = Memory { address, dtype, shape: Dims::of(&shape)?, strides: Dims::of(&strides)? };
    let memory = usable(py, memory, which)?;
    Ok(match u32::try_from(device) {
        Ok(device) => Argument::Device { device, memory, protocol: protocol(&array)? },
        Err(_) => Argument::Host { memory, array },
    })
}

/// Reads what a protocol says of the memory of a `DeviceArray`; nothing of `None`.
fn protocol(array: &Bound<'_, PyAny>) -> PyResult<Protocol> {
    if array.is_none() {
        return Ok(Protocol::default());
    }
    let py = array.py();
    Ok(Protocol {
        is_read_only: array.getattr(intern!(py, "read_only"))?.extract()?,
        produced_on: array.getattr(intern!(py, "produced_on"))?.extract()?,
    })
}
