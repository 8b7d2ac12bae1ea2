//! The `check` words of linear layouts.

use hx_layout::LinearLayout;
use serde_json::Value;

use crate::verify::Judge;

/// The largest number of flattened inputs at which an equation is tried.
const LIMIT: u64 = 1 << 20;

fn read(value: Option<&Value>, what: &str) -> Result<LinearLayout, String> {
    let value = value.ok_or_else(|| format!("{what} is missing"))?;
    serde_json::from_value(value.clone()).map_err(|e| format!("{what}: {e}"))
}

/// Reports whether the answer meets `word`; `None` for a word of another kind.
pub(super) fn word(judge: &Judge<'_>, word: &str) -> Option<Result<(), String>> {
    Some(match word {
        "L" => same(judge),
        "none" => judge.same_fields(["none"]),
        "right_inverse" if judge.answer.contains_key("L") => right_inverse(judge),
        "solves" => solves(judge),
        "smallest" => smallest(judge),
        _ => return None,
    })
}

fn answered(judge: &Judge<'_>) -> Result<LinearLayout, String> {
    read(judge.answer.get("L"), "the answer's layout")
}

fn given(judge: &Judge<'_>, name: &str) -> Result<LinearLayout, String> {
    read(judge.case.input.get(name), name)
}

fn same(judge: &Judge<'_>) -> Result<(), String> {
    let (want, got) = (read(judge.out.get("L"), "the case's layout")?, answered(judge)?);
    if want == got { Ok(()) } else { Err(format!("the answer is {got}\n{want} was expected")) }
}

fn right_inverse(judge: &Judge<'_>) -> Result<(), String> {
    let (l, r) = (given(judge, "L")?, answered(judge)?);
    let both = r.compose(&l).map_err(|e| e.to_string())?;
    let count = 1u64 << both.in_bits();
    match (0..count.min(LIMIT)).find(|&y| both.apply_flat(y) != y) {
        None if both.in_bits() == both.out_bits() => Ok(()),
        None => Err("its domain is not the output".to_string()),
        Some(y) => Err(format!("{y} comes back as {}", both.apply_flat(y))),
    }
}

fn solves(judge: &Judge<'_>) -> Result<(), String> {
    let (a, b, c) = (given(judge, "a")?, given(judge, "b")?, answered(judge)?);
    let order: Vec<&str> = a.outs().iter().map(|d| d.name.as_str()).collect();
    let through = c.compose(&b).and_then(|l| l.transpose_outs(&order)).map_err(|e| e.to_string())?;
    let count = 1u64 << a.in_bits();
    if through.in_bits() != a.in_bits() {
        return Err("its inputs are not those of the first layout".to_string());
    }
    let value = |l: &LinearLayout, x: u64| l.unflatten_out(l.apply_flat(x));
    match (0..count.min(LIMIT)).find(|&x| value(&through, x) != value(&a, x)) {
        None => Ok(()),
        Some(x) => Err(format!("at {x} the values differ")),
    }
}

/// Checks that each value is the smallest possible. The smallest is unique, so it must equal the value of the case.
fn smallest(judge: &Judge<'_>) -> Result<(), String> {
    let (want, got) = (read(judge.out.get("L"), "the case's layout")?, answered(judge)?);
    let count = 1u64 << want.in_bits().min(20);
    match (0..count).find(|&x| want.apply_flat(x) != got.apply_flat(x)) {
        None => Ok(()),
        Some(x) => {
            Err(format!("at {x} the value is {}, {} was expected", got.apply_flat(x), want.apply_flat(x)))
        }
    }
}
