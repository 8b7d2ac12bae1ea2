//! Tests the forms of a map against the numbers and names that the driver and JSON have for it.

use expect_test::expect;
use hx_dtype::DType;

use crate::{MapElement, Outside, TensorMap};

fn map() -> TensorMap {
    TensorMap {
        dims: vec![40, 3],
        strides: vec![96],
        extents: vec![32, 2],
        swizzle: 64,
        l2: 256,
        fill: Outside::Nan,
        ..TensorMap::plain(1, "x", DType::F16)
    }
}

#[test]
fn json() {
    let described = map().described(|n| format!("{n} * n"));
    expect![[
        r#"{"param":"x","element":"f16","rank":2,"dims":["40 * n","3 * n"],"strides":["96 * n"],"box":[32,2],"swizzle":64,"l2":256,"fill":"nan"}"#
    ]]
    .assert_eq(&serde_json::to_string(&described).expect("texts and numbers"));
    let sent = serde_json::to_string(&map()).expect("texts and numbers");
    assert_eq!(serde_json::from_str::<TensorMap>(&sent).expect("the same map"), map());
}

#[test]
fn numbers_of_the_driver() {
    let numbers = map().driver().expect("a map that the driver has");
    assert_eq!((numbers.element.number(), numbers.swizzle, numbers.l2, numbers.fill), (6, 2, 3, 1));
    let refused = |map: TensorMap| map.driver().map(|_| "numbers");
    assert_eq!(
        refused(TensorMap { swizzle: 48, ..map() }),
        Err("no tensor map swizzles 48 bytes".to_owned())
    );
    assert_eq!(refused(TensorMap { l2: 32, ..map() }), Err("no tensor map promotes 32 bytes".to_owned()));
    let nibbles = refused(TensorMap { element: DType::I4, ..map() });
    assert_eq!(nibbles, Err("bulk copies have no elements of type i4".to_owned()));
}

#[test]
fn elements_have_the_width_of_their_type() {
    for (number, element) in (0..).zip(MapElement::ALL) {
        assert_eq!(element.number(), number);
    }
    let bits = |element| match element {
        MapElement::U8 => 8,
        MapElement::U16 | MapElement::F16 | MapElement::Bf16 => 16,
        MapElement::U32 | MapElement::I32 | MapElement::F32 => 32,
        MapElement::U64 | MapElement::I64 | MapElement::F64 => 64,
    };
    for dtype in DType::ALL {
        assert_eq!(MapElement::of(dtype).map(bits), (dtype.bits() >= 8).then_some(dtype.bits()), "{dtype}");
    }
}
