//! The description of a launch, which the emitter returns with the text.

use std::collections::{BTreeMap, BTreeSet};

use hx_dtype::DType;
use hx_index::{Expr, Symbol};
use hx_tensor_map::Described;
use hx_thread::{LOG_WORD, Param, TensorMap, TensorParam, ThreadProgram, areas_word};
use hx_tile::{Origin, Requirement};
use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};

/// The text of a kernel and the description of its launch.
#[derive(Clone, PartialEq, Debug, serde::Serialize)]
pub struct CudaSource {
    /// CUDA C++17 without includes.
    pub text: String,
    /// Name of the kernel in the compiled code.
    pub symbol: String,
    pub launch: LaunchDescription,
    /// The names of the rows that the emitter wrote, and the opcodes of their PTX and of the PTX around it. Rows of operators
    /// have no name, so only their opcodes are listed.
    pub emitted: BTreeSet<String>,
    /// The functions of the source whose PTX the text contains, with the place of the PTX.
    #[serde(skip)]
    pub inlined: BTreeMap<String, Origin>,
}

/// The arguments, the sizes and the requirements of a launch.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchDescription {
    /// In the order of the kernel's arguments.
    pub params: Vec<LaunchParam>,
    /// Number of blocks along x, y and z; 1 for an axis that is missing.
    pub grid: Vec<Expr>,
    /// Number of blocks of a cluster along x, y and z; `[1, 1, 1]` without clusters.
    pub cluster: [u32; 3],
    /// Number of threads in a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory in a block.
    pub shared_bytes: u32,
    /// Whether the launch may start before the launches before it are complete: the kernel waits for them.
    pub waits_for_previous: bool,
    /// Conditions on the arguments.
    pub requires: Vec<Requirement>,
}

/// An argument of the kernel.
#[derive(Clone, PartialEq, Debug)]
pub enum LaunchParam {
    /// A pointer to device memory, aligned as the parameter requires.
    Tensor(TensorParam),
    /// A number of this type, passed by value.
    Scalar { name: String, dtype: DType },
    /// A dimension, a stride or the number of multiprocessors, passed by value as a signed 32-bit integer.
    Symbol(Symbol),
    /// A tensor map of 128 bytes, aligned to 64, passed by value: the driver encodes it for the pointer of the parameter that it names.
    TensorMap(TensorMap),
    /// The address of a buffer for prints and assertions; see [`hx_thread::LogPlan`]. A buffer of `bytes` zeros is the minimum:
    /// it has room for the counts and for no record.
    Log { bytes: u64 },
}

impl LaunchDescription {
    /// Describes the launch of a thread program. The parameters are in the order of the emitted kernel's signature.
    pub fn of(program: &ThreadProgram) -> LaunchDescription {
        let params = program.params.iter().map(|p| match p {
            Param::Tensor(t) => LaunchParam::Tensor(t.clone()),
            Param::Scalar { name, dtype } => LaunchParam::Scalar { name: name.clone(), dtype: *dtype },
        });
        let symbols = program.symbols.iter().cloned().map(LaunchParam::Symbol);
        let maps = program.maps.iter().filter_map(|map| match program.params.get(map.param as usize)? {
            Param::Tensor(_) => Some(LaunchParam::TensorMap(map.clone())),
            Param::Scalar { .. } => None,
        });
        let log = (!program.log.is_empty())
            .then(|| LaunchParam::Log { bytes: areas_word(&program.log) as u64 * LOG_WORD });
        LaunchDescription {
            params: params.chain(symbols).chain(maps).chain(log).collect(),
            grid: program.grid.clone(),
            cluster: program.cluster,
            threads: program.block_threads(),
            shared_bytes: program.shared_bytes,
            waits_for_previous: program.waits_for_previous(),
            requires: program.requires.clone(),
        }
    }
}

/// Serializes symbolic integers as text.
struct Texts<'a>(&'a [Expr]);

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.0.len()))?;
        for expr in self.0 {
            seq.serialize_element(&expr.to_string())?;
        }
        seq.end()
    }
}

/// The serialized form of a tensor map: a parameter with a `kind`.
#[derive(serde::Serialize)]
struct Tagged {
    kind: &'static str,
    #[serde(flatten)]
    map: Described,
}

impl Serialize for LaunchParam {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            LaunchParam::Tensor(t) => {
                let mut s = serializer.serialize_struct("Tensor", 7 + usize::from(t.block.is_some()))?;
                s.serialize_field("kind", "tensor")?;
                s.serialize_field("name", &t.name)?;
                s.serialize_field("dtype", &t.dtype)?;
                s.serialize_field("mutable", &t.mutable)?;
                s.serialize_field("shape", &Texts(&t.shape))?;
                s.serialize_field("stride", &Texts(&t.stride))?;
                if let Some(block) = &t.block {
                    s.serialize_field("block", &block.to_string())?;
                }
                s.serialize_field("align", &t.align)?;
                s.end()
            }
            LaunchParam::Scalar { name, dtype } => {
                let mut s = serializer.serialize_struct("Scalar", 3)?;
                s.serialize_field("kind", "scalar")?;
                s.serialize_field("name", name)?;
                s.serialize_field("dtype", dtype)?;
                s.end()
            }
            LaunchParam::Symbol(symbol) => {
                let mut s = serializer.serialize_struct("Symbol", 2)?;
                s.serialize_field("kind", "symbol")?;
                s.serialize_field("name", &symbol.to_string())?;
                s.end()
            }
            LaunchParam::TensorMap(map) => {
                Tagged { kind: "tensor_map", map: map.described(Expr::to_string) }.serialize(serializer)
            }
            LaunchParam::Log { bytes } => {
                let mut s = serializer.serialize_struct("Log", 2)?;
                s.serialize_field("kind", "log")?;
                s.serialize_field("bytes", bytes)?;
                s.end()
            }
        }
    }
}

impl Serialize for LaunchDescription {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let requires: Vec<&str> = self.requires.iter().map(|r| r.text.as_str()).collect();
        let mut s = serializer.serialize_struct("LaunchDescription", 7)?;
        s.serialize_field("params", &self.params)?;
        s.serialize_field("grid", &Texts(&self.grid))?;
        s.serialize_field("cluster", &self.cluster)?;
        s.serialize_field("threads", &self.threads)?;
        s.serialize_field("shared_bytes", &self.shared_bytes)?;
        s.serialize_field("waits_for_previous", &self.waits_for_previous)?;
        s.serialize_field("requires", &requires)?;
        s.end()
    }
}
