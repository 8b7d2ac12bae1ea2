//! Compiles a thread program to [`Code`]. Every error that depends on the program alone is reported here, before any block runs.

mod counter;
mod elementwise;
pub(crate) mod instruction;
mod numbers;
mod product;
mod registers;
mod roles;
mod statements;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hx_index::{Cond, EvalError, Expr, Symbol};
use hx_tensor_map::TensorMap;
use hx_thread::{Param, ThreadProgram, Warps, assigned};
use hx_tile::ScopeId;

use crate::code::{Array, Code, Exchange, Product, Shared, Site, SiteId};
use crate::error::{Fault, SimError};
use crate::formula::{Binding, Compiler, Formula, Test};

/// Compiles `program` for one launch. `symbols` and `numbers` hold the values of its symbols and of its numeric parameters by
/// name. Loads from a parameter in `same` are loads from the tensor of another one.
///
/// # Errors
/// If the program contradicts itself or the catalogue, or if an expression of a tensor map or of a counter has no value.
pub(crate) fn compile(
    program: &ThreadProgram,
    symbols: &BTreeMap<Symbol, i64>,
    numbers: &BTreeMap<String, f64>,
    same: &BTreeMap<usize, usize>,
) -> Result<Code, SimError> {
    let threads = program.block_threads() as usize;
    if threads == 0 {
        return Err(Fault::Malformed("the block has no threads".into()).into());
    }
    let shared = shared_buffers(program)?;
    let maps = maps(program, symbols)?;
    let counters = counter::counters(program, symbols)?;
    let grid = [0, 1, 2].map(|axis| symbols.get(&Symbol::GridDim(axis)).map_or(1, |blocks| *blocks as u64));
    let mut c = Compilation {
        program,
        numbers,
        same,
        changing: assigned(&program.body),
        threads,
        scope: scope_of_block(threads, symbols),
        sites: vec![Site::default()],
        site: 0,
        slots: 3,
        names: Vec::new(),
        lanes: 0,
        granule: 16,
        asynchronous: false,
        communicates: false,
        logging: None,
        exchanges: BTreeMap::new(),
        products: BTreeMap::new(),
        executing: ScopeId::BLOCK,
        parties: Vec::new(),
        own: RefCell::new(vec![false; program.registers.len()]),
    };
    let body = c.body(&program.body)?;
    let arrays = program.registers.iter();
    Ok(Code {
        threads,
        target: program.target,
        // Blocks of a cluster run together if accesses communicate, too: an access at the scope of the cluster is atomic for them only.
        cluster: if program.crosses_blocks() || c.communicates { program.cluster } else { [1, 1, 1] },
        sites: c.sites,
        slots: c.slots as usize,
        names: c.names,
        lanes: c.lanes as usize,
        arrays: arrays.map(|r| Array { name: r.name.clone(), dtype: r.dtype, len: r.len as usize }).collect(),
        shared,
        shared_bytes: program.shared_bytes as usize,
        granule: c.granule,
        barriers: program.barriers.clone(),
        asynchronous: c.asynchronous,
        communicates: c.communicates,
        counts_multiprocessors: program.symbols.contains(&Symbol::Multiprocessors),
        maps,
        named: program.named.clone(),
        counters,
        grid,
        log: program.log.clone(),
        parties: c.parties,
        own: c.own.into_inner(),
        body,
    })
}

/// Returns the bindings of the symbols for all threads of a block, at the start of its statements.
fn scope_of_block(threads: usize, symbols: &BTreeMap<Symbol, i64>) -> BTreeMap<Symbol, Local> {
    let mut scope: BTreeMap<Symbol, Local> =
        symbols.iter().map(|(s, v)| (s.clone(), Local::new(Binding::Known(*v)))).collect();
    for axis in 0..3u8 {
        scope.insert(Symbol::BlockIdx(axis), Local::new(Binding::Slot(u32::from(axis))));
    }
    let index: Vec<i64> = (0..threads as i64).collect();
    scope.insert(Symbol::Thread, Local::new(Binding::Table(index.into())));
    scope
}

