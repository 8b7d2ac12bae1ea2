//! Tests of `.safetensors` files. Tests of reading use files that are written byte by byte.

#![allow(clippy::disallowed_methods, reason = "tests write the files that they read")]

use std::path::Path;

use expect_test::expect;
use hx_dtype::DType;

use super::counting;
use crate::HostError;
use crate::archive::{Archive, encode, save};
use crate::tensor::{HostTensor, Tensor};

/// Makes a file from a header and data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = (header.len() as u64).to_le_bytes().to_vec();
    out.extend(header.bytes());
    out.extend(data);
    out
}

/// Returns the error of a file with these bytes, or of one of its tensors.
fn fail(bytes: &[u8], name: Option<&str>) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.safetensors");
    std::fs::write(&path, bytes).expect("writable");
    let open = || -> Result<HostTensor, HostError> { Archive::open(&path)?.tensor(name.unwrap_or("w")) };
    open().expect_err("broken").to_string().replace(&dir.path().display().to_string(), "DIR")
}

#[test]
fn a_file_as_others_write_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.safetensors");
    let header = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[2],"data_offsets":[6,10]},
        "a":{"dtype":"U8","shape":[2,3],"data_offsets":[0,6]}}"#;
    std::fs::write(&path, file(header, &[1, 2, 3, 4, 5, 6, 0x80, 0x3f, 0x00, 0xc0])).expect("writable");
    let archive = Archive::open(&path).expect("valid");
    assert_eq!(archive.names(), ["a", "b"]);
    let a = archive.tensor("a").expect("there");
    assert_eq!(
        (a.dtype, a.shape.as_slice(), a.data.as_slice()),
        (DType::U8, [2, 3].as_slice(), [1, 2, 3, 4, 5, 6].as_slice())
    );
    let b = archive.tensor("b").expect("there");
    assert_eq!((b.dtype, b.data.as_slice()), (DType::Bf16, [0x80, 0x3f, 0x00, 0xc0].as_slice()));
    let shown = archive.to_string().replace(&dir.path().display().to_string(), "DIR");
    expect![[r#"
        2 tensors in DIR/x.safetensors
        a: u8[2, 3]
        b: bf16[2]"#]]
    .assert_eq(&shown);
}

/// Weights and scales of a block-scaled format, two weights a byte.
#[test]
fn block_scaled_weights() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.safetensors");
    let header = r#"{"w":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]},
        "s":{"dtype":"F8_E8M0","shape":[2,1],"data_offsets":[4,6]}}"#;
    std::fs::write(&path, file(header, &[0x10, 0x32, 0x54, 0xf6, 127, 130])).expect("writable");
    let archive = Archive::open(&path).expect("valid");
    let numbers = |name: &str| {
        let tensor = Tensor::from_host(archive.tensor(name).expect("there"));
        (tensor.dtype(), tensor.numbers().expect("floats").into_floats())
    };
    assert_eq!(numbers("w"), (DType::F4E2m1, vec![0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, -6.0]));
    assert_eq!(numbers("s"), (DType::F8E8m0, vec![1.0, 8.0]));
    let odd = vec![("w".to_owned(), counting(DType::F4E2m1, &[3]).to_host())];
    assert!(encode(&odd).is_err(), "the format ends tensors at whole bytes");
    let even = counting(DType::F4E2m1, &[2, 3]).to_host();
    save(&path, &[("w".to_owned(), even.clone())]).expect("writable");
    assert_eq!(Archive::open(&path).expect("valid").tensor("w"), Ok(even));
}

#[test]
fn round_trips() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.safetensors");
    let mut tensors = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|d| d.bits() >= 8 && *d != DType::Tf32) {
        for shape in [vec![], vec![5], vec![2, 3], vec![0, 4], vec![2, 1, 3]] {
            tensors.push((format!("{dtype} {shape:?}"), counting(dtype, &shape).to_host()));
        }
    }
    save(&path, &tensors).expect("writable");
    let archive = Archive::open(&path).expect("just written");
    assert_eq!(archive.names().len(), tensors.len());
    for (name, tensor) in &tensors {
        assert_eq!(archive.tensor(name).as_ref(), Ok(tensor), "{name}");
    }
    save(&path, &[]).expect("writable");
    assert_eq!(Archive::open(&path).expect("just written").names().len(), 0);
}

