//! Writes a test for a kernel, up to the reference that only its author knows.

use hx_base::{Edit, TextRange};
use hx_dtype::DType;
use hx_hir::{Elem, Item, Ty, signature_names, signature_types};
use hx_syntax::ast::{self, AstNode as _};

use super::{ActionKind, Draft, Selected};

/// Adds a test after the kernel whose header is at the cursor: random inputs, uninitialized outputs, the launch, and for each
/// output a failing assertion, because only the author knows the reference. `None` if no header is there, or if a parameter
/// has no such value.
pub(super) fn test(selected: &Selected<'_>) -> Option<Draft> {
    let Item::Kernel(_) = selected.item else { return None };
    let node = crate::names::item_node(selected.db, &selected.root, selected.item)?;
    let kernel = ast::Kernel::cast(node.clone())?;
    let body = kernel.body()?;
    if selected.range.start() >= body.syntax().text_range().start() {
        return None;
    }
    let name = kernel.name()?;
    let name = name.text();
    let dims: Vec<String> =
        signature_names(selected.db, selected.item).dims.iter().map(|dim| dim.name.to_string()).collect();
    let generics = generics(&kernel)?;
    let types = signature_types(selected.db, selected.item);
    let text = selected.file.text(selected.db);
    let (mut lines, mut outputs, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    for (index, param) in kernel.param_list()?.params().enumerate() {
        let own = param.name()?;
        let own = own.text().to_string();
        let written = text[crate::node::code_range(param.ty()?.syntax())].to_owned();
        let (value, is_output) = value(&written, types.params.get(index)?, index + 1, &generics)?;
        lines.push(format!("    let {own} = {value};\n"));
        if is_output {
            outputs.push((own.clone(), value.clone()));
        }
        arguments.push(own);
    }
    if outputs.is_empty() {
        return None;
    }
    let cases = match dims.as_slice() {
        [] => String::new(),
        [one] => format!(" for {one} in [256]"),
        several => format!(" for ({}) in [({})]", several.join(", "), vec!["256"; several.len()].join(", ")),
    };
    let mut test =
        format!("\n\ntest \"{name}\"{cases} {{\n{}    {name}({});\n", lines.concat(), arguments.join(", "));
    for (output, nothing) in outputs {
        test += "    // The reference is missing: replace `empty(…)` by an expression of the host.\n";
        test += &format!("    assert_close({output}, {nothing}, ulp: 0);\n");
    }
    test += "}";
    let end = crate::node::code_range(&node).end();
    let edits = vec![Edit { file: selected.file, range: TextRange::empty(end), text: test }];
    Some(Draft { title: format!("add a test for `{name}`"), kind: ActionKind::Rewrite, edits })
}

/// Returns the compile-time parameters with the texts of their defaults; `None` if one has no default.
fn generics(kernel: &ast::Kernel) -> Option<Vec<(String, String)>> {
    let params = kernel.generic_param_list().into_iter().flat_map(|list| list.params().collect::<Vec<_>>());
    params
        .map(|param| Some((param.name()?.text().to_string(), param.default()?.syntax().text().to_string())))
        .collect()
}

/// Returns the text of an argument, and whether the kernel writes it. `seed` makes random inputs differ. `None` if no host
/// expression makes such a value.
fn value(written: &str, ty: &Ty, seed: usize, generics: &[(String, String)]) -> Option<(String, bool)> {
    let with_default = |elem: &Elem| match elem {
        Elem::Known(dtype) => Some(*dtype),
        Elem::Param(name) => {
            let default = generics.iter().find(|(known, _)| *known == name.as_str())?;
            DType::parse(default.1.trim())
        }
        Elem::Unknown => None,
    };
    if let Ty::Tensor(tensor) = ty {
        let dtype = with_default(&tensor.elem)?;
        let shape = &written[written.find('[')?..];
        // `f16[m, n : s, 1]` has strides that the caller chooses; the functions of the host take only a shape.
        if shape.contains(':') {
            return None;
        }
        return Some(match (tensor.mutable, dtype.is_float()) {
            (true, _) => (format!("empty({dtype}, {shape})"), true),
            (false, true) => (format!("randn({dtype}, {shape}, seed: {seed})"), false),
            (false, false) => (format!("zeros({dtype}, {shape})"), false),
        });
    }
    let dtype = DType::parse(written.trim())?;
    Some((if dtype.is_float() { "1.0" } else { "1" }.to_owned(), false))
}
