//! Hovers on parts of an expression tell of the operation that computes them.

use expect_test::expect;

use super::shows::check_hover;

#[test]
fn a_part_of_an_operation() {
    let text = "kernel silu(x: f16[n], y: mut f16[n]) grid [cdiv(n, 1024)] threads 128 {
    let v = cast(load(tile(x, [1024])[.., block_idx]), f32);
    copy(cast(v / (1.0 + sigmoid(v)), f16), tile(y, [1024])[.., block_idx]);
}
";
    check_hover(
        &text.replace("sigmoid(", "sig$0moid("),
        expect![[r#"
        k.hx:3:26 sigmoid
        ```hx
        sigmoid(x)
        ```

        `1 / (1 + exp(-x))`.

        ---

        - a part of `value = cast(div_approx(v, (1.0 + sigmoid_approx(v))), f16): elementwise`  
          8 elements of each thread; `/`, `sigmoid` approximate: the result is rounded to 16 bits or fewer"#]],
    );
    check_hover(
        &text.replace("v / (", "v $0/ ("),
        expect![[r#"
        k.hx:3:15 v / (1.0 + sigmoid(v))
        ```hx
        register f32[1024]
        ```

        ---

        - a part of `value = cast(div_approx(v, (1.0 + sigmoid_approx(v))), f16): elementwise`  
          8 elements of each thread; `/`, `sigmoid` approximate: the result is rounded to 16 bits or fewer"#]],
    );
}
