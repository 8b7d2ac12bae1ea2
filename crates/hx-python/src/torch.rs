//! Reads PyTorch's tensors and streams: through PyTorch's table of C functions where it has one, else through Python attributes.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hx_dtype::DType;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::exchange::{Exchange, Seen};

/// Objects of the module `torch`, looked up once because every launch needs them.
#[derive(Debug)]
pub(crate) struct Torch {
    tensor: Py<PyType>,
    parameter: Py<PyAny>,
    /// The class of tensors without elements with which PyTorch traces programs; `None` if this version has none.
    fake: Option<Py<PyAny>>,
    dtypes: Vec<(Py<PyAny>, DType)>,
    /// The types whose element is two of ours, in one byte.
    pairs: Vec<(Py<PyAny>, DType)>,
    stream: Option<Py<PyAny>>,
    exchange: Option<Exchange>,
}

static TORCH: OnceLock<Torch> = OnceLock::new();

impl Torch {
    /// Returns PyTorch if the program has imported it; `None` otherwise. Never imports it.
    pub(crate) fn loaded(py: Python<'_>) -> PyResult<Option<&'static Torch>> {
        if let Some(torch) = TORCH.get() {
            return Ok(Some(torch));
        }
        let modules = py.import("sys")?.getattr("modules")?;
        let torch = modules.call_method1("get", ("torch",))?;
        if torch.is_none() {
            return Ok(None);
        }
        // `torch.nn` is missing while the program is importing PyTorch: try again at the next call.
        let Ok(parameter) = torch.getattr("nn").and_then(|nn| nn.getattr("Parameter")) else {
            return Ok(None);
        };
        let stream = torch.getattr("_C").and_then(|c| c.getattr("_cuda_getCurrentRawStream")).ok();
        let fake = py.import("torch._subclasses.fake_tensor").and_then(|module| module.getattr("FakeTensor"));
        let table = |name: &str| -> PyResult<Vec<(Py<PyAny>, DType)>> {
            let names: BTreeMap<String, String> = py.import("hx._dtypes")?.getattr(name)?.extract()?;
            let known = names.iter().filter_map(|(theirs, name)| {
                Some((torch.getattr(theirs.as_str()).ok()?.unbind(), DType::parse(name)?))
            });
            Ok(known.collect())
        };
        let found = Torch {
            tensor: torch.getattr("Tensor")?.cast_into::<PyType>()?.unbind(),
            parameter: parameter.unbind(),
            fake: fake.ok().map(Bound::unbind),
            dtypes: table("NAMES")?,
            pairs: table("PAIRS")?,
            stream: stream.map(Bound::unbind),
            exchange: Exchange::of(&torch.getattr("Tensor")?),
        };
        Ok(Some(TORCH.get_or_init(|| found)))
    }

    /// Reports whether an object is a tensor.
    pub(crate) fn is_tensor(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        if self.is_plain(object) {
            return Ok(true);
        }
        object.is_instance(self.tensor.bind(object.py()))
    }

    /// Reports whether a tensor has a shape but no elements, as in a trace of PyTorch.
    pub(crate) fn is_fake(&self, tensor: &Bound<'_, PyAny>) -> PyResult<bool> {
        if self.is_plain(tensor) {
            return Ok(false);
        }
        let py = tensor.py();
        self.fake.as_ref().map_or(Ok(false), |fake| tensor.is_instance(fake.bind(py)))
    }

    /// Returns the element type for one of PyTorch's; `None` if hx does not have it.
    pub(crate) fn dtype(&self, dtype: &Bound<'_, PyAny>) -> Option<DType> {
        of(&self.dtypes, dtype)
    }

    /// Returns the element type for one of PyTorch's whose element is two of it, in one byte; `None` for others.
    pub(crate) fn pair(&self, dtype: &Bound<'_, PyAny>) -> Option<DType> {
        of(&self.pairs, dtype)
    }

    /// Returns the handle of the current stream of a device; 0, the default stream, if PyTorch has no CUDA.
    pub(crate) fn stream(&self, py: Python<'_>, device: u32) -> PyResult<u64> {
        match (&self.exchange, &self.stream) {
            (Some(exchange), _) => exchange.stream(py, device),
            (None, Some(stream)) => stream.bind(py).call1((device,))?.extract(),
            (None, None) => Ok(0),
        }
    }

    /// Reads a tensor on a CUDA device with one C call; `None` without PyTorch's table, or for tensors that it cannot describe.
    pub(crate) fn seen<R>(
        &self,
        tensor: &Bound<'_, PyAny>,
        use_it: impl FnOnce(Seen<'_>) -> R,
    ) -> PyResult<Option<R>> {
        match &self.exchange {
            Some(exchange) if self.is_plain(tensor) => exchange.read(tensor, use_it),
            _ => Ok(None),
        }
    }

    /// Reports whether the class of a tensor is exactly `torch.Tensor` or `torch.nn.Parameter`, whose objects always have memory.
    pub(crate) fn is_plain(&self, tensor: &Bound<'_, PyAny>) -> bool {
        let class = tensor.get_type();
        let class = class.as_any().as_ptr();
        class == self.tensor.as_ptr() || class == self.parameter.as_ptr()
    }
}

fn of(table: &[(Py<PyAny>, DType)], dtype: &Bound<'_, PyAny>) -> Option<DType> {
    table.iter().find(|(known, _)| known.as_ptr() == dtype.as_ptr()).map(|(_, dtype)| *dtype)
}

/// Returns the number of a tensor's device; negative on the host.
pub(crate) fn device(tensor: &Bound<'_, PyAny>) -> PyResult<i64> {
    tensor.call_method0(intern!(tensor.py(), "get_device"))?.extract()
}

/// Returns the address of a tensor's first element.
pub(crate) fn address(tensor: &Bound<'_, PyAny>) -> PyResult<u64> {
    tensor.call_method0(intern!(tensor.py(), "data_ptr"))?.extract()
}

/// Returns the shape of a tensor, and its strides in elements.
pub(crate) fn extents<'py>(
    tensor: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyTuple>)> {
    let py = tensor.py();
    let shape = tensor.getattr(intern!(py, "shape"))?.cast_into::<PyTuple>()?;
    let strides = tensor.call_method0(intern!(py, "stride"))?.cast_into::<PyTuple>()?;
    Ok((shape, strides))
}

/// Returns PyTorch's object for the element type of a tensor.
pub(crate) fn dtype<'py>(tensor: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    tensor.getattr(intern!(tensor.py(), "dtype"))
}
