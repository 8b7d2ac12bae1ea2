//! Functions of the CUDA text: arithmetic that C++ has no operator for.

/// Functions that the emitted text calls. Their definitions precede the kernel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Helper {
    FloorDiv {
        wide: bool,
    },
    FloorMod {
        wide: bool,
    },
    /// For dividends and divisors that are not negative.
    Div {
        wide: bool,
        signed: bool,
    },
    /// For dividends and divisors that are not negative.
    Mod {
        wide: bool,
        signed: bool,
    },
    /// Returns its argument; the front end of the CUDA compiler does not see that.
    Hidden,
    Extract,
    Insert,
    /// Return the smaller and the larger of two `int`. From `sm_90` on, ptxas (CUDA 13.0) fuses two minima to one instruction, and
    /// loses the sign where its second operand is a negated value: `min(min(a, -b), c)` is `min(a, b, c)`. A comparison and a
    /// selection are not fused.
    Least,
    Most,
    /// Converts to tf32, rounding to nearest even.
    Tf32,
    /// Converts to float toward zero, and sets the last bit if that lost anything (round to odd).
    Odd,
}

/// Opcodes of [`Helper::Least`] and [`Helper::Most`]: the comparison, then the selection.
const LEAST: [&str; 2] = ["setp.lt.s32", "selp.b32"];
const MOST: [&str; 2] = ["setp.gt.s32", "selp.b32"];

impl Helper {
    /// Returns the opcodes in the inline assembly of the definition.
    pub(crate) fn opcodes(self) -> &'static [&'static str] {
        match self {
            Helper::Least => &LEAST,
            Helper::Most => &MOST,
            Helper::FloorDiv { .. }
            | Helper::FloorMod { .. }
            | Helper::Div { .. }
            | Helper::Mod { .. }
            | Helper::Hidden
            | Helper::Extract
            | Helper::Insert
            | Helper::Tf32
            | Helper::Odd => &[],
        }
    }

    pub(crate) fn definition(self) -> String {
        let int = |wide: bool| if wide { "long long" } else { "int" };
        let unsigned = |wide: bool| if wide { "unsigned long long" } else { "unsigned" };
        match self {
            // The quotient by -1 is the negated dividend, which wraps. The quotient by 0 is 0.
            Helper::FloorDiv { wide } => {
                let (t, u) = (int(wide), unsigned(wide));
                format!(
                    "static __device__ __forceinline__ {t} hx_floor_div({t} a, {t} b) {{\n    \
                     const bool plain = ({u})b + 1u > 1u;\n    \
                     const {t} d = plain ? b : 1;\n    \
                     const {t} q = a / d - (a % d != 0 && (a < 0) != (d < 0));\n    \
                     return plain ? q : ({t})(0u - ({u})(a & b));\n}}\n"
                )
            }
            Helper::FloorMod { wide } => {
                let (t, u) = (int(wide), unsigned(wide));
                format!(
                    "static __device__ __forceinline__ {t} hx_floor_mod({t} a, {t} b) {{\n    \
                     const {t} d = ({u})b + 1u > 1u ? b : 1;\n    \
                     const {t} r = a % d;\n    \
                     return r != 0 && (r < 0) != (d < 0) ? r + d : r;\n}}\n"
                )
            }
            // Selects instead of a branch: the compiler then hoists a loop-invariant quotient out of its loop.
            Helper::Div { wide, signed } => {
                let t = if signed { int(wide) } else { unsigned(wide) };
                format!(
                    "static __device__ __forceinline__ {t} hx_div({t} a, {t} b) {{\n    \
                     const {t} d = b == 0 ? 1 : b;\n    \
                     const {t} q = a / d;\n    \
                     return b == 0 ? 0 : q;\n}}\n"
                )
            }
            Helper::Mod { wide, signed } => {
                let t = if signed { int(wide) } else { unsigned(wide) };
                format!(
                    "static __device__ __forceinline__ {t} hx_mod({t} a, {t} b) {{\n    \
                     const {t} d = b == 0 ? 1 : b;\n    \
                     const {t} r = a % d;\n    \
                     return b == 0 ? 0 : r;\n}}\n"
                )
            }
            Helper::Hidden => [("int", 'r'), ("long long", 'l')]
                .map(|(c_type, letter)| {
                    format!(
                        "static __device__ __forceinline__ {c_type} hx_hidden({c_type} x) {{\n    \
                         asm(\"\" : \"+{letter}\"(x));\n    \
                         return x;\n}}\n"
                    )
                })
                .join("\n"),
            Helper::Least => chosen("hx_least", LEAST),
            Helper::Most => chosen("hx_most", MOST),
            Helper::Tf32 => "static __device__ __forceinline__ unsigned hx_tf32(float x) {\n    \
                 const unsigned bits = __float_as_uint(x);\n    \
                 return x == x ? (bits + 0xfffu + ((bits >> 13) & 1u)) & 0xffffe000u : 0x7fffe000u;\n}\n"
                .to_owned(),
            Helper::Odd => [("double", "double", "x == x && "), ("int", "int", ""), ("unsigned", "uint", "")]
                .into_iter()
                .chain([("long long", "ll", ""), ("unsigned long long", "ull", "")])
                .map(|(c_type, name, number)| {
                    format!(
                        "static __device__ __forceinline__ float hx_odd({c_type} x) {{\n    \
                         const float cut = __{name}2float_rz(x);\n    \
                         return {number}({c_type})cut != x ? __uint_as_float(__float_as_uint(cut) | 1u) : cut;\n}}\n"
                    )
                })
                .collect::<Vec<_>>()
                .join("\n"),
            Helper::Extract => "static __device__ __forceinline__ unsigned hx_extract(unsigned word, int shift, int bits) {\n    \
                 return (word >> shift) & ((1u << bits) - 1u);\n}\n"
                .to_owned(),
            Helper::Insert => "static __device__ __forceinline__ unsigned hx_insert(unsigned word, unsigned value, int shift, int bits) {\n    \
                 const unsigned mask = ((1u << bits) - 1u) << shift;\n    \
                 return (word & ~mask) | ((value << shift) & mask);\n}\n"
                .to_owned(),
        }
    }
}

/// Returns the definition of a function of two `int` that returns `a` if the comparison holds between `a` and `b`, else `b`.
fn chosen(name: &str, [comparison, selection]: [&str; 2]) -> String {
    format!(
        "static __device__ __forceinline__ int {name}(int a, int b) {{\n    \
         int chosen;\n    \
         asm(\"{{ .reg .pred p; {comparison} p, %1, %2; {selection} %0, %1, %2, p; }}\" : \"=r\"(chosen) : \"r\"(a), \"r\"(b));\n    \
         return chosen;\n}}\n"
    )
}
