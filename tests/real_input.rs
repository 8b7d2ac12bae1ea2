//! Two matrices from files, multiplied by the kernel of the standard library through `hx run`, and saved.
//!
//! If Python has NumPy, NumPy writes the inputs and also judges the result; otherwise another package writes them. The reference
//! product is computed here in f64.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

use half::f16;
use npyz::WriterBuilder as _;

use crate::support::{Random, Sandbox, root, seed, skip};

const M: usize = 100;
const N: usize = 72;
const K: usize = 80;

/// The program in the README.
const EXAMPLE: &str = "book/examples/matmul.hx";

#[test]
fn written_by_a_package() {
    let sandbox = Sandbox::new();
    let mut random = Random::new(seed());
    let mut write = |name: &str, rows: usize| {
        let file = BufWriter::new(File::create(sandbox.path(name)).expect("it can be made"));
        let options = npyz::WriteOptions::new().default_dtype().shape(&[rows as u64, K as u64]);
        let mut writer = options.writer(file).begin_nd().expect("a header can be written");
        writer.extend((0..rows * K).map(|_| f16::from_f64(random.normal()))).expect("data can be written");
        writer.finish().expect("data can be written");
    };
    write("a.npy", M);
    write("b.npy", N);
    multiply(&sandbox);
    check(&sandbox);
}

#[test]
fn written_by_numpy() {
    let python = ["python3", "python"].into_iter().find(|python| {
        Command::new(python).args(["-c", "import numpy"]).output().is_ok_and(|out| out.status.success())
    });
    let Some(python) = python else {
        return skip("real_input::written_by_numpy", "there is no Python with NumPy", "HX_REQUIRE_NUMPY");
    };
    let sandbox = Sandbox::new();
    run_python(
        python,
        sandbox.path(""),
        &format!(
            "import numpy as np\n\
             r = np.random.default_rng({})\n\
             np.save('a.npy', r.standard_normal(({M}, {K})).astype(np.float16))\n\
             np.save('b.npy', np.asfortranarray(r.standard_normal(({N}, {K})).astype(np.float16)))\n",
            seed()
        ),
    );
    multiply(&sandbox);
    check(&sandbox);
    run_python(
        python,
        sandbox.path(""),
        "import numpy as np\n\
         a, b, c = (np.load(f'{x}.npy') for x in 'abc')\n\
         assert c.dtype == np.float16, c.dtype\n\
         product = a.astype(np.float64) @ b.astype(np.float64).T\n\
         worst = np.abs(c - product) / np.spacing(np.maximum(np.abs(product), 1).astype(np.float16))\n\
         assert worst.max() <= 0.51, worst.max()\n",
    );
}

fn run_python(python: &str, folder: impl AsRef<Path>, text: &str) {
    let output = Command::new(python).args(["-c", text]).current_dir(folder).output().expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs `hx run matmul.hx -- a.npy b.npy c.npy`.
fn multiply(sandbox: &Sandbox) {
    let program = root().join(EXAMPLE);
    let program = program.to_str().expect("a path in UTF-8");
    let ran = sandbox.run(&["run", program, "--device", "sim", "--", "a.npy", "b.npy", "c.npy"]);
    assert_eq!(ran.code, 0, "{}", ran.text());
    assert!(ran.stdout.ends_with("saved c.npy\n"), "{}", ran.text());
}

/// Compares every element of the saved product with the f64 product of the files' contents.
fn check(sandbox: &Sandbox) {
    let [a, b, c] = ["a.npy", "b.npy", "c.npy"].map(|name| read(&sandbox.path(name)));
    assert_eq!([&a, &b, &c].map(Matrix::shape), [[M, K], [N, K], [M, N]]);
    for i in 0..M {
        for j in 0..N {
            let want: f64 = (0..K).map(|x| a.at(i, x) * b.at(j, x)).sum();
            let ulp = 2f64.powi(want.abs().max(1.0).log2().floor() as i32 - 10);
            let got = c.at(i, j);
            assert!((got - want).abs() <= 0.51 * ulp, "c[{i}, {j}] is {got}, the product is {want}");
        }
    }
}

struct Matrix {
    rows: usize,
    columns: usize,
    /// The data are stored by columns instead of rows.
    by_column: bool,
    data: Vec<f16>,
}

impl Matrix {
    fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    fn at(&self, row: usize, column: usize) -> f64 {
        let index = if self.by_column { column * self.rows + row } else { row * self.columns + column };
        self.data[index].to_f64()
    }
}

/// Reads a file of f16 with a package that shares no code with the reader of `hx`.
fn read(path: &Path) -> Matrix {
    let bytes = std::fs::read(path).expect("it is there");
    let npy = npyz::NpyFile::new(&bytes[..]).expect("it is a .npy file");
    let by_column = npy.order() == npyz::Order::Fortran;
    let &[rows, columns] = npy.shape() else { panic!("{path:?} has the shape {:?}", npy.shape()) };
    let data = npy.into_vec().expect("it holds f16");
    Matrix { rows: rows as usize, columns: columns as usize, by_column, data }
}
