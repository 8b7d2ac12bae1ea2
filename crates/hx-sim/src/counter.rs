//! Checks of counters before and after a launch.

use crate::code::Code;
use crate::error::{Fault, Place, SimError};
use crate::global::Tensor;

/// Fails if the tensor of a counter is not 0, or if the counter cannot count its draws.
pub(crate) fn expect_zero(code: &Code, tensors: &[Option<Tensor>]) -> Result<(), SimError> {
    for counter in &code.counters {
        let place = Place { origin: Some(counter.origin), ..Place::default() };
        let fail = |fault| Err(SimError { fault, place: Some(Box::new(place)) });
        let (name, limit, blocks) = (counter.name.clone(), counter.limit, code.grid.iter().product::<u64>());
        if limit < 0 || limit as u64 + blocks > i32::MAX as u64 {
            return fail(Fault::CounterLimit { counter: name, limit, blocks });
        }
        let Some(tensor) = &tensors[counter.tensor] else { continue };
        let value = tensor.bytes.first_chunk().map_or(0, |bytes| i32::from_le_bytes(*bytes));
        if value != 0 {
            return fail(Fault::CounterStart { counter: name, tensor: tensor.name.clone(), value });
        }
    }
    Ok(())
}

/// Fails if the blocks did not draw `limit + blocks` numbers from a counter: each block draws one that ends its loops, and the
/// last draw sets the counter back to 0.
pub(crate) fn expect_reset(code: &Code, drawn: &[u64]) -> Result<(), SimError> {
    let blocks: u64 = code.grid.iter().product();
    for (counter, drawn) in code.counters.iter().zip(drawn) {
        let wanted = counter.limit as u64 + blocks;
        if blocks > 0 && *drawn != wanted {
            let text = format!("the blocks draw {drawn} times from `{}`, expected {wanted}", counter.name);
            return Err(Fault::Malformed(text).into());
        }
    }
    Ok(())
}
