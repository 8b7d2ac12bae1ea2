//! The functions of a launcher: their names, and their parameters in C.

use hx_codegen::LaunchParam;
use hx_dtype::DType;
use hx_index::Symbol;

use crate::{BuiltKernel, LauncherRequest, parameter, prefix, word};

/// The function that launches a kernel.
pub(super) struct Function<'a> {
    pub(super) kernel: &'a BuiltKernel,
    pub(super) name: String,
    /// The name in C of each of the kernel's own parameters, in the order of [`hx_codegen::LaunchDescription::params`].
    pub(super) own: Vec<Own<'a>>,
    /// The name in C of each of [`BuiltKernel::dims`].
    pub(super) dims: Vec<String>,
    /// The name of the log, if the kernel has one, and its least bytes.
    pub(super) log: Option<(String, u64)>,
}

/// A parameter of the kernel that a launch passes.
pub(super) struct Own<'a> {
    pub(super) name: String,
    pub(super) param: &'a LaunchParam,
}

impl Own<'_> {
    /// Returns the parameter as a function in C declares it.
    pub(super) fn declared(&self) -> String {
        let name = &self.name;
        match self.param {
            LaunchParam::Tensor(tensor) if tensor.mutable => format!("void *{name}"),
            LaunchParam::Tensor(_) => format!("const void *{name}"),
            LaunchParam::Scalar { dtype, .. } => format!("{} {name}", scalar(*dtype).unwrap_or_default()),
            LaunchParam::Symbol(_) | LaunchParam::TensorMap(_) | LaunchParam::Log { .. } => String::new(),
        }
    }
}

/// Chooses the names of all functions and parameters.
pub(super) fn functions<'a>(request: &LauncherRequest<'a>) -> Result<Vec<Function<'a>>, String> {
    let prefix = prefix(request.stem);
    let mut names = vec![format!("{prefix}_error"), format!("{prefix}_load")];
    names.extend(request.front.map(|_| prefix.clone()));
    let mut out = Vec::new();
    for kernel in request.kernels {
        let name = match request.kernels.len() {
            1 if request.front.is_none() => prefix.clone(),
            _ => format!("{prefix}_{}", word(&kernel.name)),
        };
        if names.contains(&name) {
            let kernel = &kernel.name;
            return Err(format!(
                "the function of `{kernel}` cannot be called `{name}`, which is another one"
            ));
        }
        names.push(name.clone());
        out.push(function(kernel, name)?);
    }
    Ok(out)
}

fn function(kernel: &BuiltKernel, name: String) -> Result<Function<'_>, String> {
    let mut taken = Vec::new();
    let mut chosen = |wanted: &str| {
        let name = parameter(wanted, &taken);
        taken.push(name.clone());
        name
    };
    let mut own = Vec::new();
    let mut log = None;
    for param in &kernel.launch.params {
        match param {
            LaunchParam::Tensor(tensor) => own.push(Own { name: chosen(&tensor.name), param }),
            LaunchParam::Scalar { name, dtype } => {
                if scalar(*dtype).is_none() {
                    let kernel = &kernel.name;
                    return Err(format!("C has no type for `{name}: {dtype}` of the kernel `{kernel}`"));
                }
                own.push(Own { name: chosen(name), param });
            }
            LaunchParam::Log { bytes } => log = Some(("log".to_owned(), *bytes)),
            LaunchParam::Symbol(Symbol::Dim(_) | Symbol::Multiprocessors) | LaunchParam::TensorMap(_) => {}
            LaunchParam::Symbol(other) => {
                return Err(format!("the kernel `{}` takes `{other}`, which no launch knows", kernel.name));
            }
        }
    }
    let dims = kernel.dims.iter().map(|dim| chosen(&dim.name)).collect();
    Ok(Function { kernel, name, own, dims, log })
}

impl Function<'_> {
    /// Returns the parameters of the function in C: the kernel's own, the dimensions, the log if there is one, and the stream.
    pub(super) fn parameters(&self) -> Vec<String> {
        let own = self.own.iter().map(Own::declared);
        let dims = self.dims.iter().map(|name| format!("int64_t {name}"));
        let log = self.log.iter().map(|(name, _)| format!("void *{name}"));
        own.chain(dims).chain(log).chain(["void *stream".to_owned()]).collect()
    }

    /// Returns the parameter of a tensor's pointer, with its name in C; `None` if the kernel has no such tensor.
    pub(super) fn pointer(&self, tensor: &str) -> Option<&Own<'_>> {
        self.own.iter().find(|own| matches!(own.param, LaunchParam::Tensor(t) if t.name == tensor))
    }
}

/// Returns the type in C that has the bytes of a number; `None` for types whose unused bits must be 0.
pub(super) fn scalar(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Bool => "bool",
        DType::I8 => "int8_t",
        DType::I16 => "int16_t",
        DType::I32 => "int32_t",
        DType::I64 => "int64_t",
        DType::U8 | DType::F8E4m3 | DType::F8E5m2 | DType::F8E8m0 => "uint8_t",
        DType::U16 | DType::F16 | DType::Bf16 => "uint16_t",
        DType::U32 => "uint32_t",
        DType::U64 => "uint64_t",
        DType::F32 => "float",
        DType::F64 => "double",
        // Numbers of fewer than 8 bits and of `tf32` have bits that must be 0, which C does not make so.
        DType::Tf32
        | DType::I1
        | DType::I2
        | DType::I4
        | DType::U1
        | DType::U2
        | DType::U4
        | DType::F4E2m1 => return None,
    })
}
