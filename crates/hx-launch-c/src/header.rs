//! The header of a launcher: what its functions take, and what a launch must keep.

use hx_codegen::LaunchParam;
use hx_dtype::DType;

use crate::front::FrontFunction;
use crate::function::{Function, Own};
use crate::text::{COLUMNS, declared_columns, wrapped};
use crate::{LauncherRequest, prefix, word};

/// The states of a launch. Several headers may be included together, and define them once.
const STATUS: &str = "\
#ifndef HX_STATUS
#define HX_STATUS
/* The result of a launch. Everything but HX_OK and HX_ERROR_CUDA is found before the driver is asked to launch. */
enum hx_status {
    HX_OK = 0,
    HX_ERROR_DIMENSION = 1,    /* a dimension or stride is negative, above 2147483647, or lets elements share memory */
    HX_ERROR_FACT = 2,         /* a dimension or stride is not what the kernel was built for */
    HX_ERROR_REQUIREMENT = 3,  /* a `where` of the kernel does not hold */
    HX_ERROR_POINTER = 4,      /* a pointer is null, misaligned, or shares memory with a tensor that is written */
    HX_ERROR_GRID = 5,         /* the device does not take so many blocks */
    HX_ERROR_TENSOR_MAP = 6,   /* bulk copies do not take such a tensor */
    HX_ERROR_DRIVER = 7,       /* the CUDA driver is missing or too old */
    HX_ERROR_NO_CONTEXT = 8,   /* no CUDA context is current on this thread */
    HX_ERROR_ARCHITECTURE = 9, /* the device cannot run the code */
    HX_ERROR_CUDA = 10         /* a call of the CUDA driver failed */
};
#endif
";

