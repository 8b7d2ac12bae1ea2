//! Scopes and variables: integers, the values of a thread, tensors, barriers.

use hx_driver::{Named, Stepper, Tile};
use serde_json::{Value, json};

use crate::command::reference;
use crate::show::listed;

/// The largest number of rows and columns of a tensor that is expanded.
const WINDOW: [usize; 2] = [256, 256];
/// The number of values in the preview of a row.
const PREVIEW: usize = 16;

/// A variable that can be expanded.
#[derive(Clone, Debug)]
enum Node {
    Integers,
    Thread,
    Tensors,
    Barriers,
    Tensor(Named),
    /// A row of a tensor, with the coordinate of its first element.
    Row(Named, Vec<i64>),
    /// The values of a tensor that the thread in focus holds.
    Values(Named),
}

/// The variables that the client can expand at the current moment. The reference of a variable is its position, from 1.
#[derive(Debug, Default)]
pub(super) struct Variables {
    nodes: Vec<Node>,
}

impl Variables {
    /// Forgets all variables, because their references are valid for one moment only.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len()
    }

    pub(super) fn scopes(&mut self, stepper: &Stepper<'_>) -> Value {
        let mut scope = |name: String, node: Node| json!({ "name": name, "variablesReference": self.add(node), "expensive": false });
        let mut scopes = vec![
            scope("Integers".to_owned(), Node::Integers),
            scope(format!("Thread {}", stepper.thread()), Node::Thread),
            scope("Tensors".to_owned(), Node::Tensors),
        ];
        if !stepper.barriers().is_empty() {
            scopes.push(scope("Barriers".to_owned(), Node::Barriers));
        }
        json!({ "scopes": scopes })
    }

    pub(super) fn of(&mut self, stepper: &Stepper<'_>, reference: u64) -> Vec<Value> {
        let node = (reference as usize).checked_sub(1).and_then(|at| self.nodes.get(at)).cloned();
        match node {
            None => Vec::new(),
            Some(Node::Integers) => stepper
                .integers()
                .into_iter()
                .map(|(name, value)| leaf(&name, &value.to_string(), None))
                .collect(),
            Some(Node::Barriers) => {
                stepper.barriers().into_iter().map(|(name, text)| leaf(&name, &text, None)).collect()
            }
            Some(Node::Thread) => {
                let registers = stepper.tensors().into_iter().filter(|named| named.memory() == "register");
                registers.map(|named| self.values(stepper, named)).collect()
            }
            Some(Node::Tensors) => stepper.tensors().into_iter().map(|named| self.tensor(&named)).collect(),
            Some(Node::Values(named)) => {
                let value = |(at, value, text): (Vec<i64>, usize, String)| {
                    leaf(&value.to_string(), &text, Some(format!("[{}]", listed(&at))))
                };
                stepper.values(&named).into_iter().map(value).collect()
            }
            Some(Node::Tensor(named)) => self.rows(stepper, &named),
            Some(Node::Row(named, origin)) => {
                let tile = stepper.tile(&named, &origin, [1, WINDOW[1]]);
                (0..tile.extents[1]).map(|column| cell(&tile, column)).collect()
            }
        }
    }

    /// Describes, in one variable, the values of a tensor that the thread in focus holds.
    fn values(&mut self, stepper: &Stepper<'_>, named: Named) -> Value {
        let texts: Vec<String> = stepper.values(&named).into_iter().map(|(_, _, text)| text).collect();
        let mut preview = texts.iter().take(PREVIEW).cloned().collect::<Vec<_>>().join(" ");
        if texts.len() > PREVIEW {
            preview += " …";
        }
        let (name, count) = (named.name.clone(), texts.len());
        json!({ "name": name, "value": preview, "type": format!("{count} values"), "variablesReference": self.add(Node::Values(named)) })
    }

    fn tensor(&mut self, named: &Named) -> Value {
        let text = described(named);
        json!({
            "name": named.name, "value": text, "type": text, "evaluateName": named.name,
            "variablesReference": self.add(Node::Tensor(named.clone())),
        })
    }

    /// Describes the rows of a tensor. A tensor of more than two dimensions has rows for up to 64 coordinates of the others.
    fn rows(&mut self, stepper: &Stepper<'_>, named: &Named) -> Vec<Value> {
        let outer: Vec<i64> = named.shape.iter().skip(2).copied().collect();
        let planes = outer.iter().product::<i64>().clamp(0, 64);
        let mut out = Vec::new();
        for plane in 0..planes.max(1) {
            let mut origin = vec![0; named.shape.len()];
            let mut rest = plane;
            for (at, extent) in origin.iter_mut().skip(2).zip(&outer) {
                *at = rest % extent;
                rest /= extent;
            }
            // Read one column more than the preview shows, to know whether the row goes on.
            let tile = stepper.tile(named, &origin, [WINDOW[0], PREVIEW + 1]);
            let [rows, columns] = tile.extents;
            for row in 0..rows {
                let start = tile.coordinate(row, 0);
                let texts =
                    (0..columns.min(PREVIEW)).map(|column| tile.cells[row * columns + column].text.as_str());
                let preview =
                    texts.collect::<Vec<_>>().join(" ") + if columns > PREVIEW { " …" } else { "" };
                let name = |(dim, at): (usize, &i64)| {
                    let is_open = if named.shape.len() == 1 { dim == 0 } else { dim == 1 };
                    if is_open { "..".to_owned() } else { at.to_string() }
                };
                let name = start.iter().enumerate().map(name).collect::<Vec<_>>().join(", ");
                let reference = self.add(Node::Row(named.clone(), start));
                out.push(
                    json!({ "name": format!("[{name}]"), "value": preview, "variablesReference": reference }),
                );
            }
        }
        out
    }

    /// Evaluates the name of an integer or tensor, or an element, for a hover or a watch.
    ///
    /// # Errors
    /// If the expression is invalid, names nothing here, or the element is outside of its tensor.
    pub(super) fn evaluate(&mut self, stepper: &Stepper<'_>, expression: &str) -> Result<Value, String> {
        let wanted = reference(expression)?;
        if let Some((_, value)) = stepper.integers().into_iter().find(|(name, _)| *name == wanted.name) {
            return Ok(json!({ "result": value.to_string(), "type": "integer", "variablesReference": 0 }));
        }
        let all = stepper.tensors();
        let named = all.into_iter().find(|named| named.name == wanted.name);
        let named =
            named.ok_or_else(|| format!("there is no tensor and no integer `{}` here", wanted.name))?;
        if wanted.exact {
            stepper
                .place(&named, &wanted.at)
                .ok_or_else(|| format!("the element is outside of `{}`", named.name))?;
            let tile = stepper.tile(&named, &wanted.at, [1, 1]);
            return Ok(
                json!({ "result": tile.cells[0].text, "type": holder(&tile, 0), "variablesReference": 0 }),
            );
        }
        let result = described(&named);
        Ok(json!({ "result": result, "variablesReference": self.add(Node::Tensor(named)) }))
    }
}

/// Describes a tensor: `register f32[64, 64]`.
fn described(named: &Named) -> String {
    format!("{} {}[{}]", named.memory(), named.dtype, listed(&named.shape))
}

fn leaf(name: &str, value: &str, kind: Option<String>) -> Value {
    json!({ "name": name, "value": value, "type": kind, "variablesReference": 0 })
}

fn cell(tile: &Tile, column: usize) -> Value {
    let at = format!("[{}]", listed(&tile.coordinate(0, column)));
    json!({
        "name": at, "value": tile.cells[column].text, "type": holder(tile, column),
        "evaluateName": format!("{}{at}", tile.named.name), "variablesReference": 0,
    })
}

/// Describes where a cell is: `value 3 of thread 17`, or `byte 256, bank 0` in shared memory. `None` for other memory.
fn holder(tile: &Tile, at: usize) -> Option<String> {
    let cell = &tile.cells[at];
    let held = cell.holder.map(|(thread, value)| format!("value {value} of thread {thread}"));
    held.or_else(|| cell.byte.zip(cell.bank()).map(|(byte, bank)| format!("byte {byte}, bank {bank}")))
}
