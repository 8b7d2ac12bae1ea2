//! `hx build --emit c`: launchers are compiled as C and as C++, without warnings, and run against a driver that prints its calls.
//!
//! It needs the CUDA compiler and a C compiler, and no GPU. `tests/ahead/driver.c` is the driver.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::support::{Sandbox, hx, own_variables, root, skip};

/// A compiler with the flags under which a launcher compiles without a warning.
const COMPILERS: [(&str, &[&str]); 3] = [
    ("cc", &["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]),
    ("cc", &["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror"]),
    ("c++", &["-x", "c++", "-std=c++17", "-Wall", "-Wextra", "-Werror"]),
];

/// A folder with a launcher, the driver that prints, and the description of one of the kernels.
struct Ahead {
    sandbox: Sandbox,
    description: Value,
}

/// A C expression that calls a launcher, and the environment variables that are set during the call, by name and value.
struct Call {
    settings: &'static [(&'static str, &'static str)],
    code: &'static str,
}

const fn call(code: &'static str) -> Call {
    Call { settings: &[], code }
}

const fn with(settings: &'static [(&'static str, &'static str)], code: &'static str) -> Call {
    Call { settings, code }
}

impl Ahead {
    /// Builds the kernel of a file as `k.h` and `k.c`, and its description. Returns `None` if the machine lacks a compiler.
    fn new(test: &str, file: &str, arguments: &[&str]) -> Option<Ahead> {
        let sandbox = Sandbox::new();
        if !driver(&sandbox, "libcuda.so.1", &[]) {
            skip(test, "there is no C compiler", "HX_REQUIRE_CC");
            return None;
        }
        sandbox.write("k.hx", file.as_bytes());
        let build = [&["build", "k.hx", "-o", "k"], arguments].concat();
        let ran = sandbox.run(&[&build[..], &["--emit", "cubin"]].concat());
        if ran.code == 3 {
            skip(test, "there is no CUDA compiler", "HX_REQUIRE_NVRTC");
            return None;
        }
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let ran = sandbox.run(&[&build[..], &["--emit", "c"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let text = std::fs::read(sandbox.path("k.json")).expect("it was built");
        Some(Ahead { sandbox, description: serde_json::from_slice(&text).expect("JSON") })
    }

    /// Returns the size of each kernel parameter in bytes, separated by spaces: the value of `HX_STUB_SIZES`, which the driver
    /// reads.
    fn sizes(&self) -> String {
        let sizes = self.description["params"].as_array().expect("a list").iter().map(|param| {
            match (param["kind"].as_str().expect("a text"), param["dtype"].as_str()) {
                ("tensor_map", _) => "128",
                ("symbol", _) | ("scalar", Some("f32" | "i32")) => "4",
                ("scalar", Some("f16")) => "2",
                ("tensor" | "log", _) | ("scalar", Some("i64")) => "8",
                other => panic!("a parameter {other:?}"),
            }
        });
        sizes.collect::<Vec<_>>().join(" ")
    }

    /// Compiles the calls with every compiler, and compares what the driver and the launcher say. Numbers of the description are
    /// replaced by their names.
    fn check(&self, calls: &[Call], want: &Expect) {
        let mut statements = format!("setenv(\"HX_STUB_SIZES\", \"{}\", 1);\n", self.sizes());
        for Call { settings, code } in calls {
            for (name, value) in *settings {
                statements += &format!("setenv(\"{name}\", \"{value}\", 1);\n");
            }
            statements += &format!("puts(\"{code}\");\nshow({code});\n");
            for (name, _) in *settings {
                statements += &format!("unsetenv(\"{name}\");\n");
            }
        }
        let mut transcripts = self.transcripts("", &statements).into_iter();
        let first = transcripts.next().expect("there are compilers");
        transcripts.for_each(|transcript| assert_eq!(transcript, first));
        want.assert_eq(&self.named(first));
    }

    /// Compiles a program with each compiler of [`COMPILERS`], runs it, and returns what each wrote to stdout. `statements` is
    /// the body of `main`, `functions` is C text before it.
    fn transcripts(&self, functions: &str, statements: &str) -> Vec<String> {
        let program = format!("{PREFACE}{functions}\nint main(void) {{\n{statements}return 0;\n}}\n");
        self.sandbox.write("main.c", program.as_bytes());
        let run = |(compiler, flags): (&str, &[&str])| {
            let mut command = Command::new(compiler);
            command.args(flags).args(["main.c", "k.c", "-o", "main", "-ldl", "-lpthread"]);
            let output = command.current_dir(self.sandbox.path("")).output().expect("the compiler starts");
            let errors = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success() && errors.is_empty(), "{compiler} {flags:?}: {errors}");
            let mut command = Command::new(self.sandbox.path("main"));
            command.env("LD_LIBRARY_PATH", self.sandbox.path("")).stdin(Stdio::null());
            let output = command.output().expect("the program starts");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        COMPILERS.into_iter().map(run).collect()
    }

    fn named(&self, transcript: String) -> String {
        let number = |name: &str| self.description[name].as_u64().expect("a number").to_string();
        let (threads, shared) = (number("threads"), number("shared_bytes"));
        let mut text = transcript.replace(&format!("block {threads} 1 1, "), "block THREADS, ");
        text = text.replace(&format!("shared {shared}, "), "shared SHARED, ");
        text = text.replace(&format!("is {shared}\n"), "is SHARED\n");
        for param in self.description["params"].as_array().expect("a list") {
            let Some(extents) = param["box"].as_array() else { continue };
            let extents: Vec<String> = extents.iter().map(ToString::to_string).collect();
            text = text.replace(&format!("box {}, ", extents.join(" ")), "box BOX, ");
        }
        text
    }
}

/// The beginning of each test program: includes, and a macro that turns a number into an address.
const PREFACE: &str = r#"#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "k.h"

#define P(address) ((void *)(uintptr_t)(address))

void show(enum hx_status status);
void show(enum hx_status status) {
    if (status == HX_OK) puts("  ok");
    if (status != HX_OK) printf("  %d %s\n", (int)status, hx_k_error());
}
"#;

/// Compiles the driver that prints. Returns false if there is no C compiler.
fn driver(sandbox: &Sandbox, name: &str, flags: &[&str]) -> bool {
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]);
    command.args(["-Wl,-soname,libcuda.so.1", "-o"]);
    command.arg(sandbox.path(name)).args(flags).arg(root().join("tests/ahead/driver.c"));
    match command.output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            true
        }
        Err(_) => false,
    }
}

fn kernels(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("it can be read")
}

const TWICE: &str =
    "kernel twice<B = 64, T: type = f16>(x: T[m, n] : [ldx, 1], y: mut T[m, n], z: mut T[n], by: f32)
    where n % B == 0 && m < 100000
    grid [n / B, m]
    threads 32
{
    let [b, row] = block_idx;
    let r = register_tensor(T, [1, B]);
    copy(tile(x, [1, B])[.., .., row, b], r);
    copy(r + r, tile(y, [1, B])[.., .., row, b]);
}
";

#[test]
fn a_launch_that_breaks_a_promise_is_refused() {
    let Some(ahead) =
        Ahead::new("a_launch_that_breaks_a_promise_is_refused", TWICE, &["--facts", "n%8,ldx%16"])
    else {
        return;
    };
    ahead.check(
        &[
            call("hx_k(P(4096), P(8192), P(64), 2.5f, 3, 128, 144, P(7))"),
            call("hx_k(P(4096), P(8192), P(64), 1.0f, -1, 128, 144, NULL)"),
            call("hx_k(P(4096), P(8192), P(64), 1.0f, 2147483648LL, 128, 144, NULL)"),
            call("hx_k(P(4096), P(8192), P(64), 1.0f, 3, 132, 144, NULL)"),
            call("hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 136, NULL)"),
            call("hx_k(P(4096), P(8192), P(64), 1.0f, 3, 72, 144, NULL)"),
            call("hx_k(P(4104), P(8192), P(64), 1.0f, 3, 128, 144, NULL)"),
            call("hx_k(NULL, P(8192), P(64), 1.0f, 3, 128, 144, NULL)"),
            call("hx_k(P(4096), P(8192), P(8192 + 752), 1.0f, 3, 128, 144, NULL)"),
            call("hx_k(P(4096), P(8192), P(8192 + 768), 1.0f, 3, 128, 144, NULL)"),
            call("hx_k(P(4096), P(8192), P(64), 1.0f, 70000, 128, 144, NULL)"),
            call("hx_k(NULL, NULL, P(64), 1.0f, 0, 128, 144, NULL)"),
            with(&[("HX_STUB_CONTEXT", "none")], "hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)"),
            with(&[("HX_STUB_CONTEXT", "off")], "hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)"),
            with(
                &[("HX_STUB_CONTEXT", "2"), ("HX_STUB_CAPABILITY", "80")],
                "hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)",
            ),
            with(
                &[("HX_STUB_FAILS", "cuLaunchKernelEx")],
                "hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)",
            ),
            with(
                &[("HX_STUB_CONTEXT", "3"), ("HX_STUB_FAILS", "cuModuleGetFunction")],
                "hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)",
            ),
            with(&[("HX_STUB_CONTEXT", "3")], "hx_k_load()"),
        ],
        &expect![[r#"
            hx_k(P(4096), P(8192), P(64), 2.5f, 3, 128, 144, P(7))
                load machine code in context 1
                launch twice: grid 2 3 1, block THREADS, shared SHARED, stream 0x7, parameters 0x1000 0x2000 0x40 1075838976 3 128 144
              ok
            hx_k(P(4096), P(8192), P(64), 1.0f, -1, 128, 144, NULL)
              1 hx_k: the dimension `m` is -1, expected 0 to 2147483647
            hx_k(P(4096), P(8192), P(64), 1.0f, 2147483648LL, 128, 144, NULL)
              1 hx_k: the dimension `m` is 2147483648, expected 0 to 2147483647
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 132, 144, NULL)
              2 hx_k: the dimension `n` is 132, expected a multiple of 8, because the kernel was built for that
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 136, NULL)
              2 hx_k: the stride `ldx` is 136, expected a multiple of 16, because the kernel was built for that
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 72, 144, NULL)
              3 hx_k: `n % B == 0 && m < 100000` does not hold with m = 3, n = 72, B = 64
            hx_k(P(4104), P(8192), P(64), 1.0f, 3, 128, 144, NULL)
              4 hx_k: `x` is 0x1008, expected a multiple of 16 bytes
            hx_k(NULL, P(8192), P(64), 1.0f, 3, 128, 144, NULL)
              4 hx_k: `x` is a null pointer, expected device memory
            hx_k(P(4096), P(8192), P(8192 + 752), 1.0f, 3, 128, 144, NULL)
              4 hx_k: `y` and `z` share memory, and the kernel writes `z`
            hx_k(P(4096), P(8192), P(8192 + 768), 1.0f, 3, 128, 144, NULL)
                launch twice: grid 2 3 1, block THREADS, shared SHARED, stream (nil), parameters 0x1000 0x2000 0x2300 1065353216 3 128 144
              ok
            hx_k(P(4096), P(8192), P(64), 1.0f, 70000, 128, 144, NULL)
              5 hx_k: the grid has 70000 blocks along axis 1, expected 0 to 65535
            hx_k(NULL, NULL, P(64), 1.0f, 0, 128, 144, NULL)
              ok
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)
              8 hx_k: no CUDA context is current on this thread: call `cudaSetDevice` or `cuCtxSetCurrent` first
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)
              8 hx_k: no CUDA context is current on this thread: call `cudaSetDevice` or `cuCtxSetCurrent` first
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)
              9 hx_k: the code is for sm_90a, compute capability 9.0, and device 1 has 8.0
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)
                launch twice: grid 2 3 1, block THREADS, shared SHARED, stream (nil), parameters 0x1000 0x2000 0x40 1065353216 3 128 144
              10 hx_k: the launch failed: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED, code 719)
            hx_k(P(4096), P(8192), P(64), 1.0f, 3, 128, 144, NULL)
                load machine code in context 3
                unload
              10 hx_k: finding the kernel in its code failed: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED, code 719)
            hx_k_load()
                load machine code in context 3
              ok
        "#]],
    );
}

