#![allow(clippy::disallowed_methods, reason = "tests write the files that they read")]

use expect_test::expect;
use hx_dtype::DType;

use super::counting;
use crate::npy::{decode, encode, load, save};
use crate::tensor::HostTensor;

/// Makes a version 1.0 file from a header, padded like NumPy does, and data.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut header = header.to_owned();
    while !(10 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.bytes());
    out.extend(data);
    out
}

#[test]
fn f16_as_numpy_writes_it() {
    // np.array([[1, 2], [-0.5, 65504]], dtype=np.float16)
    let bytes = file(
        "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2), }",
        &[0x00, 0x3c, 0x00, 0x40, 0x00, 0xb8, 0xff, 0x7b],
    );
    let tensor = decode(&bytes).expect("valid");
    assert_eq!((tensor.dtype, tensor.shape.as_slice()), (DType::F16, [2, 2].as_slice()));
    assert_eq!(tensor.data, [0x00, 0x3c, 0x00, 0x40, 0x00, 0xb8, 0xff, 0x7b]);
    assert_eq!(encode(&tensor).expect("has a type"), bytes);
}

#[test]
fn byte_order_and_element_order_are_undone() {
    let big = file("{'descr': '>i2', 'fortran_order': False, 'shape': (3,), }", &[0, 1, 0, 2, 0xff, 0xff]);
    assert_eq!(decode(&big).expect("valid").data, [1, 0, 2, 0, 0xff, 0xff]);
    // [[0, 1, 2], [3, 4, 5]] in column-major order.
    let columns = file("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", &[0, 3, 1, 4, 2, 5]);
    assert_eq!(decode(&columns).expect("valid").data, [0, 1, 2, 3, 4, 5]);
    let scalar = file("{\"shape\": (), 'descr': '<f8', 'fortran_order': True}", &1.5f64.to_le_bytes());
    assert_eq!(decode(&scalar).expect("valid").shape, Vec::<usize>::new());
    // Version 2.0 has a longer length field.
    let mut long = b"\x93NUMPY\x02\x00".to_vec();
    let header = "{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }\n";
    long.extend((header.len() as u32).to_le_bytes());
    long.extend(header.bytes());
    long.push(7);
    assert_eq!(decode(&long).expect("valid").data, [1]);
}

#[test]
fn round_trips() {
    for dtype in [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::F32,
        DType::F64,
    ] {
        for shape in [vec![], vec![5], vec![2, 3], vec![0, 4], vec![2, 1, 3]] {
            let tensor = counting(dtype, &shape).to_host();
            let bytes = encode(&tensor).expect("has a type");
            assert_eq!(bytes.len() % 64, tensor.data.len() % 64);
            assert_eq!(decode(&bytes).expect("valid"), tensor, "{dtype} {shape:?}");
        }
    }
}

#[test]
fn broken_files_say_what_is_wrong() {
    let fail = |bytes: &[u8]| decode(bytes).expect_err("broken").message;
    let good = file("{'descr': '<f4', 'fortran_order': False, 'shape': (100, 80), }", &[0; 31_999]);
    expect!["the file is truncated: f32[100, 80] takes 32000 bytes of data, and there are 31999"]
        .assert_eq(&fail(&good));
    expect!["not a valid .npy file: it ends within the header"].assert_eq(&fail(&good[..40]));
    expect!["not a valid .npy file: it ends within the header length"].assert_eq(&fail(&good[..9]));
    expect!["not a valid .npy file: it does not begin with the .npy magic"].assert_eq(&fail(b"PK\x03\x04"));
    expect!["not a valid .npy file: it does not begin with the .npy magic"].assert_eq(&fail(b""));
    expect!["not a valid .npy file: version 9.0 is unknown"].assert_eq(&fail(b"\x93NUMPY\x09\x00\x00\x00"));
    expect!["not a valid .npy file: the header is unreasonably long"]
        .assert_eq(&fail(b"\x93NUMPY\x02\x00\xff\xff\xff\xff"));
    let header = |text: &str| fail(&file(text, &[0; 4]));
    expect!["not a valid .npy file: the header lacks 'shape'"]
        .assert_eq(&header("{'descr': '<f4', 'fortran_order': False}"));
    expect!["not a valid .npy file: the header has '[1]}' where '(' belongs"]
        .assert_eq(&header("{'descr': '<f4', 'fortran_order': False, 'shape': [1]}"));
    expect!["not a valid .npy file: the shape holds something that is not an extent"]
        .assert_eq(&header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"));
    expect!["a tensor of shape [4294967296, 4294967296] is too large for this machine"]
        .assert_eq(&header("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"));
    expect!["the element type '|O' is not supported: pickled Python objects"]
        .assert_eq(&header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"));
    expect!["the element type '<c8' is not supported: complex numbers"]
        .assert_eq(&header("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}"));
    expect!["not a valid .npy file: structured element types are not supported"]
        .assert_eq(&header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}"));
    expect!["the type code '|f4' has no valid byte order"]
        .assert_eq(&header("{'descr': '|f4', 'fortran_order': False, 'shape': (1,)}"));
}

#[test]
fn types_without_a_numpy_name_are_refused() {
    let tensor = HostTensor { dtype: DType::Bf16, shape: vec![1], data: vec![0, 0] };
    expect!["the .npy format has no element type for bf16\n  help: save a wider one, which loses nothing: `cast(x, f32)`"]
        .assert_eq(&encode(&tensor).expect_err("no such type").to_string());
}

#[test]
fn files_on_disk() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("x.npy");
    let tensor = counting(DType::F16, &[3, 4]).to_host();
    save(&path, &tensor).expect("writable");
    assert_eq!(load(&path).expect("just written"), tensor);
    let shown = |e: crate::HostError| e.message.replace(&dir.path().display().to_string(), "DIR");
    expect!["cannot read `DIR/y.npy`: no such file"]
        .assert_eq(&shown(load(&dir.path().join("y.npy")).expect_err("absent")));
    expect!["cannot write `DIR/no/x.npy`: no such folder"]
        .assert_eq(&shown(save(&dir.path().join("no/x.npy"), &tensor).expect_err("no folder")));
    std::fs::write(&path, b"hello").expect("writable");
    expect!["`DIR/x.npy`: not a valid .npy file: it does not begin with the .npy magic"]
        .assert_eq(&shown(load(&path).expect_err("no array")));
}
