//! The source of a launcher: the code of the kernels, the common part, and a function for each kernel.

use std::fmt::Write as _;

use hx_codegen::LaunchParam;
use hx_index::{Expr, Symbol};
use hx_target::{Forward, Target};
use hx_tensor_map::DriverNumbers;
use hx_thread::{TensorMap, TensorParam};
use hx_tile::Requirement;

use crate::expr::{BAD, Printer};
use crate::front::FrontFunction;
use crate::function::{Function, Own};
use crate::text::{declared_columns, wrapped};
use crate::{LauncherRequest, prefix};

/// The common part, without the kernels. Its paragraphs are taken one by one.
const RUNTIME: &str = include_str!("runtime.c");
/// The greatest dimension or stride of a launch.
const DIM_MAX: i64 = i32::MAX as i64;
/// The strides of tensor maps are below this number of bytes (CUDA driver API, `cuTensorMapEncodeTiled`).
const MAP_STRIDE_END: i64 = 1 << 40;
/// The bytes that stand for an empty tensor: more than its one element, and a multiple of the unit of strides.
const ZEROS: u32 = 256;
/// The variable with the number of multiprocessors.
const PROCESSORS: &str = "hx_processors";

/// Returns the text of the source `stem.c`.
pub(super) fn source(
    request: &LauncherRequest<'_>,
    functions: &[Function<'_>],
    front: Option<&FrontFunction<'_>>,
) -> Result<String, String> {
    let mut launches = String::new();
    for (index, function) in functions.iter().enumerate() {
        launches += &Body::new(function).text(index)?;
        launches.push('\n');
    }
    if let Some(front) = front {
        launches += &front.text();
        launches.push('\n');
    }
    let prefix = prefix(request.stem);
    launches += &format!(
        "enum hx_status {prefix}_load(void) {{\n    \
             struct hx_context *context = NULL;\n    \
             enum hx_status status = hx_current(\"{prefix}_load\", &context);\n    \
             int i;\n    \
             for (i = 0; status == HX_OK && i < HX_KERNELS; i++) status = hx_load(&hx_kernels[i], context);\n    \
             return status;\n\
         }}\n\n\
         const char *{prefix}_error(void) {{\n    return hx_message;\n}}\n"
    );
    let limits = &request.target.rows().map;
    let mut out = format!(
        "/* Made by hx {} from `{}`. The header describes the functions. Link with -ldl and -lpthread where the C library does \
         not\n   hold them. */\n#include \"{}.h\"\n\n",
        request.version, request.file, request.stem
    );
    for (name, value) in [
        ("HX_KERNELS", functions.len().to_string()),
        ("HX_ZEROS", ZEROS.to_string()),
        ("HX_MAP_DIMENSION_MAX", limits.dim.to_string()),
        ("HX_MAP_STRIDE", limits.stride.to_string()),
        ("HX_MAP_STRIDE_END", MAP_STRIDE_END.to_string()),
    ] {
        let _ = writeln!(out, "#define {name} {value}");
    }
    out.push('\n');
    out += &runtime(&launches);
    for (index, function) in functions.iter().enumerate() {
        out += &code(index, &function.kernel.code);
    }
    out += &table(request.target, functions);
    Ok(out + &launches)
}

/// Returns the paragraphs of the common part on which `launches` depends, in their order. A compiler warns of functions that
/// nothing calls.
pub(super) fn runtime(launches: &str) -> String {
    let mut below = launches.to_owned();
    let mut kept = Vec::new();
    for paragraph in RUNTIME.split("\n\n").collect::<Vec<_>>().into_iter().rev() {
        let paragraph = paragraph.trim_end();
        if defined(paragraph).is_none_or(|uses| uses.iter().any(|text| below.contains(text))) {
            below += paragraph;
            kept.push(paragraph);
        }
    }
    kept.into_iter().rev().map(|paragraph| format!("{paragraph}\n\n")).collect()
}

/// Returns the texts that use what a paragraph defines; `None` for a paragraph that every launcher has.
fn defined(paragraph: &str) -> Option<Vec<String>> {
    let code = paragraph.split_once("*/\n").filter(|(comment, _)| comment.starts_with("/*"));
    let first = code.map_or(paragraph, |(_, code)| code).lines().next()?;
    if let Some(name) = first.strip_prefix("struct ").and_then(|rest| rest.strip_suffix(" {")) {
        return Some(vec![format!("struct {name}")]);
    }
    let is_function = first.starts_with("static ") && first.contains('(') && !first.ends_with(';');
    let name = first.split('(').next()?.rsplit([' ', '*']).next()?;
    // A function is called, or passed as the last argument of a call.
    is_function.then(|| vec![format!("{name}("), format!(", {name})")])
}

/// Writes machine code as an array.
fn code(index: usize, bytes: &[u8]) -> String {
    let mut out = format!(
        "__attribute__((aligned(16))) static const unsigned char hx_code_{index}[{}] = {{\n",
        bytes.len()
    );
    for line in bytes.chunks(32) {
        let _ = writeln!(out, "{},", line.iter().map(u8::to_string).collect::<Vec<_>>().join(","));
    }
    out + "};\n\n"
}

fn table(target: Target, functions: &[Function<'_>]) -> String {
    let is_exact = u8::from(target.forward == Forward::None);
    let [major, minor] = target.capability;
    let mut out = "static const struct hx_kernel hx_kernels[HX_KERNELS] = {\n".to_owned();
    for (index, function) in functions.iter().enumerate() {
        let launch = &function.kernel.launch;
        let [x, y, z] = launch.cluster;
        let has_maps = launch.params.iter().any(|param| matches!(param, LaunchParam::TensorMap(_)));
        let _ = writeln!(
            out,
            "    {{\"{}\", \"{}\", hx_code_{index}, {index}, \"{}\", {}, {is_exact}, {}, {}, {{{x}, {y}, {z}}}, {}, {}}},",
            function.name,
            function.kernel.symbol,
            target.name,
            10 * major + minor,
            launch.threads,
            launch.shared_bytes,
            u8::from(launch.waits_for_previous),
            u8::from(has_maps)
        );
    }
    out + "};\n\n"
}

/// The text of one function, as it is written.
struct Body<'a> {
    function: &'a Function<'a>,
    printer: Printer,
    lines: String,
    /// Whether the current context is known.
    has_context: bool,
    /// The tensors whose bytes are known, by the name of their pointer.
    sized: Vec<String>,
}

impl<'a> Body<'a> {
    fn new(function: &'a Function<'a>) -> Body<'a> {
        let mut printer = Printer::default();
        for (dim, name) in function.kernel.dims.iter().zip(&function.dims) {
            printer.name(Symbol::Dim(dim.name.as_str().into()), name.clone(), 0, DIM_MAX);
        }
        for own in &function.own {
            if let LaunchParam::Scalar { name, dtype } = own.param
                && dtype.is_int()
            {
                let (low, high) = match dtype.bits() {
                    bits @ ..64 => hx_index::Width { bits, signed: dtype.is_signed_int() }.range(),
                    _ => (i64::MIN, i64::MAX),
                };
                printer.name(
                    Symbol::Scalar(name.as_str().into()),
                    format!("(int64_t){}", own.name),
                    low,
                    high,
                );
            }
        }
        printer.name(Symbol::Multiprocessors, PROCESSORS.to_owned(), 0, DIM_MAX);
        Body { function, printer, lines: String::new(), has_context: false, sized: Vec::new() }
    }

    fn text(mut self, index: usize) -> Result<String, String> {
        let function = self.function;
        self.dims();
        self.processors();
        for requirement in &function.kernel.launch.requires {
            self.requirement(requirement)?;
        }
        self.tensors()?;
        self.grid()?;
        self.context();
        self.call("hx_load(hx_this, hx_at)");
        let arguments = self.arguments()?;
        self.line(&format!(
            "void *hx_arguments[] = {{{}}};",
            wrapped(&arguments, "void *hx_arguments[] = {};".len())
        ));
        self.line("return hx_launch(hx_this, hx_at, hx_grid, hx_arguments, stream);");
        let parameters = wrapped(&function.parameters(), declared_columns(&function.name));
        let bad = if self.lines.contains(BAD) { format!("    int {BAD} = 0;\n") } else { String::new() };
        Ok(format!(
            "enum hx_status {}({parameters}) {{\n    const struct hx_kernel *hx_this = &hx_kernels[{index}];\n    \
             struct hx_context *hx_at = NULL;\n    enum hx_status hx_result;\n{bad}{}}}\n",
            function.name, self.lines
        ))
    }

    fn line(&mut self, text: &str) {
        for line in text.lines() {
            let _ = writeln!(self.lines, "    {line}");
        }
    }

    /// Writes a call that may fail.
    fn call(&mut self, call: &str) {
        self.line(&format!("hx_result = {call};\nif (hx_result != HX_OK) return hx_result;"));
    }

    /// Writes the check that ends a launch with `status` if a checked operation failed in the lines from byte `before` on.
    /// Writes nothing if these lines have no checked operation.
    fn refuse_bad(&mut self, before: usize, status: &str, what: &str, with: &(String, String)) {
        if self.lines[before..].contains(BAD) {
            let (format, values) = with;
            let text = format!("{what}: a number overflows or a divisor is 0{format}");
            self.line(&format!(
                "if ({BAD})\n    return hx_fail({status}, hx_this->function,\n                   \"{text}\"{values});"
            ));
        }
    }

    fn dims(&mut self) {
        let function = self.function;
        for (dim, name) in function.kernel.dims.iter().zip(&function.dims) {
            let what = if dim.is_stride { "stride" } else { "dimension" };
            let shown = quoted(&dim.name, false);
            if dim.is_unit {
                self.call(&format!("hx_check_unit(hx_this, \"{shown}\", {name})"));
            } else {
                let divisor = dim.divisor;
                self.call(&format!(
                    "hx_check_dimension(hx_this, \"{what}\", \"{shown}\", {name}, {divisor})"
                ));
            }
        }
    }

    /// Writes the number of multiprocessors, if the launch needs it.
    fn processors(&mut self) {
        let launch = &self.function.kernel.launch;
        let is_passed =
            launch.params.iter().any(|param| matches!(param, LaunchParam::Symbol(Symbol::Multiprocessors)));
        let in_grid = launch.grid.iter().any(|blocks| blocks.mentions(&Symbol::Multiprocessors));
        let in_clauses =
            launch.requires.iter().any(|clause| clause.cond.symbols().contains(&Symbol::Multiprocessors));
        if is_passed || in_grid || in_clauses {
            self.context();
            self.line(&format!("const int64_t {PROCESSORS} = hx_at->multiprocessors;"));
        }
    }

    fn context(&mut self) {
        if !self.has_context {
            self.has_context = true;
            self.call("hx_current(hx_this->function, &hx_at)");
        }
    }

    fn requirement(&mut self, requirement: &Requirement) -> Result<(), String> {
        if requirement.cond == hx_index::Cond::True {
            return Ok(());
        }
        let cond = self.printer.cond(&requirement.cond)?;
        let with = self.values(&requirement.text, requirement.cond.symbols())?;
        let text = quoted(&requirement.text, true);
        let status = "HX_ERROR_REQUIREMENT";
        let refuse = format!(
            "\n    return hx_fail({status}, hx_this->function,\n                   \"`{text}` does not hold{}\"{});",
            with.0, with.1
        );
        if cond.contains(BAD) {
            let before = self.lines.len();
            self.line(&format!("hx_result = {cond} ? HX_OK : {status};"));
            self.refuse_bad(before, status, &format!("`{text}` cannot be decided"), &with);
            self.line(&format!("if (hx_result != HX_OK){refuse}"));
        } else {
            self.line(&format!("if (!({cond})){refuse}"));
        }
        Ok(())
    }

    /// Returns ` with n = %lld, B = 64` for the names in a text, and the arguments of this format.
    fn values(
        &self,
        text: &str,
        symbols: impl IntoIterator<Item = Symbol>,
    ) -> Result<(String, String), String> {
        let (mut shown, mut values) = (Vec::new(), String::new());
        for symbol in symbols {
            shown.push(format!("{} = %lld", quoted(&symbol.to_string(), true)));
            let _ = write!(values, ", (long long){}", self.printer.symbol(&symbol)?);
        }
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let arguments = self.function.kernel.arguments.iter();
        let named = arguments.filter(|(name, _)| words.contains(&name.as_str()));
        shown.extend(named.map(|(name, value)| format!("{name} = {}", quoted(value, true))));
        let format = if shown.is_empty() { String::new() } else { format!(" with {}", shown.join(", ")) };
        Ok((format, values))
    }

    fn tensors(&mut self) -> Result<(), String> {
        let function = self.function;
        let tensors: Vec<(&Own<'_>, &TensorParam)> = function
            .own
            .iter()
            .filter_map(|own| if let LaunchParam::Tensor(t) = own.param { Some((own, t)) } else { None })
            .collect();
        for (own, tensor) in &tensors {
            self.tensor(&own.name, tensor)?;
        }
        if let Some((log, _)) = &function.log {
            self.call(&format!("hx_check_log(hx_this, {log})"));
        }
        for (at, (own, tensor)) in tensors.iter().enumerate() {
            for (other, beside) in &tensors[at + 1..] {
                if (tensor.mutable || beside.mutable) && is_packed(tensor) && is_packed(beside) {
                    let written = if beside.mutable {
                        [(*other, *beside), (*own, *tensor)]
                    } else {
                        [(*own, *tensor), (*other, *beside)]
                    };
                    self.apart(written);
                }
            }
        }
        Ok(())
    }

    fn tensor(&mut self, name: &str, tensor: &TensorParam) -> Result<(), String> {
        let before = self.lines.len();
        let extents = tensor.shape.iter().map(|e| self.printer.int(e)).collect::<Result<Vec<_>, _>>()?;
        let (rank, shown) = (extents.len(), quoted(&tensor.name, false));
        let extents = if rank == 0 { "1".to_owned() } else { extents.join(", ") };
        self.line(&format!("const int64_t hx_extents_{name}[] = {{{extents}}};"));
        let what = format!("a dimension of `{shown}` cannot be computed");
        self.refuse_bad(before, "HX_ERROR_DIMENSION", &what, &Default::default());
        let align = tensor.align.max(1);
        self.call(&format!(
            "hx_check_tensor(hx_this, \"{shown}\", {name}, {align}, hx_extents_{name}, {rank})"
        ));
        if tensor.mutable && !is_packed(tensor) {
            let before = self.lines.len();
            let strides = tensor.stride.iter().map(|e| self.printer.int(e)).collect::<Result<Vec<_>, _>>()?;
            self.line(&format!("const int64_t hx_strides_{name}[] = {{{}}};", strides.join(", ")));
            let what = format!("a stride of `{shown}` cannot be computed");
            self.refuse_bad(before, "HX_ERROR_DIMENSION", &what, &Default::default());
            self.call(&format!(
                "hx_check_distinct(hx_this, \"{shown}\", hx_extents_{name}, hx_strides_{name}, {rank})"
            ));
        }
        Ok(())
    }

    /// Writes the check that the first tensor, which the kernel writes, shares no memory with the second one. If the kernel
    /// updates the second one in place, both may also be the same tensor.
    fn apart(&mut self, tensors: [(&Own<'_>, &TensorParam); 2]) {
        for (own, tensor) in tensors {
            if !self.sized.contains(&own.name) {
                self.sized.push(own.name.clone());
                let (name, rank, bits) = (&own.name, tensor.shape.len(), tensor.dtype.bits());
                self.line(&format!(
                    "const uint64_t hx_bytes_{name} = hx_bytes(hx_extents_{name}, {rank}, {bits});"
                ));
            }
        }
        let [a, b] = tensors.map(|(own, tensor)| {
            format!("\"{}\", {}, hx_bytes_{}", quoted(&tensor.name, false), own.name, own.name)
        });
        let check = format!("hx_check_apart(hx_this, {a}, {b})");
        let [(output, written), (input, read)] = tensors;
        let pair = [&read.name, &written.name];
        let is_in_place = self.function.kernel.in_place.iter().any(|known| known.each_ref() == pair);
        match is_in_place {
            true => self
                .call(&format!("(uintptr_t){} == (uintptr_t){} ? HX_OK : {check}", input.name, output.name)),
            false => self.call(&check),
        }
    }

    fn grid(&mut self) -> Result<(), String> {
        let before = self.lines.len();
        let launch = &self.function.kernel.launch;
        let axis = |at: usize| launch.grid.get(at).map_or(Ok("1".to_owned()), |e| self.printer.int(e));
        let grid = [axis(0)?, axis(1)?, axis(2)?];
        let symbols: std::collections::BTreeSet<Symbol> =
            launch.grid.iter().flat_map(Expr::symbols).collect();
        let with = self.values("", symbols)?;
        self.line(&format!("const int64_t hx_grid[3] = {{{}}};", grid.join(", ")));
        self.refuse_bad(before, "HX_ERROR_GRID", "the blocks of the grid cannot be counted", &with);
        self.call("hx_check_grid(hx_this, hx_grid)");
        self.line("if (hx_grid[0] == 0 || hx_grid[1] == 0 || hx_grid[2] == 0) return HX_OK;");
        Ok(())
    }

    /// Writes the values of the kernel's parameters. Returns their addresses, in order.
    fn arguments(&mut self) -> Result<Vec<String>, String> {
        let function = self.function;
        let mut own = function.own.iter();
        let mut maps = 0;
        let mut out = Vec::new();
        for param in &function.kernel.launch.params {
            match param {
                LaunchParam::Tensor(_) => {
                    let name = own.next().map(|own| own.name.as_str()).unwrap_or_default();
                    self.line(&format!("uint64_t hx_value_{name} = (uint64_t)(uintptr_t){name};"));
                    out.push(format!("&hx_value_{name}"));
                }
                LaunchParam::Scalar { .. } => {
                    out.push(format!("&{}", own.next().map(|own| own.name.as_str()).unwrap_or_default()));
                }
                LaunchParam::Symbol(symbol) => {
                    let value = self.printer.symbol(symbol)?.to_owned();
                    let name = match symbol {
                        Symbol::Multiprocessors => format!("{PROCESSORS}_value"),
                        _ => format!("hx_value_{value}"),
                    };
                    self.line(&format!("int32_t {name} = (int32_t){value};"));
                    out.push(format!("&{name}"));
                }
                LaunchParam::TensorMap(map) => {
                    self.map(maps, map)?;
                    out.push(format!("hx_map_{maps}.bytes"));
                    maps += 1;
                }
                LaunchParam::Log { .. } => {
                    let name = function.log.as_ref().map(|(name, _)| name.as_str()).unwrap_or_default();
                    self.line(&format!("uint64_t hx_value_{name} = (uint64_t)(uintptr_t){name};"));
                    out.push(format!("&hx_value_{name}"));
                }
            }
        }
        if out.is_empty() {
            out.push("NULL".to_owned());
        }
        Ok(out)
    }

    fn map(&mut self, index: usize, map: &TensorMap) -> Result<(), String> {
        let tensor = map.name.as_str();
        let unknown = || format!("a tensor map is of `{tensor}`, which is not a tensor of the kernel");
        let own = self.function.pointer(tensor).ok_or_else(unknown)?;
        let is_written = matches!(own.param, LaunchParam::Tensor(t) if t.mutable);
        let DriverNumbers { element, swizzle, l2, fill } = map.driver()?;
        let element = element.number();
        let list = |all: &[Expr]| {
            all.iter().map(|e| self.printer.int(e)).collect::<Result<Vec<_>, _>>().map(|all| all.join(", "))
        };
        let (dims, strides) = (list(&map.dims)?, list(&map.strides)?);
        let extents = map.extents.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let (shown, rank, name) = (quoted(tensor, false), map.dims.len(), own.name.clone());
        let before = self.lines.len();
        self.line(&format!("struct hx_map hx_map_{index};\n{{\n    const int64_t hx_dims[] = {{{dims}}};"));
        let of_strides = if map.strides.is_empty() { "NULL" } else { "hx_strides" };
        if !map.strides.is_empty() {
            self.line(&format!("    const int64_t hx_strides[] = {{{strides}}};"));
        }
        let numbers = format!("{}, {element}, {swizzle}, {l2}, {fill}, {rank}", u8::from(is_written));
        self.line(&format!(
            "    const uint32_t hx_box[] = {{{extents}}};\n    \
             const struct hx_map_of hx_of = {{\"{shown}\", {name}, {numbers}, hx_dims, {of_strides}, hx_box}};\n    \
             hx_result = hx_encode(hx_this, hx_at, stream, &hx_of, &hx_map_{index});\n}}"
        ));
        let what = format!("the tensor map of `{shown}` cannot be computed");
        self.refuse_bad(before, "HX_ERROR_TENSOR_MAP", &what, &Default::default());
        self.line("if (hx_result != HX_OK) return hx_result;");
        Ok(())
    }
}

/// Reports whether the strides are those of a tensor in row-major order without gaps.
fn is_packed(tensor: &TensorParam) -> bool {
    let mut next = Expr::constant(1);
    for (extent, stride) in tensor.shape.iter().zip(&tensor.stride).rev() {
        if *stride != next {
            return false;
        }
        next = &next * extent;
    }
    true
}

/// Escapes a text for a literal of C. In a format the sign of a conversion is doubled.
fn quoted(text: &str, in_format: bool) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' if in_format => out += "%%",
            // Two question marks begin a trigraph.
            '?' => out += "\\?",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
