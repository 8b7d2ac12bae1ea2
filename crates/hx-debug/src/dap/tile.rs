//! Requests beyond the protocol, for the picture of a tile: `hxTensors` and `hxTile`.

use hx_driver::{Named, Stepper};
use serde_json::{Value, json};

use crate::show;

/// The largest window of a tensor that a client gets, in rows and columns.
const WINDOW: [usize; 2] = [64, 64];

/// Lists the tensors that are visible to the agent in focus.
pub(super) fn tensors(stepper: &Stepper<'_>) -> Value {
    let one = |named: Named| json!({ "name": named.name, "memory": named.memory(), "dtype": named.dtype.to_string(), "shape": named.shape });
    json!({ "tensors": stepper.tensors().into_iter().map(one).collect::<Vec<_>>() })
}

/// Returns a window of a tensor: the values, the holder of each, and its byte and bank in shared memory.
///
/// # Errors
/// If there is no such tensor.
pub(super) fn answer(stepper: &Stepper<'_>, arguments: &Value) -> Result<Value, String> {
    let name = arguments["name"].as_str().unwrap_or_default();
    let memory = arguments["memory"].as_str();
    let fits = |named: &&Named| named.name == name && memory.is_none_or(|memory| memory == named.memory());
    let all = stepper.tensors();
    let named = all.iter().find(fits).ok_or_else(|| format!("there is no tensor `{name}` here"))?;
    let origin: Vec<i64> =
        arguments["origin"].as_array().into_iter().flatten().filter_map(Value::as_i64).collect();
    let tile = stepper.tile(named, &origin, WINDOW);
    let cell = |cell: &hx_driver::Cell| {
        json!({
            "text": cell.text, "thread": cell.holder.map(|holder| holder.0), "value": cell.holder.map(|holder| holder.1),
            "byte": cell.byte, "bank": cell.bank(),
        })
    };
    let spot = stepper.spot();
    let fault = stepper.fault_element().filter(|_| stepper.is_at_fault());
    let fault = fault.map(|(name, coordinate)| json!({ "name": name, "coordinate": coordinate }));
    Ok(json!({
        "name": named.name, "memory": named.memory(), "dtype": named.dtype.to_string(), "shape": named.shape,
        "origin": tile.origin, "extents": tile.extents, "cells": tile.cells.iter().map(cell).collect::<Vec<_>>(),
        "thread": stepper.thread(), "progress": stepper.progress(),
        "fault": fault,
        "operation": spot.map(|spot| &spot.title), "place": spot.map(|spot| show::place(stepper, spot)),
    }))
}
