//! Multiplies two f16 matrices with the kernel of the standard library, and compares the result with an f64 product.
//!
//! `hx run matmul.hx` makes two matrices of random numbers. `hx run matmul.hx -- a.npy b.npy c.npy` reads a[m, k] and
//! b[n, k], and saves c[m, n].

use std::matmul::matmul;

main {
    let given = len(args) == 3;
    let a = if given { load(args[0]) } else { randn(f16, [100, 80], seed: 1) };
    let b = if given { load(args[1]) } else { randn(f16, [72, 80], seed: 2) };
    let c = empty(f16, [a.shape[0], b.shape[0]]);

    matmul(a, b, c);

    let reference = a @ b.T;
    print("a", a.shape, "times the transpose of b", b.shape, "is c", c.shape);
    print(c);
    print("largest difference from the f64 product:", max(abs(c - reference)));
    assert_close(c, reference, ulp: 1);
    print("every element is within 1 ulp of f16");
    if given {
        save(args[2], c);
        print("saved", args[2]);
    }
}