/// Numbers that overflow are refused where the compiler cannot prove that they fit.
#[test]
fn computed_numbers_are_checked() {
    let text = "kernel boxes(x: f32[a, b, c], y: mut f32[s - 4], s: i64)
    where a * b * c < 1000000 && (s - 7) / 2 > -4
    grid [cdiv(b, c), (s + 1) / 2]
    threads 32
{
    let r = register_tensor(f32, [1]);
    copy(tile(y, [1])[.., 0], r);
    copy(r + r, tile(y, [1])[.., 0]);
}
";
    let Some(ahead) = Ahead::new("computed_numbers_are_checked", text, &["--facts", "none"]) else { return };
    ahead.check(
        &[
            call("hx_k(P(4096), P(8192), 9, 2, 7, 3, NULL)"),
            call("hx_k(P(4096), P(8192), 9, 2147483647, 2147483647, 2147483647, NULL)"),
            call("hx_k(P(4096), P(8192), 9, 200, 700, 300, NULL)"),
            call("hx_k(P(4096), P(8192), 9, 2, 7, 0, NULL)"),
            call("hx_k(P(4096), P(8192), 0, 2, 7, 3, NULL)"),
            call("hx_k(P(4096), P(8192), 3, 2, 7, 3, NULL)"),
            call("hx_k(P(4096), P(8192), INT64_MAX, 2, 7, 3, NULL)"),
            call("hx_k(P(4096), P(8192), 2147483651LL, 2, 7, 3, NULL)"),
        ],
        &expect![[r#"
            hx_k(P(4096), P(8192), 9, 2, 7, 3, NULL)
                load machine code in context 1
                launch boxes: grid 3 5 1, block THREADS, shared SHARED, stream (nil), parameters 0x1000 0x2000 0x9 2 7 3
              ok
            hx_k(P(4096), P(8192), 9, 2147483647, 2147483647, 2147483647, NULL)
              3 hx_k: `a * b * c < 1000000 && (s - 7) / 2 > -4` cannot be decided: a number overflows or a divisor is 0 with a = 2147483647, b = 2147483647, c = 2147483647, s = 9
            hx_k(P(4096), P(8192), 9, 200, 700, 300, NULL)
              3 hx_k: `a * b * c < 1000000 && (s - 7) / 2 > -4` does not hold with a = 200, b = 700, c = 300, s = 9
            hx_k(P(4096), P(8192), 9, 2, 7, 0, NULL)
              5 hx_k: the blocks of the grid cannot be counted: a number overflows or a divisor is 0 with b = 7, c = 0, s = 9
            hx_k(P(4096), P(8192), 0, 2, 7, 3, NULL)
              3 hx_k: `a * b * c < 1000000 && (s - 7) / 2 > -4` does not hold with a = 2, b = 7, c = 3, s = 0
            hx_k(P(4096), P(8192), 3, 2, 7, 3, NULL)
              1 hx_k: dimension 0 of `y` is -1, expected 0 to 2147483647
            hx_k(P(4096), P(8192), INT64_MAX, 2, 7, 3, NULL)
              1 hx_k: dimension 0 of `y` is 9223372036854775803, expected 0 to 2147483647
            hx_k(P(4096), P(8192), 2147483651LL, 2, 7, 3, NULL)
              5 hx_k: the grid has 1073741826 blocks along axis 1, expected 0 to 65535
        "#]],
    );
}

#[test]
fn tensor_maps_are_encoded_for_each_launch() {
    const TEST: &str = "tensor_maps_are_encoded_for_each_launch";
    let gemm = kernels("std/gemm.hx");
    let Some(ahead) =
        Ahead::new(TEST, &gemm, &["--kernel", "gemm", "--facts", "k%8,n%8,a0%8,b0%8,c0%8,a1=1,b1=1"])
    else {
        return;
    };
    ahead.check(
        &[
            call("hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 1, 136, 72, 1, 136, NULL)"),
            // Without a `k` both operands are empty, and the results are zero.
            call("hx_k(NULL, NULL, P(131072), 200, 0, 80, 1, 136, 72, 1, 136, NULL)"),
            call("hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 2, 136, 72, 1, 136, NULL)"),
            call("hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 1, 136, 72, 1, 128, NULL)"),
            with(
                &[("HX_STUB_FAILS", "cuTensorMapEncodeTiled")],
                "hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 1, 136, 72, 1, 136, NULL)",
            ),
        ],
        &expect![[r#"
            hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 1, 136, 72, 1, 136, NULL)
                load machine code in context 1
                attribute 8 of gemm is SHARED
                allocate 512 bytes
                fill 512 bytes at 0x70000 with 0 on stream (nil)
                wait for stream (nil)
                map 1: element 9 at 0x1000, dims 72 200, strides 160, box BOX, steps 1 1, interleave 0, swizzle 3, l2 2, fill 0
                map 2: element 9 at 0x10000, dims 72 136, strides 144, box BOX, steps 1 1, interleave 0, swizzle 3, l2 2, fill 0
                map 3: element 9 at 0x20000, dims 136 200, strides 272, box BOX, steps 1 1, interleave 0, swizzle 3, l2 2, fill 0
                launch gemm: grid 2 1 1, block THREADS, shared SHARED, stream (nil), parameters 0x1000 0x10000 0x20000 200 72 80 136 72 136 132 map 1 map 2 map 3
              ok
            hx_k(NULL, NULL, P(131072), 200, 0, 80, 1, 136, 72, 1, 136, NULL)
                map 4: element 9 at 0x70000, dims 1 1, strides 256, box BOX, steps 1 1, interleave 0, swizzle 3, l2 2, fill 0
                map 5: element 9 at 0x70000, dims 1 1, strides 256, box BOX, steps 1 1, interleave 0, swizzle 3, l2 2, fill 0
                map 6: element 9 at 0x20000, dims 136 200, strides 272, box BOX, steps 1 1, interleave 0, swizzle 3, l2 2, fill 0
                launch gemm: grid 2 1 1, block THREADS, shared SHARED, stream (nil), parameters 0x0 0x0 0x20000 200 0 80 136 72 136 132 map 4 map 5 map 6
              ok
            hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 2, 136, 72, 1, 136, NULL)
              2 hx_k: the stride `a1` is 2, expected 1, because the kernel was built for that
            hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 1, 136, 72, 1, 128, NULL)
              1 hx_k: elements of `c` share memory, and the kernel writes it: the stride of dimension 0 is 128, expected more than 135
            hx_k(P(4096), P(65536), P(131072), 200, 72, 80, 1, 136, 72, 1, 136, NULL)
                map 7: element 9 at 0x1000, dims 72 200, strides 160, box BOX, steps 1 1, interleave 0, swizzle 3, l2 2, fill 0
              10 hx_k: encoding a tensor map failed: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED, code 719)
        "#]],
    );
}

