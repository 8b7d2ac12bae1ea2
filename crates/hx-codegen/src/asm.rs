//! Inline assembly: fills the templates of the catalogue with numbered operands.
//!
//! This module knows the syntax of templates and of `asm` statements. It does not know the meaning of an operand.

/// An operand of an `asm` statement.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    /// The constraint letter, without `=` and `+`.
    pub(crate) constraint: char,
    pub(crate) text: String,
}

/// An `asm` statement under construction.
#[derive(Debug, Default)]
pub(crate) struct Asm {
    /// Written operands. With [`Asm::in_place`] they are read as well.
    pub(crate) outputs: Vec<Operand>,
    pub(crate) inputs: Vec<Operand>,
    /// The outputs are operands that the instruction reads and writes: an accumulator, or a destination that keeps its old
    /// value if the instruction does not run.
    pub(crate) in_place: bool,
    /// An output may be written before all inputs are read, so none shares a register with an input.
    pub(crate) early: bool,
    /// The statement has effects besides its outputs, so the compiler must not reorder it with other such statements.
    pub(crate) effects: bool,
    /// The condition under which the instructions run.
    pub(crate) guard: Option<String>,
}

/// The operands for which a placeholder stands.
#[derive(Clone, Debug)]
pub(crate) enum Slots {
    Outputs(std::ops::Range<usize>),
    Inputs(std::ops::Range<usize>),
    /// Several inputs, or one, in braces.
    Vector(std::ops::Range<usize>),
    /// A single input.
    Input(usize),
    /// A number.
    Number(i64),
    /// The number of the `asm` statement, which makes labels unique.
    Unique,
}

/// The text of an `asm` statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    pub(crate) text: String,
    /// The PTX in it, as the literal spells it.
    pub(crate) ptx: String,
}

/// The column up to which an `asm` statement is written on one line.
const LINE: usize = 116;

impl Asm {
    /// Returns the statement: the template with its placeholders replaced as `slots` says.
    ///
    /// # Errors
    /// The name of a placeholder that `slots` does not know.
    pub(crate) fn statement(
        &self,
        template: &str,
        slots: &dyn Fn(&str) -> Option<Slots>,
        indent: usize,
    ) -> Result<Written, String> {
        let vector = |range: &std::ops::Range<usize>| -> String {
            let list: Vec<String> = range.clone().map(|i| format!("%{}", self.outputs.len() + i)).collect();
            format!("{{{}}}", list.join(", "))
        };
        let numbers = |range: &std::ops::Range<usize>, first: usize| -> String {
            let list: Vec<String> = range.clone().map(|i| format!("%{}", first + i)).collect();
            if list.len() == 1 { list[0].clone() } else { format!("{{{}}}", list.join(", ")) }
        };
        let inputs = self.outputs.len();
        let mut code = render(template, &|name| {
            Some(match slots(name)? {
                Slots::Outputs(range) => numbers(&range, 0),
                Slots::Inputs(range) => numbers(&range, inputs),
                Slots::Vector(range) => vector(&range),
                Slots::Input(i) => format!("%{}", inputs + i),
                Slots::Number(n) => n.to_string(),
                Slots::Unique => "%=".to_owned(),
            })
        })?;
        let mut given: Vec<String> =
            self.inputs.iter().map(|o| format!("\"{}\"({})", o.constraint, o.text)).collect();
        if let Some(guard) = &self.guard {
            let n = inputs + given.len();
            code = format!("{{ .reg .pred p; setp.ne.b32 p, %{n}, 0; @p {code} }}");
            given.push(format!("\"r\"((int)({guard}))"));
        }
        let sign = match (self.in_place, self.early) {
            (true, _) => "+",
            (false, true) => "=&",
            (false, false) => "=",
        };
        let taken: Vec<String> =
            self.outputs.iter().map(|o| format!("\"{sign}{}\"({})", o.constraint, o.text)).collect();
        let mut parts = vec![format!("\"{code}\""), list(&taken), list(&given)];
        if self.effects {
            parts.push(": \"memory\"".into());
        } else if given.is_empty() {
            parts.pop();
        }
        let head = if self.effects { "asm volatile(" } else { "asm(" };
        let single = format!("{head}{});", parts.join(" "));
        if indent + single.len() <= LINE {
            return Ok(Written { text: single, ptx: code });
        }
        let pad = " ".repeat(indent + 4);
        let mut lines = vec![parts[0].clone()];
        lines.extend([taken, given].iter().take(parts.len() - 1).map(|o| wrapped(o, indent + 4)));
        lines.extend(self.effects.then(|| parts[3].clone()));
        let text = format!("{head}\n{pad}{});", lines.join(&format!("\n{pad}")));
        Ok(Written { text, ptx: code })
    }
}

/// Returns the opcodes of a PTX text: the first word of each statement, after braces and guards. Declarations are skipped.
pub fn opcodes(ptx: &str) -> impl Iterator<Item = &str> {
    ptx.split([';', '\n']).filter_map(|statement| {
        let mut words = statement.split(|c: char| c.is_whitespace() || c == '{' || c == '}' || c == '\\');
        words
            .find(|word| !word.is_empty() && !word.starts_with('@'))
            .filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()))
    })
}

