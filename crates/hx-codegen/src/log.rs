//! Emits prints and assertions: plain stores and counters in the buffer that the host reads, in the format of `hx_thread`.
//!
//! Every thread of a block computes where the block's next record begins. The records therefore need no barrier and no shared
//! state. Counters change only if a record finds no room or an assertion fails.

use hx_index::{Expr, Symbol};
use hx_thread::{
    FAILURE_SHIFTS, LAST_RUN, LOG_BLOCKS, LOG_DROPPED, LOG_WORD, Log, LogEntry, LogKind, Put, ThreadProgram,
    areas_word, assertion_word, log_slice, log_slices, record_bytes, sides_word,
};
use hx_tile::ScopeId;

use crate::access::Elements;
use crate::emit::{Emitter, MalformedProgram};
use crate::storage::pointee;

type Result<T> = std::result::Result<T, MalformedProgram>;

/// The parameter that holds the buffer's address.
const BUFFER: &str = "hx_log";

/// Returns the declaration of the parameter [`BUFFER`].
pub(crate) fn parameter() -> String {
    format!("unsigned long long* {BUFFER}")
}

/// Returns the declarations at the beginning of a kernel that prints or asserts.
pub(crate) fn declarations(program: &ThreadProgram) -> Vec<String> {
    let log = &program.log[..];
    let mut lines = Vec::new();
    if log.is_empty() {
        return lines;
    }
    lines.push(
        "const unsigned long long hx_block = blockIdx.x + (unsigned long long)gridDim.x * \
         (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);"
            .to_owned(),
    );
    if log.iter().any(|e| e.kind == LogKind::Print) {
        let first = areas_word(log);
        let area =
            |word: usize| format!("hx_block < {BUFFER}[{LOG_BLOCKS}] ? {BUFFER}[{word} + hx_block] : 0");
        let slices = log_slices(program);
        if slices == 1 {
            lines.push(format!("unsigned long long hx_next = {}; // the next record", area(first)));
            lines.push(format!("const unsigned long long hx_end = {};", area(first + 1)));
        } else {
            lines.push(format!("const unsigned long long hx_area = {};", area(first)));
            lines.push(format!(
                "const unsigned long long hx_slice = (({}) - hx_area) / {} * {LOG_WORD};",
                area(first + 1),
                LOG_WORD * slices
            ));
            lines.push("unsigned long long hx_next = hx_area; // the next record".to_owned());
            lines.push("const unsigned long long hx_end = hx_area + hx_slice;".to_owned());
        }
    }
    for (entry, _) in log.iter().enumerate().filter(|(_, e)| e.kind == LogKind::Assert) {
        lines.push(format!("unsigned {} = 0;", runs(entry)));
    }
    lines
}

/// Returns the name of the counter of an assertion's executions.
fn runs(entry: usize) -> String {
    format!("hx_runs_{entry}")
}