#[test]
fn clusters_and_overlapping_launches_have_their_attributes() {
    const TEST: &str = "clusters_and_overlapping_launches_have_their_attributes";
    let clusters = kernels("tests/kernels_sm_90a/clusters.hx");
    let Some(ahead) = Ahead::new(TEST, &clusters, &["--kernel", "shared_tile", "--facts", "m%4"]) else {
        return;
    };
    ahead.check(
        &[
            call("hx_k(P(4096), P(65536), 1000, NULL)"),
            with(&[("HX_STUB_SHARED", "1024"), ("HX_STUB_CONTEXT", "2")], "hx_k(P(4096), P(65536), 1000, NULL)"),
        ],
        &expect![[r#"
            hx_k(P(4096), P(65536), 1000, NULL)
                load machine code in context 1
                allocate 512 bytes
                fill 512 bytes at 0x70000 with 0 on stream (nil)
                wait for stream (nil)
                map 1: element 7 at 0x1000, dims 1000, strides, box BOX, steps 1, interleave 0, swizzle 0, l2 2, fill 0
                launch shared_tile: grid 8 1 1, block THREADS, shared SHARED, stream (nil), cluster 2 1 1, parameters 0x1000 0x10000 1000 map 1
              ok
            hx_k(P(4096), P(65536), 1000, NULL)
              9 hx_k: a block needs 1040 bytes of shared memory, and device 1 has 1024
        "#]],
    );
    let dependent = kernels("tests/kernels_sm_90a/dependent.hx");
    let Some(ahead) = Ahead::new(TEST, &dependent, &["--kernel", "passed"]) else { return };
    ahead.check(&[call("hx_k(P(4096), P(65536), 2048, NULL)")], &expect![[r#"
        hx_k(P(4096), P(65536), 2048, NULL)
            load machine code in context 1
            launch passed: grid 2 1 1, block THREADS, shared SHARED, stream (nil), overlaps 1, parameters 0x1000 0x10000 2048
          ok
    "#]]);
}

/// The launcher of a kernel with `print` or `assert` takes a log buffer, whose words count the prints and the failed elements.
#[test]
fn a_log_is_a_parameter() {
    let text = "kernel shown(x: f32[n]) grid [1] threads 32 {
    let r = register_tensor(f32, [32]);
    copy(tile(x, [32])[.., 0], r);
    print(r);
    assert(r >= 0.0, \"no element is negative\");
}
";
    let Some(ahead) = Ahead::new("a_log_is_a_parameter", text, &[]) else { return };
    let header = std::fs::read_to_string(ahead.sandbox.path("k.h")).expect("it was built");
    let at = header.find("/* Launches `shown`").expect("it is described");
    expect![[r#"
        /* Launches `shown`.

           x: f32[n] with strides [1], aligned to 16 bytes
           n: dimension, a multiple of 16
           log: HX_K_LOG_BYTES = 32 bytes of zeros, or more

           The log has 64-bit words, which the kernel adds to. Word 1 counts prints; their values are not kept.
           Word 2 counts the elements that fail: no element is negative */
        enum hx_status hx_k(const void *x, int64_t n, void *log, void *stream);"#]].assert_eq(header[at..].split("\n\n/* Loads").next().unwrap_or_default());
    ahead.check(
        &[call("hx_k(P(4096), 32, P(1024), NULL)"), call("hx_k(P(4096), 32, NULL, NULL)")],
        &expect![[r#"
            hx_k(P(4096), 32, P(1024), NULL)
                load machine code in context 1
                launch shown: grid 1 1 1, block THREADS, shared SHARED, stream (nil), parameters 0x1000 32 0x400
              ok
            hx_k(P(4096), 32, NULL, NULL)
              4 hx_k: the log is (nil), expected device memory at a multiple of 8 bytes
        "#]],
    );
}

/// Threads that launch at the same time load the code once into each context.
#[test]
fn each_context_loads_the_code_once() {
    let Some(ahead) = Ahead::new("each_context_loads_the_code_once", TWICE, &[]) else { return };
    let threads = r#"
static void *many(void *unused) {
    int i;
    for (i = 0; i < 100; i++) show(hx_k_load());
    return unused;
}
"#;
    let statements = "pthread_t threads[8];\nint i, context;\n\
        for (context = 1; context < 4; context++) {\n\
        setenv(\"HX_STUB_CONTEXT\", context == 1 ? \"1\" : context == 2 ? \"22\" : \"1\", 1);\n\
        for (i = 0; i < 8; i++) pthread_create(&threads[i], NULL, many, NULL);\n\
        for (i = 0; i < 8; i++) pthread_join(threads[i], NULL);\n}\n";
    for transcript in ahead.transcripts(threads, statements) {
        let loads: Vec<&str> = transcript.lines().filter(|line| line.contains("load")).collect();
        assert_eq!(loads, ["    load machine code in context 1", "    load machine code in context 22"]);
        assert_eq!(transcript.lines().filter(|line| *line == "  ok").count(), 2400);
    }
}

#[test]
fn a_missing_or_old_driver_is_named() {
    let Some(ahead) = Ahead::new("a_missing_or_old_driver_is_named", TWICE, &[]) else { return };
    assert!(driver(&ahead.sandbox, "libcuda.so.1", &["-DHX_STUB_OLD"]));
    ahead.check(
        &[call("hx_k_load()"), call("hx_k(P(4096), P(8192), P(64), 1.0f, 16, 128, 144, NULL)")],
        &expect![[r#"
            hx_k_load()
              7 hx_k_load: the CUDA driver has no `cuCtxGetId`: expected a driver for CUDA 12.0 or later
            hx_k(P(4096), P(8192), P(64), 1.0f, 16, 128, 144, NULL)
              7 hx_k: the CUDA driver has no `cuCtxGetId`: expected a driver for CUDA 12.0 or later
        "#]],
    );
}

/// Several kernels become one header and one source. An entry of `--set` or `--facts` applies to each kernel that has its name,
/// and is refused if no kernel has it.
#[test]
fn every_kernel_of_a_file_is_built() {
    let text = format!("{TWICE}kernel nothing(x: f32[n]) grid [1] threads 32 {{ }}\n");
    let Some(ahead) = Ahead::new("every_kernel_of_a_file_is_built", &text, &["--kernel", "nothing"]) else {
        return;
    };
    let build = |arguments: &[&str]| {
        let ran =
            ahead.sandbox.run(&[&["build", "k.hx", "--emit", "c", "-o", "out/both.cpp"], arguments].concat());
        format!("{}\n{}", ran.code, ran.stderr)
    };
    expect![[r#"
        0
        built 2 kernels: out/both.h and out/both.cpp
        `twice`: 12 registers (ptxas)
        `nothing`: 4 registers (ptxas)
    "#]]
    .assert_eq(&build(&["--set", "B=32", "--facts", "ldx%8,n%4"]));
    let header = std::fs::read_to_string(ahead.sandbox.path("out/both.h")).expect("it was built");
    let declared: Vec<&str> = header.lines().filter(|line| line.contains("hx_both")).collect();
    expect![[r#"
           described, it launches nothing, returns the reason, and `hx_both_error` has a message. A grid of 0 blocks is
        enum hx_status hx_both_twice(const void *x, void *y, void *z, float by, int64_t m, int64_t n, int64_t ldx,
        enum hx_status hx_both_nothing(const void *x, int64_t n, void *stream);
        enum hx_status hx_both_load(void);
        const char *hx_both_error(void);"#]].assert_eq(&declared.join("\n"));
    let source: PathBuf = ahead.sandbox.path("out/both.cpp");
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-c", "-o", "/dev/null"]).arg(&source);
    assert!(command.status().expect("the compiler starts").success());
    expect![[r#"
        2
        error: `twice` has no compile-time parameter `C`

        For more information, try '--help'.
    "#]]
    .assert_eq(&build(&["--set", "C=32"]));
    expect![[r#"
        2
        error: the launch has no dimension or stride `q`; it has m, n, ldx

        For more information, try '--help'.
    "#]]
    .assert_eq(&build(&["--facts", "q%8"]));
    expect![[r#"
        2
        error: `--shape` is the shape of one kernel; `--kernel NAME` says which

        For more information, try '--help'.
    "#]]
    .assert_eq(&build(&["--shape", "m=16"]));
    let ran = ahead.sandbox.run(&["build", "k.hx", "--emit", "c", "-o", "both.txt"]);
    expect![[r#"
        error: found `both.txt` with `.txt`, expected `.c` or no extension

        For more information, try '--help'.
    "#]]
    .assert_eq(&ran.stderr);
}

/// The project of the book is built with CMake, by a command that runs `hx build`. Its programs compute on a driver whose memory is
/// that of the host.
#[test]
fn the_example_is_built_with_cmake() {
    const TEST: &str = "the_example_is_built_with_cmake";
    let Some(ahead) = Ahead::new(TEST, TWICE, &[]) else { return };
    let folder = ahead.sandbox.path("build");
    let run = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        own_variables().for_each(|name| _ = command.env_remove(name));
        command.args(arguments).env("HX_CACHE_DIR", ahead.sandbox.path("cache"));
        // Only the programs find the driver that prints: the compiler's worker looks for the real one.
        if program != "cmake" {
            command.env("LD_LIBRARY_PATH", ahead.sandbox.path("."));
        }
        command.envs([("HX_STUB_MEMORY", "1"), ("HX_STUB_SIZES", "8 8 4 4 4")]).output()
    };
    if let Err(error) = run("cmake", &["--version"]) {
        return skip(TEST, &format!("cmake does not start: {error}"), "HX_REQUIRE_CMAKE");
    }
    let text = |path: PathBuf| path.display().to_string();
    let source = text(root().join("book/examples/c"));
    let hx = format!("-DHX={}", text(hx()));
    let driver = format!("-DCUDA_DRIVER={}", text(ahead.sandbox.path("libcuda.so.1")));
    let flags = "-DCMAKE_C_FLAGS=-std=c11 -pedantic -Wall -Wextra -Werror";
    let more = "-DCMAKE_CXX_FLAGS=-std=c++17 -Wall -Wextra -Werror";
    let build = text(folder.clone());
    for arguments in [&["-S", &source, "-B", &build, &hx, &driver, flags, more][..], &["--build", &build]] {
        let output = run("cmake", arguments).expect("cmake starts");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    }
    let header = std::fs::read_to_string(folder.join("scale.h")).expect("it was built");
    let page = std::fs::read_to_string(root().join("book/src/c.md")).expect("it can be read");
    let shown = page.split("```c\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    assert!(header.contains(shown), "the page does not show what the header has: {header}");
    for (program, elements) in [("scale_c", 3300), ("scale_cpp", 7)] {
        let output = run(&text(folder.join(program)), &[]).expect("the program starts");
        let said = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(output.status.success(), "{said}");
        assert!(said.ends_with(&format!("{elements} elements are right\n")), "{said}");
    }
}
