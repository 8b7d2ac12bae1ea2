//! The text of launchers, of kernels without machine code.

mod compare;

use expect_test::{Expect, expect};
use hx_codegen::{LaunchDescription, LaunchParam};
use hx_dtype::DType;
use hx_index::{CmpOp, Cond, Expr, Facts, Symbol};
use hx_target::Target;
use hx_thread::{TensorMap, TensorParam};
use hx_tile::Requirement;

use crate::{BuiltKernel, Front, FrontDim, LaunchDim, LauncherRequest, Product, launcher};

fn tensor(name: &str, mutable: bool, shape: &[Expr], stride: &[Expr]) -> LaunchParam {
    LaunchParam::Tensor(TensorParam {
        name: name.to_owned(),
        dtype: DType::F16,
        mutable,
        shape: shape.to_vec(),
        stride: stride.to_vec(),
        block: None,
        align: 16,
    })
}

fn dim(name: &str, is_stride: bool, divisor: u32, is_unit: bool) -> LaunchDim {
    LaunchDim { name: name.to_owned(), is_stride, divisor, is_unit }
}

/// Returns a kernel that reads rows of `x` through a tensor map, and writes `y`.
fn rows() -> BuiltKernel {
    let (m, n, ldx) = (Expr::dim("m"), Expr::dim("n"), Expr::dim("ldx"));
    let one = Expr::constant(1);
    let map = TensorMap {
        dims: vec![n.clone(), m.clone()],
        strides: vec![ldx.scale(2)],
        extents: vec![64, 8],
        swizzle: 128,
        l2: 128,
        ..TensorMap::plain(0, "x", DType::F16)
    };
    let whole = Expr::atom(hx_index::Atom::Mod(n.clone(), Expr::constant(64)));
    let clause =
        Requirement { cond: Cond::Cmp(CmpOp::Eq, whole, Expr::default()), text: "n % B == 0".to_owned() };
    let symbols = [&m, &n, &ldx].map(|e| e.symbols().into_iter().next().expect("a symbol"));
    let mut params = vec![
        tensor("x", false, &[m.clone(), n.clone()], &[ldx, one.clone()]),
        tensor("y", true, &[m.clone(), n.clone()], &[n.clone(), one]),
        LaunchParam::Scalar { name: "int".to_owned(), dtype: DType::F32 },
    ];
    params.extend(symbols.map(LaunchParam::Symbol));
    params.push(LaunchParam::Symbol(Symbol::Multiprocessors));
    params.push(LaunchParam::TensorMap(map));
    params.push(LaunchParam::Log { bytes: 32 });
    let tiles = n.div(&Expr::constant(64), &Facts::default());
    BuiltKernel {
        name: "rows".to_owned(),
        symbol: "rows".to_owned(),
        launch: LaunchDescription {
            params,
            grid: vec![tiles.minimum(&Expr::symbol(Symbol::Multiprocessors), &Facts::default()), m],
            cluster: [2, 1, 1],
            threads: 128,
            shared_bytes: 65536,
            waits_for_previous: true,
            requires: vec![clause],
        },
        dims: vec![
            dim("m", false, 1, false),
            dim("n", false, 16, false),
            dim("ldx", true, 8, false),
            dim("sx", true, 1, true),
        ],
        arguments: vec![("B".to_owned(), "64".to_owned())],
        counters: Vec::new(),
        assertions: vec!["every element is finite".to_owned()],
        in_place: Vec::new(),
        code: vec![127, 69, 76, 70],
    }
}

fn request(kernels: &[BuiltKernel]) -> LauncherRequest<'_> {
    LauncherRequest {
        stem: "rows",
        file: "rows.hx",
        version: "1.2.3",
        target: Target::usual(),
        kernels,
        front: None,
    }
}

/// Compares the part of the text from a line that contains `from` on.
fn check_from(text: &str, from: &str, want: &Expect) {
    let at = text.find(from).expect("it is in the text");
    want.assert_eq(&text[at..]);
}