/// Evaluates the tensor maps of a launch.
///
/// # Errors
/// If a map is of no tensor or breaks a limit of the target, or an expression has no value.
fn maps(program: &ThreadProgram, symbols: &BTreeMap<Symbol, i64>) -> Result<Vec<TensorMap>, SimError> {
    let lookup = |s: &Symbol| symbols.get(s).copied();
    let mut out = Vec::new();
    for map in &program.maps {
        let Some(Param::Tensor(_)) = program.params.get(map.param as usize) else {
            return Err(Fault::Malformed(format!("parameter {} is not a tensor", map.param)).into());
        };
        let values = map.evaluated(|e| e.eval(&lookup)).map_err(Fault::Eval)?;
        program.target.rows().map.check(map, &values).map_err(Fault::Malformed)?;
        out.push(values);
    }
    Ok(out)
}

fn shared_buffers(program: &ThreadProgram) -> Result<Vec<Shared>, SimError> {
    let mut out = Vec::new();
    for s in &program.shared {
        if s.offset.checked_add(s.bytes).is_none_or(|end| end > program.shared_bytes) {
            let text = format!(
                "the shared tensor `{}` takes bytes {}..{} of {}",
                s.name,
                s.offset,
                u64::from(s.offset) + u64::from(s.bytes),
                program.shared_bytes
            );
            return Err(Fault::Malformed(text).into());
        }
        out.push(Shared {
            name: s.name.clone(),
            bits: s.dtype.bits() as usize,
            offset: s.offset as usize,
            bytes: s.bytes as usize,
        });
    }
    Ok(out)
}

/// A symbol in scope.
#[derive(Clone, Debug)]
struct Local {
    binding: Binding,
    /// The value is known once the enclosing unrolled loops are expanded.
    fixed: bool,
    /// [`Leaf::Assign`](hx_thread::Leaf::Assign) may change it.
    changes: bool,
}

impl Local {
    fn new(binding: Binding) -> Local {
        Local { binding, fixed: false, changes: false }
    }
}

struct Compilation<'a> {
    program: &'a ThreadProgram,
    numbers: &'a BTreeMap<String, f64>,
    /// The parameters whose argument is the tensor of another parameter, with the position of that parameter.
    same: &'a BTreeMap<usize, usize>,
    changing: BTreeSet<Symbol>,
    threads: usize,
    scope: BTreeMap<Symbol, Local>,
    sites: Vec<Site>,
    site: SiteId,
    slots: u32,
    /// See [`Code::names`].
    names: Vec<(u32, Symbol)>,
    lanes: u32,
    granule: usize,
    asynchronous: bool,
    /// See [`Code::communicates`].
    communicates: bool,
    /// The log entry whose elements the current statements record, as a position in [`Code::log`]; `None` outside of prints and
    /// assertions.
    logging: Option<usize>,
    /// Keyed by row and by the number of elements a lane holds, because one row moves elements of several widths.
    exchanges: BTreeMap<(String, i64), Arc<Exchange>>,
    products: BTreeMap<String, Arc<Product>>,
    /// The scope whose statements are compiled.
    executing: ScopeId,
    parties: Vec<Warps>,
    /// Whether the statements of the scope use each array.
    own: RefCell<Vec<bool>>,
}

impl<'a> Compilation<'a> {
    fn error(&self, fault: Fault) -> SimError {
        let place = self.sites[self.site as usize].place(None, None);
        SimError { fault, place: Some(Box::new(place)) }
    }

    fn malformed<T>(&self, text: impl Into<String>) -> Result<T, SimError> {
        Err(self.error(Fault::Malformed(text.into())))
    }

    fn with_compiler<T>(&self, f: impl FnOnce(&Compiler<'_>) -> Result<T, EvalError>) -> Result<T, SimError> {
        let lookup = |s: &Symbol| self.scope.get(s).map(|l| l.binding.clone());
        f(&Compiler { threads: self.threads, lookup: &lookup }).map_err(|e| self.error(Fault::Eval(e)))
    }

    fn formula(&self, e: &Expr) -> Result<Formula, SimError> {
        self.with_compiler(|c| c.formula(e))
    }

    fn uniform(&self, e: &Expr, what: &str) -> Result<Formula, SimError> {
        let formula = self.formula(e)?;
        if formula.varying() {
            return self.malformed(format!("{what} `{e}` differs between the threads of a block"));
        }
        Ok(formula)
    }

    fn test(&self, c: &Cond) -> Result<Test, SimError> {
        self.with_compiler(|compiler| compiler.test(c))
    }

    fn is_fixed(&self, e: &Expr) -> bool {
        e.symbols().iter().all(|s| self.scope.get(s).is_some_and(|l| l.fixed))
    }
}