impl Emitter<'_> {
    /// Returns the declarations at the beginning of a role's body: the slice of the executing group, if a role prints.
    pub(crate) fn slice_of_role(&self, scope: ScopeId, group: &str) -> Vec<String> {
        if log_slices(self.program) == 1 {
            return Vec::new();
        }
        let first = log_slice(self.program, scope);
        vec![
            format!(
                "unsigned long long hx_next = hx_area + hx_slice * ({first} + {group}); // the next record"
            ),
            "const unsigned long long hx_end = hx_next + hx_slice;".to_owned(),
        ]
    }

    fn entry(&self, entry: u32) -> Result<&LogEntry> {
        let missing = || MalformedProgram::Missing(format!("entry {entry} to print or assert"));
        self.program.log.get(entry as usize).ok_or_else(missing)
    }

    pub(crate) fn log(&mut self, log: &Log) -> Result<()> {
        let info = self.entry(log.entry)?;
        let (kind, size) = (info.kind, record_bytes(info));
        match kind {
            LogKind::Assert => self.block("", |e| {
                e.body(&log.body)?;
                let runs = runs(log.entry as usize);
                e.statement(&format!("{runs} += {runs} < {LAST_RUN}u;"));
                Ok(())
            }),
            LogKind::Print => self.block("", |e| {
                e.statement(&format!("const bool hx_kept = hx_next + {size} <= hx_end;"));
                let number = u64::from(log.entry) + 1;
                let first = match e.executing.scope {
                    ScopeId::BLOCK => "threadIdx.x == 0".to_owned(),
                    _ => format!("{} == 0", e.expr(&Expr::symbol(Symbol::Thread))?.text),
                };
                e.statement(&format!(
                    "if ({first}) {{ if (hx_kept) {BUFFER}[hx_next / {LOG_WORD}] = {number}; \
                     else atomicAdd({BUFFER} + {LOG_DROPPED}, 1ull); }}"
                ));
                if !log.body.is_empty() {
                    e.block("if (hx_kept)", |e| e.body(&log.body))?;
                }
                e.statement(&format!("hx_next += {size};"));
                Ok(())
            }),
        }
    }

    pub(crate) fn put(&mut self, put: &Put) -> Result<()> {
        let info = self.entry(put.entry)?;
        let kind = info.kind;
        let missing = || MalformedProgram::Missing(format!("the tensor of entry {}", put.entry));
        let value = info.value.clone().ok_or_else(missing)?;
        let (_, array) = self.array(&put.value)?;
        if array.dtype != value.dtype {
            return Err(MalformedProgram::Types { left: array.dtype, right: value.dtype });
        }
        if put.value.offsets.len() != 1 {
            let (row, operand, found) = ("print".to_owned(), "value", put.value.offsets.len());
            return Err(MalformedProgram::Operands { row, operand, expected: 1, found });
        }
        let elements = Elements { array: &array, base: &put.value.base, offsets: &put.value.offsets };
        let element = elements.value(0, &mut self.printer);
        let guard = match &put.guard {
            hx_index::Cond::True => None,
            guard => Some(self.cond(guard)?),
        };
        let text = match kind {
            LogKind::Print => {
                let at = put.position.scale(value.element_bytes() as i64) + Expr::constant(LOG_WORD as i64);
                let at = self.expr(&at)?.text;
                let c_type = pointee(value.dtype);
                let cut = if value.dtype.bits() < 32 { format!("({c_type})") } else { String::new() };
                let store =
                    format!("*({c_type}*)((unsigned char*){BUFFER} + hx_next + {at}) = {cut}{element};");
                guard.map_or(store.clone(), |guard| format!("if ({guard}) {store}"))
            }
            LogKind::Assert => {
                let word = assertion_word(&self.program.log, put.entry as usize);
                let [block, run] = FAILURE_SHIFTS;
                let runs = runs(put.entry as usize);
                let at = self.expr(&put.position)?.operand(crate::expr::Binding::Prefix);
                let guard = guard.map_or(String::new(), |guard| format!("({guard}) && "));
                let failed = format!("if ({guard}!{element})");
                let key = format!(
                    "~(hx_block << {block} | (unsigned long long){runs} << {run} | (unsigned long long){at})"
                );
                if !put.sides.is_empty() {
                    return self.failure_of_sides(put, word, &failed, &key);
                }
                let first = word + 1;
                format!(
                    "{failed} {{ atomicAdd({BUFFER} + {word}, 1ull); atomicMax({BUFFER} + {first}, {key}); }}"
                )
            }
        };
        self.statement(&text);
        Ok(())
    }

    /// Emits the record of a failed comparison. Blocks may fail at the same time, so the key and the sides change together, under a
    /// lock. One thread of each group of threads takes it, and holds it for a few instructions. Groups of one block that fail alike
    /// have equal keys: the sides are those of the group that came first.
    fn failure_of_sides(&mut self, put: &Put, word: usize, failed: &str, key: &str) -> Result<()> {
        let lock = sides_word(&self.program.log, put.entry as usize);
        let mut stores = Vec::new();
        for (number, side) in put.sides.iter().enumerate() {
            let (_, array) = self.array(side)?;
            let elements = Elements { array: &array, base: &side.base, offsets: &side.offsets };
            let element = elements.value(0, &mut self.printer);
            let c_type = pointee(array.dtype);
            let cut = if array.dtype.bits() < 32 { format!("({c_type})") } else { String::new() };
            stores.push(format!("*({c_type}*)({BUFFER} + {}) = {cut}{element};", lock + 1 + number));
        }
        self.block(failed, |e| {
            e.statement(&format!("const unsigned long long hx_key = {key};"));
            e.statement(&format!("atomicAdd({BUFFER} + {word}, 1ull);"));
            e.statement(&format!("while (atomicCAS({BUFFER} + {lock}, 0ull, 1ull) != 0ull) {{}}"));
            e.statement("__threadfence();");
            e.block(&format!("if (atomicMax({BUFFER} + {}, hx_key) < hx_key)", word + 1), |e| {
                stores.iter().for_each(|store| e.statement(store));
                Ok(())
            })?;
            e.statement("__threadfence();");
            e.statement(&format!("atomicExch({BUFFER} + {lock}, 0ull);"));
            Ok(())
        })
    }
}