#[test]
fn the_header_says_what_a_launch_takes() {
    let kernels = [rows()];
    let text = launcher(&request(&kernels)).expect("it can be written");
    check_from(
        &text.header,
        "#define HX_ROWS_LOG_BYTES",
        &expect![[r##"
        #define HX_ROWS_LOG_BYTES 32
        /* Launches `rows` with B = 64.

           x: f16[m, n] with strides [ldx, 1], aligned to 16 bytes
           y: f16[m, n] with strides [n, 1], aligned to 16 bytes, written
           int_: f32
           m: dimension
           n: dimension, a multiple of 16
           ldx: stride, in elements, a multiple of 8
           sx: stride, in elements, which is 1
           log: HX_ROWS_LOG_BYTES = 32 bytes of zeros, or more
           where n % B == 0

           The log has 64-bit words, which the kernel adds to. Word 1 counts prints; their values are not kept.
           Word 2 counts the elements that fail: every element is finite */
        enum hx_status hx_rows(const void *x, void *y, float int_, int64_t m, int64_t n, int64_t ldx, int64_t sx,
            void *log, void *stream);

        /* Loads the code of every kernel into the current context, which the first launch does otherwise: before a
           capture of a graph, for instance. */
        enum hx_status hx_rows_load(void);

        /* Returns the message of the last call of this thread that failed; "" if none did. */
        const char *hx_rows_error(void);

        #ifdef __cplusplus
        }
        #endif

        #endif
    "##]],
    );
}

#[test]
fn a_launch_checks_what_the_kernel_relies_on() {
    let kernels = [rows()];
    let text = launcher(&request(&kernels)).expect("it can be written");
    check_from(
        &text.source,
        "__attribute__((aligned(16))) static const",
        &expect![[r#"
        __attribute__((aligned(16))) static const unsigned char hx_code_0[4] = {
        127,69,76,70,
        };

        static const struct hx_kernel hx_kernels[HX_KERNELS] = {
            {"hx_rows", "rows", hx_code_0, 0, "sm_90a", 90, 1, 128, 65536, {2, 1, 1}, 1, 1},
        };

        enum hx_status hx_rows(const void *x, void *y, float int_, int64_t m, int64_t n, int64_t ldx, int64_t sx,
            void *log, void *stream) {
            const struct hx_kernel *hx_this = &hx_kernels[0];
            struct hx_context *hx_at = NULL;
            enum hx_status hx_result;
            hx_result = hx_check_dimension(hx_this, "dimension", "m", m, 1);
            if (hx_result != HX_OK) return hx_result;
            hx_result = hx_check_dimension(hx_this, "dimension", "n", n, 16);
            if (hx_result != HX_OK) return hx_result;
            hx_result = hx_check_dimension(hx_this, "stride", "ldx", ldx, 8);
            if (hx_result != HX_OK) return hx_result;
            hx_result = hx_check_unit(hx_this, "sx", sx);
            if (hx_result != HX_OK) return hx_result;
            hx_result = hx_current(hx_this->function, &hx_at);
            if (hx_result != HX_OK) return hx_result;
            const int64_t hx_processors = hx_at->multiprocessors;
            if (!(n % 64 == 0))
                return hx_fail(HX_ERROR_REQUIREMENT, hx_this->function,
                               "`n %% B == 0` does not hold with n = %lld, B = 64", (long long)n);
            const int64_t hx_extents_x[] = {m, n};
            hx_result = hx_check_tensor(hx_this, "x", x, 16, hx_extents_x, 2);
            if (hx_result != HX_OK) return hx_result;
            const int64_t hx_extents_y[] = {m, n};
            hx_result = hx_check_tensor(hx_this, "y", y, 16, hx_extents_y, 2);
            if (hx_result != HX_OK) return hx_result;
            hx_result = hx_check_log(hx_this, log);
            if (hx_result != HX_OK) return hx_result;
            const int64_t hx_grid[3] = {hx_min(hx_processors, n / 64), m, 1};
            hx_result = hx_check_grid(hx_this, hx_grid);
            if (hx_result != HX_OK) return hx_result;
            if (hx_grid[0] == 0 || hx_grid[1] == 0 || hx_grid[2] == 0) return HX_OK;
            hx_result = hx_load(hx_this, hx_at);
            if (hx_result != HX_OK) return hx_result;
            uint64_t hx_value_x = (uint64_t)(uintptr_t)x;
            uint64_t hx_value_y = (uint64_t)(uintptr_t)y;
            int32_t hx_value_m = (int32_t)m;
            int32_t hx_value_n = (int32_t)n;
            int32_t hx_value_ldx = (int32_t)ldx;
            int32_t hx_processors_value = (int32_t)hx_processors;
            struct hx_map hx_map_0;
            {
                const int64_t hx_dims[] = {n, m};
                const int64_t hx_strides[] = {ldx * 2};
                const uint32_t hx_box[] = {64, 8};
                const struct hx_map_of hx_of = {"x", x, 0, 6, 3, 2, 0, 2, hx_dims, hx_strides, hx_box};
                hx_result = hx_encode(hx_this, hx_at, stream, &hx_of, &hx_map_0);
            }
            if (hx_result != HX_OK) return hx_result;
            uint64_t hx_value_log = (uint64_t)(uintptr_t)log;
            void *hx_arguments[] = {&hx_value_x, &hx_value_y, &int_, &hx_value_m, &hx_value_n, &hx_value_ldx,
                &hx_processors_value, hx_map_0.bytes, &hx_value_log};
            return hx_launch(hx_this, hx_at, hx_grid, hx_arguments, stream);
        }

        enum hx_status hx_rows_load(void) {
            struct hx_context *context = NULL;
            enum hx_status status = hx_current("hx_rows_load", &context);
            int i;
            for (i = 0; status == HX_OK && i < HX_KERNELS; i++) status = hx_load(&hx_kernels[i], context);
            return status;
        }

        const char *hx_rows_error(void) {
            return hx_message;
        }
    "#]],
    );
}

/// A compiler warns of a function that nothing calls.
#[test]
fn only_called_functions_are_written() {
    let mut kernel = rows();
    kernel.launch.params.retain(|param| !matches!(param, LaunchParam::TensorMap(_)));
    let text = launcher(&request(&[kernel])).expect("it can be written");
    let has = |name: &str| text.source.contains(&format!(" {name}("));
    assert!(has("hx_check_dimension") && has("hx_min") && has("hx_open"));
    assert!(!has("hx_encode") && !has("hx_max") && !has("hx_div") && !has("hx_bytes"));
    assert!(!text.source.contains("struct hx_map"));
}

#[test]
fn functions_of_several_kernels_have_names_of_their_own() {
    let other = BuiltKernel { name: "columns".to_owned(), ..rows() };
    let text = launcher(&request(&[rows(), other])).expect("it can be written");
    assert!(text.header.contains("enum hx_status hx_rows_rows(") && text.header.contains("hx_rows_columns("));
    let error = BuiltKernel { name: "error".to_owned(), ..rows() };
    assert_eq!(
        launcher(&request(&[rows(), error])),
        Err("the function of `error` cannot be called `hx_rows_error`, which is another one".to_owned())
    );
}

#[test]
fn numbers_without_a_type_in_c_are_refused() {
    let mut kernel = rows();
    kernel.launch.params[2] = LaunchParam::Scalar { name: "s".to_owned(), dtype: DType::I4 };
    assert_eq!(
        launcher(&request(&[kernel])),
        Err("C has no type for `s: i4` of the kernel `rows`".to_owned())
    );
}

/// Two members of one family: one takes the stride of `x`, the other takes `x` without gaps.
#[test]
fn a_front_chooses_between_members() {
    let without_log = |kernel: BuiltKernel| {
        let params =
            kernel.launch.params.into_iter().filter(|param| !matches!(param, LaunchParam::Log { .. }));
        let launch = LaunchDescription { params: params.collect(), ..kernel.launch };
        BuiltKernel { launch, assertions: Vec::new(), ..kernel }
    };
    let kernels =
        ["rows_B_64", "rows_B_8"].map(|name| BuiltKernel { name: name.to_owned(), ..without_log(rows()) });
    let product = |number, dims: &[usize]| Product { number, dims: dims.to_vec() };
    let passed = vec![product(1, &[0]), product(1, &[1]), product(2, &[0, 1]), product(1, &[])];
    let front = Front {
        name: "rows".to_owned(),
        dims: vec![
            FrontDim { name: "m".to_owned(), divisor: 1, samples: vec![1, 4, 64] },
            FrontDim { name: "n".to_owned(), divisor: 16, samples: vec![4096] },
        ],
        table: vec![0, 1, 1],
        passed: vec![passed.clone(), passed],
    };
    let request = LauncherRequest { front: Some(&front), ..request(&kernels) };
    let text = launcher(&request).expect("it can be written");
    let (header, source) = (text.header, text.source);
    let start = header.find("/* Launches the member").expect("it is declared");
    let end = header[start..].find(";\n").map_or(header.len(), |at| start + at + 2);
    expect![[r#"
        /* Launches the member of the family of `rows` that is the fastest for the dimensions by the cost model.

           x: f16, 2 dimensions in row-major order without gaps
           y: f16, 2 dimensions in row-major order without gaps, written
           int_: f32
           m: dimension; the choice is for 1 to 64
           n: dimension, a multiple of 16; the choice is for 4096

           A launch with dimensions outside of these takes the member for the nearest ones. */
        enum hx_status hx_rows(const void *x, void *y, float int_, int64_t m, int64_t n, void *stream);
    "#]].assert_eq(&header[start..end]);
    let front = source.find("static enum hx_status hx_member").expect("it is written");
    let after = source.find("enum hx_status hx_rows_load").expect("it is written");
    expect![[r#"
        static enum hx_status hx_member(int hx_number, const void *x, void *y, float int_, int64_t m, int64_t n, void *stream) {
            switch (hx_number) {
            case 0: return hx_rows_rows_B_64(x, y, int_, m, n, hx_times(hx_times(2, m), n), 1, stream);
            default: return hx_rows_rows_B_8(x, y, int_, m, n, hx_times(hx_times(2, m), n), 1, stream);
            }
        }

        enum hx_status hx_rows(const void *x, void *y, float int_, int64_t m, int64_t n, void *stream) {
            static const int64_t hx_limits_0[] = {2, 16};
            static const unsigned char hx_table[] = {
                0, 1, 1};
            int hx_at = 0, hx_other;
            enum hx_status hx_result;
            hx_at = hx_at * 3 + hx_nearest(m, hx_limits_0, 2);
            hx_result = hx_member(hx_table[hx_at], x, y, int_, m, n, stream);
            for (hx_other = 0; hx_other < 2 && hx_is_unfit(hx_result); hx_other++)
                hx_result = hx_member(hx_other, x, y, int_, m, n, stream);
            return hx_result;
        }

    "#]]
    .assert_eq(&source[front..after]);
}