/// Returns the text of the header `stem.h`.
pub(super) fn header(
    request: &LauncherRequest<'_>,
    functions: &[Function<'_>],
    front: Option<&FrontFunction<'_>>,
) -> String {
    let prefix = prefix(request.stem);
    let guard = format!("HX_{}_H", word(request.stem).to_uppercase());
    let has_bool = functions
        .iter()
        .flat_map(|f| &f.own)
        .any(|own| matches!(own.param, LaunchParam::Scalar { dtype: DType::Bool, .. }));
    let mut out = preface(request, &prefix);
    out += &format!("#ifndef {guard}\n#define {guard}\n\n");
    if has_bool {
        out += "#include <stdbool.h>\n";
    }
    out += "#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
    out += STATUS;
    if let Some(front) = front {
        out += &format!(
            "\n{}enum hx_status {}({});\n",
            comment(&front.documentation()),
            front.name,
            wrapped(&front.parameters(), declared_columns(&front.name))
        );
    }
    for function in functions {
        out.push('\n');
        if let Some((_, bytes)) = function.log {
            out += &format!("#define {} {bytes}\n", log_bytes(function));
        }
        out += &comment(&documentation(function));
        out += &format!(
            "enum hx_status {}({});\n",
            function.name,
            wrapped(&function.parameters(), declared_columns(&function.name))
        );
    }
    out += &format!(
        "\n/* Loads the code of every kernel into the current context, which the first launch does otherwise: before a\n   \
         capture of a graph, for instance. */\nenum hx_status {prefix}_load(void);\n\n\
         /* Returns the message of the last call of this thread that failed; \"\" if none did. */\n\
         const char *{prefix}_error(void);\n\n#ifdef __cplusplus\n}}\n#endif\n\n#endif\n"
    );
    out
}

/// Returns the macro with the least bytes of a log.
fn log_bytes(function: &Function<'_>) -> String {
    format!("{}_LOG_BYTES", function.name.to_uppercase())
}

fn preface(request: &LauncherRequest<'_>, prefix: &str) -> String {
    let names: Vec<String> = request.kernels.iter().map(|kernel| format!("`{}`", kernel.name)).collect();
    let what = if names.len() == 1 { "the kernel" } else { "the kernels" };
    comment(&format!(
        "Launches {what} {} of `{}` on {}. Made by hx {}.\n\
         \n\
         A launch runs in the CUDA context that is current on the calling thread, such as the one after `cudaSetDevice`, and \
         returns before the kernel is complete. `stream` is a `cudaStream_t` or `CUstream`; NULL is the default stream. \
         Pointers are to device memory. A launch checks its arguments: if one is not as described, it launches nothing, returns \
         the reason, and `{prefix}_error` has a message. A grid of 0 blocks is HX_OK and launches nothing. All functions may be \
         called from several threads.",
        names.join(", "),
        request.file,
        request.target.name,
        request.version
    ))
}

/// Describes a function: the kernel, then each parameter.
fn documentation(function: &Function<'_>) -> String {
    let kernel = function.kernel;
    let arguments = match kernel.arguments.as_slice() {
        [] => String::new(),
        all => {
            let all: Vec<String> = all.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            format!(" with {}", all.join(", "))
        }
    };
    let mut lines = vec![format!("Launches `{}`{arguments}.", kernel.name), String::new()];
    for Own { name, param } in &function.own {
        match param {
            LaunchParam::Tensor(tensor) => {
                let list = |all: &[hx_index::Expr]| {
                    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                };
                let written = if tensor.mutable { ", written" } else { "" };
                let zero = if kernel.counters.contains(&tensor.name) {
                    "; 0 before the first launch, and after each"
                } else {
                    ""
                };
                let place = match &tensor.block {
                    Some(block) => format!("in blocks {block}, which follow each other in row-major order"),
                    None => format!("with strides [{}]", list(&tensor.stride)),
                };
                lines.push(format!(
                    "{name}: {}[{}] {place}, aligned to {} bytes{written}{zero}",
                    tensor.dtype,
                    list(&tensor.shape),
                    tensor.align
                ));
            }
            LaunchParam::Scalar { dtype, .. } => {
                // C has no floats narrower than f32.
                let bits = dtype.is_float() && dtype.bits() < 32;
                lines.push(format!("{name}: {}{dtype}", if bits { "the bits of an " } else { "" }));
            }
            LaunchParam::Symbol(_) | LaunchParam::TensorMap(_) | LaunchParam::Log { .. } => {}
        }
    }
    for (dim, name) in kernel.dims.iter().zip(&function.dims) {
        let what = if dim.is_stride { "stride, in elements" } else { "dimension" };
        let promise = match (dim.is_unit, dim.divisor) {
            (true, _) => ", which is 1".to_owned(),
            (false, 1) => String::new(),
            (false, divisor) => format!(", a multiple of {divisor}"),
        };
        lines.push(format!("{name}: {what}{promise}"));
    }
    if let Some((name, bytes)) = &function.log {
        lines.push(format!("{name}: {} = {bytes} bytes of zeros, or more", log_bytes(function)));
    }
    lines.extend(kernel.launch.requires.iter().map(|requirement| format!("where {}", requirement.text)));
    lines.extend(log_words(function));
    lines.join("\n")
}

/// Describes what the kernel leaves in its log.
fn log_words(function: &Function<'_>) -> Vec<String> {
    if function.log.is_none() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        "The log has 64-bit words, which the kernel adds to. Word 1 counts prints; their values are not kept.".to_owned(),
    ];
    for (number, message) in function.kernel.assertions.iter().enumerate() {
        let what = if message.is_empty() { "an assertion" } else { message };
        lines.push(format!("Word {} counts the elements that fail: {what}", 2 + 2 * number));
    }
    lines
}

/// Writes a comment. Lines that are too long are broken, and continue with an indentation.
fn comment(text: &str) -> String {
    let text = text.replace("*/", "* /").replace("/*", "/ *");
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for part in line.split(' ') {
            if !current.is_empty() && current.len() + 1 + part.len() > COLUMNS {
                lines.push(std::mem::take(&mut current));
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current += part;
        }
        lines.push(current);
    }
    let mut out = String::from("/*");
    for (at, line) in lines.iter().enumerate() {
        let lead = if at == 0 { " " } else { "   " };
        out += format!("{lead}{line}").trim_end();
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out + " */\n"
}
