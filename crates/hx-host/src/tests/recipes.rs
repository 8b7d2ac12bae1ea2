//! Tensors that are made later hold what the same functions compute at once.

use hx_dtype::DType;

use crate::arith::{Binary, Unary, binary, unary};
use crate::pack::pack;
use crate::random::{Seed, randn, uniform};
use crate::recipe::{Each, Recipe};
use crate::{Dense, Numbers, Tensor};

const SEED: Seed = Seed { seed: 77, stream: 2 };

#[test]
fn functions_of_elements_are_those_of_the_operators() {
    let drawn = || Tensor::from_host(randn(DType::F32, &[70, 33], SEED).expect("small"));
    let factor = Dense::scalar(Numbers::Float(vec![60.0]));
    let scaled = binary(Binary::Mul, &drawn().dense().expect("numbers"), &factor).expect("numbers");
    let floor = unary(Unary::Floor, &scaled).expect("numbers");
    let recipe =
        Recipe::normal(DType::F32, &[70, 33], SEED).expect("small").then(Each::Scale(60.0)).expect("floats");
    assert_eq!(recipe.clone().host(), Tensor::from_dense(scaled.clone()).to_host());
    for dtype in DType::ALL {
        let at_once = |dense: &Dense| Tensor::from_dense(dense.clone()).cast(dtype).expect("small").to_host();
        let later = |recipe: &Recipe| recipe.then(Each::Convert(dtype)).expect("floats").host();
        assert_eq!(later(&recipe), at_once(&scaled), "{dtype}");
        assert_eq!(later(&recipe.then(Each::Floor).expect("floats")), at_once(&floor), "{dtype}");
    }
}

/// One repeated element stays one, so that evaluations that only compile make no data.
#[test]
fn functions_of_a_repeated_element_make_no_data() {
    let huge =
        Recipe::full(DType::F32, &[1 << 14, 1 << 14], DType::F32.encode(-2.5)).expect("it is not made");
    let scaled = huge.then(Each::Scale(2.0)).and_then(|recipe| recipe.then(Each::Floor));
    let cast = scaled.and_then(|recipe| recipe.then(Each::Convert(DType::I4))).expect("one element");
    let blocks = "((8,2),(2,4,2)):((32,2),(1,8,4))".parse().expect("a layout");
    let packed = cast.in_blocks(&blocks).expect("it fits").expect("one element");
    assert_eq!(packed, Recipe::full(DType::I4, &[1 << 14, 1 << 14], 0xb).expect("it is not made"));
}

#[test]
fn blocks_are_those_of_pack() {
    let blocks = "((8,2),(2,4,2)):((32,2),(1,8,4))".parse().expect("a layout");
    for (dtype, high) in [(DType::U4, 16.0), (DType::I8, 100.0), (DType::F16, 1.0)] {
        let at_once = Tensor::from_host(uniform(dtype, &[48, 64], 0.0, high, SEED).expect("small"));
        let later = Tensor::from_recipe(Recipe::uniform(dtype, &[48, 64], 0.0, high, SEED).expect("small"));
        let later = pack(&later, &blocks).expect("it fits");
        let digits = later.recipe().expect("nobody has read it").places().expect("it is in blocks");
        let packed = pack(&at_once, &blocks).expect("it fits").bits();
        let plain = at_once.bits();
        for (place, bits) in (0u64..).zip(&packed) {
            let element: u64 = digits.iter().map(|d| place / d.div % d.count * d.times).sum();
            assert_eq!(*bits, plain[element as usize], "{dtype} {place}");
        }
        assert_eq!(later.bits(), packed, "{dtype}");
    }
}

#[test]
fn contents_are_made_and_brought_once() {
    let tensor = Tensor::from_recipe(Recipe::normal(DType::F16, &[6], SEED).expect("small"));
    let view = tensor.reshape(&[2, 3]).expect("it fits");
    assert!(tensor.recipe().is_some() && view.recipe().is_some());
    let drawn = view.bits();
    assert!(tensor.recipe().is_none() && tensor.version() == 0);
    assert_eq!(drawn, Tensor::from_host(randn(DType::F16, &[6], SEED).expect("small")).bits());
    tensor.put_away();
    assert!(view.is_away() && view.version() == 1);
    tensor.bring(vec![0; 12]);
    // The contents came back already.
    tensor.bring(vec![1; 12]);
    assert_eq!((view.bits(), view.version()), (vec![0; 6], 1));
    let life = tensor.life();
    drop(tensor);
    assert!(!life.is_over());
    drop(view);
    assert!(life.is_over());
}