#[test]
fn broken_files_say_what_is_wrong() {
    let header = |text: &str| fail(&file(text, &[0; 4]), None);
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: it ends within the header length"]
        .assert_eq(&fail(b"", None));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: the header is unreasonably long"]
        .assert_eq(&fail(&u64::MAX.to_le_bytes(), None));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: it ends within the header"]
        .assert_eq(&fail(&file("{}", &[])[..9], None));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: the header is not JSON: expected value at line 1 column 1"].assert_eq(&header("hello"));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: the header is not JSON object"]
        .assert_eq(&header("[]"));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: the header is not JSON: expected value at line 1 column 1"].assert_eq(&header("\u{7}"));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: in the entry of `w`, missing field `data_offsets`"].assert_eq(&header(r#"{"w": {"dtype": "F32", "shape": [1]}}"#));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: in the entry of `w`, unknown variant `F33`, expected one of `BOOL`, `F4`, `F6_E2M3`, `F6_E3M2`, `U8`, `I8`, `F8_E5M2`, `F8_E4M3`, `F8_E8M0`, `F8_E4M3FNUZ`, `F8_E5M2FNUZ`, `I16`, `U16`, `F16`, `BF16`, `I32`, `U32`, `F32`, `C64`, `F64`, `I64`, `U64`"].assert_eq(&header(r#"{"w": {"dtype": "F33", "shape": [1], "data_offsets": [0, 4]}}"#));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: `w` is F32[2], and its bytes are 0 to 4"]
        .assert_eq(&header(r#"{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}}"#));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: it is truncated: the header promises 8 bytes of data, and there are 4"].assert_eq(&header(r#"{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}"#));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: it has trailing bytes: the header promises 2 bytes of data, and there are 4"].assert_eq(&header(r#"{"w": {"dtype": "I8", "shape": [2], "data_offsets": [0, 2]}}"#));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: `w` is I8[4], and its bytes are 4 to 0"]
        .assert_eq(&header(r#"{"w": {"dtype": "I8", "shape": [4], "data_offsets": [4, 0]}}"#));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: in the entry of `w`, invalid value: integer `-4`, expected usize"].assert_eq(&header(r#"{"w": {"dtype": "I8", "shape": [-4], "data_offsets": [0, 4]}}"#));
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: `w` is I8[4294967296, 4294967296], and its bytes are 0 to 4"].assert_eq(&header(
        r#"{"w": {"dtype": "I8", "shape": [4294967296, 4294967296], "data_offsets": [0, 4]}}"#,
    ));
    let mut text = file(r#"{"w": {"dtype": "I8", "shape": [4], "data_offsets": [0, 4]}}"#, &[0; 4]);
    text[9] = 0xff;
    expect!["`DIR/x.safetensors`: not a valid .safetensors file: the header is not text"]
        .assert_eq(&fail(&text, None));
}

#[test]
fn tensors_that_cannot_be_had() {
    let text = r#"{"layers.0.w": {"dtype": "F8_E4M3FNUZ", "shape": [4], "data_offsets": [0, 4]}}"#;
    expect!["`DIR/x.safetensors`: the element type F8_E4M3FNUZ of `layers.0.w` has no counterpart here"]
        .assert_eq(&fail(&file(text, &[0; 4]), Some("layers.0.w")));
    expect![[r#"
        `DIR/x.safetensors` has no tensor `layers.0.b`
          it has `layers.0.w`
          help: perhaps `layers.0.w` is meant"#]]
    .assert_eq(&fail(&file(text, &[0; 4]), Some("layers.0.b")));
    expect![[r#"
        `DIR/x.safetensors` has no tensor `w`
          it has none at all"#]]
    .assert_eq(&fail(&file("{}", &[]), Some("w")));
    let many: Vec<String> = (0..12)
        .map(|i| format!(r#""t{i}": {{"dtype": "I8", "shape": [0], "data_offsets": [0, 0]}}"#))
        .collect();
    expect![[r#"
        `DIR/x.safetensors` has no tensor `weights`
          it has `t0`, `t1`, `t10`, `t11`, `t2`, `t3`, `t4`, `t5` and 4 more"#]]
    .assert_eq(&fail(&file(&format!("{{{}}}", many.join(",")), &[]), Some("weights")));
}

#[test]
fn what_cannot_be_written() {
    let one = |name: &str, dtype| vec![(name.to_owned(), counting(dtype, &[2]).to_host())];
    let fail = |tensors: &[(String, HostTensor)]| encode(tensors).expect_err("refused").to_string();
    expect![[r#"
        the .safetensors format has no element type for u4
          help: save a wider one, which loses nothing: `cast(x, i8)`"#]]
    .assert_eq(&fail(&one("w", DType::U4)));
    expect![[r#"
        the .safetensors format has no element type for tf32
          help: save a wider one, which loses nothing: `cast(x, f32)`"#]]
    .assert_eq(&fail(&one("w", DType::Tf32)));
    expect!["a tensor cannot be called `__metadata__` in a .safetensors file"]
        .assert_eq(&fail(&one("__metadata__", DType::F32)));
    expect!["two tensors are called `w`"]
        .assert_eq(&fail(&[one("w", DType::F32), one("w", DType::I8)].concat()));
    let missing = Archive::open(Path::new("no/such.safetensors")).expect_err("absent");
    expect!["cannot read `no/such.safetensors`: no such file"].assert_eq(&missing.to_string());
}