/// Returns an operand list, such as `: "r"(a), "r"(b)`.
fn list(operands: &[String]) -> String {
    if operands.is_empty() { ":".into() } else { format!(": {}", operands.join(", ")) }
}

/// As [`list`], wrapped to several lines if necessary.
fn wrapped(operands: &[String], indent: usize) -> String {
    let mut text = ":".to_owned();
    let mut column = indent + 1;
    for (i, operand) in operands.iter().enumerate() {
        let comma = usize::from(i + 1 < operands.len());
        if i > 0 && column + 1 + operand.len() + comma > LINE {
            text.push('\n');
            text.push_str(&" ".repeat(indent + 1));
            column = indent + 1;
        }
        text.push(' ');
        text.push_str(operand);
        column += 1 + operand.len() + comma;
        if comma > 0 {
            text.push(',');
        }
    }
    text
}

/// Replaces each `{name}` of a C++ template. `value` also receives whether the placeholder is enclosed in parentheses.
///
/// # Errors
/// The name of a placeholder that `value` does not know, or the text after a brace that is not closed.
pub(crate) fn fill(template: &str, value: &dyn Fn(&str, bool) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let (name, tail) = after.split_once('}').ok_or_else(|| after.to_owned())?;
        let enclosed = out.ends_with('(') && tail.starts_with(')');
        out.push_str(&value(name, enclosed).ok_or_else(|| name.to_owned())?);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// Replaces each `{name}` of a template and turns `{{` and `}}` into braces. Escapes the rest for the string of an `asm`
/// statement: percent signs are doubled, quotes, backslashes and line ends get a backslash.
///
/// # Errors
/// The name of a placeholder that `value` does not know, or the text from a brace on that is not closed.
fn render(template: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}', '%', '"', '\\', '\n']) {
        out.push_str(&rest[..at]);
        let tail = &rest[at..];
        let taken = match tail.as_bytes() {
            [b'{', b'{', ..] | [b'}', b'}', ..] => {
                out.push_str(&tail[..1]);
                2
            }
            [b'{', ..] => {
                let Some(end) = tail.find('}') else { return Err(tail.into()) };
                let name = &tail[1..end];
                out.push_str(&value(name).ok_or_else(|| name.to_owned())?);
                end + 1
            }
            [b'%', ..] => {
                out.push_str("%%");
                1
            }
            [b'\n', ..] => {
                out.push_str("\\n");
                1
            }
            [b'"' | b'\\', ..] => {
                out.push('\\');
                out.push_str(&tail[..1]);
                1
            }
            _ => return Err(tail[..1].into()),
        };
        rest = &tail[taken..];
    }
    out.push_str(rest);
    Ok(out)
}

/// Reports whether a template is a single instruction, which can be predicated.
pub(crate) fn is_single(template: &str) -> bool {
    let code = template.trim();
    !code.starts_with("{{") && code.strip_suffix(';').is_some_and(|code| !code.contains(';'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates() {
        let of = |t: &str| render(t, &|name| (name == "r").then(|| "{%0, %1}".to_owned()));
        assert_eq!(of("op.v2 {r}, [x];"), Ok("op.v2 {%0, %1}, [x];".into()));
        assert_eq!(of("{{ mov %laneid, {r}; }}"), Ok("{ mov %%laneid, {%0, %1}; }".into()));
        assert_eq!(of("op {q};"), Err("q".into()));
        assert!(is_single("op.v2 {r}, [{a}];"));
        assert!(!is_single("{{ op {r}; }}"));
        assert!(!is_single("op {r}; op {a};"));
    }

    #[test]
    fn a_guard_becomes_a_predicate() {
        let asm = Asm {
            outputs: vec![Operand { constraint: 'r', text: "x".into() }],
            inputs: vec![Operand { constraint: 'l', text: "p".into() }],
            in_place: true,
            early: false,
            effects: true,
            guard: Some("i < n".into()),
        };
        let slots = |name: &str| match name {
            "r" => Some(Slots::Outputs(0..1)),
            "a" => Some(Slots::Input(0)),
            _ => None,
        };
        expect_test::expect![[r#"
            asm volatile(
                "{ .reg .pred p; setp.ne.b32 p, %2, 0; @p op %0, [%1]; }"
                : "+r"(x)
                : "l"(p), "r"((int)(i < n))
                : "memory");"#]]
        .assert_eq(
            &asm.statement("op {r}, [{a}];", &slots, 0).map(|written| written.text).unwrap_or_default(),
        );
    }

    #[test]
    fn opcodes_of_a_text() {
        let of = |ptx| opcodes(ptx).collect::<Vec<_>>();
        assert_eq!(
            of("{ .reg .pred p; setp.ne.b32 p, %2, 0; @p ld.global.b32 %0, [%1]; }"),
            ["setp.ne.b32", "ld.global.b32"]
        );
        assert_eq!(of("st.shared.b16 [{a}], {r};\nbar.sync 0;"), ["st.shared.b16", "bar.sync"]);
        assert_eq!(of(""), [""; 0]);
    }
}
