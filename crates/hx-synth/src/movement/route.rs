//! Chooses how the values of a rearrangement reach their threads: each thread has them already, lanes of a warp exchange them, or
//! they move through shared memory. The cheapest way wins.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hx_dtype::DType;
use hx_layout::Layout;
use hx_target::{ExchangeRow, Reach};
use hx_tile::{Lanes, OpId, OpKind, RearrangeChoice, Reason, Route, TensorId};

use crate::cost;
use crate::distribution::key;
use crate::distribution::layouts::Layouts;
use crate::distribution::{ThreadValueLayout, layout_of_table};
use crate::search::context::SolverContext;
use crate::search::pool::ExchangeOf;

/// Returns the rearrangements of a program, each with the way that avoids shared memory, or `None` if there is no such way or it
/// costs more.
pub(crate) fn routes(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
) -> BTreeMap<OpId, Option<RearrangeChoice>> {
    let mut out = BTreeMap::new();
    for (op, trips) in context.program().ops(crate::constraints::component::UNKNOWN_TRIPS) {
        if let OpKind::Rearrange { dst, src, .. } = op.kind {
            let found = direct(context, known, [dst, src]);
            let choice = found.map(|(route, cycles)| {
                let text = match &route {
                    Route::Within(_) | Route::Renamed(_) => "every thread has its elements already".into(),
                    _ => differs(context, known, [dst, src]),
                };
                RearrangeChoice { route, cycles: trips * cycles, reason: Reason { text, from: vec![] } }
            });
            out.insert(op.id, choice);
        }
    }
    out
}

/// Returns the pool's key of an exchange through shared memory.
pub(crate) fn exchange_of(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    [dst, src]: [TensorId; 2],
    trips: f64,
) -> ExchangeOf {
    let tensor = context.program().tensor(src);
    let ends = [src, dst].map(|tensor| key(&known[tensor].layout));
    (ends, tensor.dtype, tensor.size(), trips.to_bits(), context.single)
}

/// Describes the layouts of the two ends of a rearrangement.
pub(crate) fn differs(context: &SolverContext<'_, '_>, known: &Layouts, [dst, src]: [TensorId; 2]) -> String {
    let (held, wanted) = (&known[src], &known[dst]);
    format!(
        "`{}` is held as {} ({}) and needed as {} ({})",
        context.program().tensor(src).name,
        held.layout.text(),
        held.reason.text,
        wanted.layout.text(),
        wanted.reason.text
    )
}

/// Returns the cheapest way that avoids shared memory, with the cycles of one execution. `None` if there is none, or if
/// shared memory is cheaper.
fn direct(
    context: &SolverContext<'_, '_>,
    known: &Layouts,
    [dst, src]: [TensorId; 2],
) -> Option<(Route, f64)> {
    let (held, wanted, tensor) = (&known[src].layout, &known[dst].layout, context.program().tensor(src));
    let route = ([key(held), key(wanted)], tensor.dtype, tensor.size(), context.drain.to_bits());
    if let Some(known) = context.pool.routes.borrow().get(&route) {
        return known.clone();
    }
    let found = found(context, [held, wanted], src);
    context.pool.routes.borrow_mut().insert(route, found.clone());
    found
}

fn found(
    context: &SolverContext<'_, '_>,
    [held, wanted]: [&Rc<ThreadValueLayout>; 2],
    src: TensorId,
) -> Option<(Route, f64)> {
    let target = context.target();
    if let Some(table) = context.pool.positions(held, wanted) {
        let layout = layout_of_table(&[table.len() as i64], &table);
        return Some((layout.map_or_else(|| Route::Renamed(table.to_vec()), Route::Within), 0.0));
    }
    let (tensor, threads) = (context.program().tensor(src), context.program().threads_holding(src));
    if !threads.is_multiple_of(target.limits.lanes) || held.threads() != wanted.threads() {
        return None;
    }
    let bytes = tensor.size() as f64 * f64::from(tensor.dtype.bits()) / 8.0;
    let shared =
        cost::exchange(target, threads, bytes) + context.drain + cost::shared_latency(context.target());
    let ends = Ends::of(held, wanted, target.limits.lanes as usize);
    let matrices = context.target().rows().exchanges_by(Reach::Tile).find_map(|row| {
        let (src, count) = ends.matrices(row, tensor.dtype)?;
        Some((Route::Matrices { row: row.into(), src }, cost::lanes(target, threads, row, count, 0)))
    });
    let lanes = || {
        let row = context.target().rows().exchanges_by(Reach::Lane).next()?;
        let lanes = ends.lanes(row, tensor.dtype)?;
        let (exchanges, selects) = steps(&lanes, row, tensor.dtype);
        Some((Route::Lanes(lanes), cost::lanes(target, threads, row, exchanges, selects)))
    };
    let routes = matrices.into_iter().chain(lanes());
    routes.min_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, cycles)| *cycles < shared)
}

/// Returns the number of exchange instructions of each warp, and the number of selects among their results.
fn steps(lanes: &Lanes, row: &ExchangeRow, dtype: DType) -> (i64, i64) {
    let threads = &lanes.position[0];
    let apart: BTreeSet<i64> = (0..threads.size()).map(|t| threads.eval(t)).collect();
    let (values, apart) = (lanes.position[1].size(), apart.len() as i64);
    let registers = i64::from(dtype.bits().div_ceil(row.bits));
    (values / lanes.together * apart * registers, values * (apart - 1))
}

/// The elements of both ends as numbers, with the same numbering for both: one list by thread, one by value. The sum of the two
/// numbers is the number of the element that the thread holds as that value.
struct Ends {
    /// Lanes of a warp.
    warp: usize,
    held: [Vec<i64>; 2],
    wanted: [Vec<i64>; 2],
}

/// A lane of the thread's own warp, and a position in that lane.
type Place = (i64, i64);

impl Ends {
    fn of(held: &ThreadValueLayout, wanted: &ThreadValueLayout, warp: usize) -> Ends {
        let radix = held.radix(wanted);
        Ends { warp, held: held.elements(&radix), wanted: wanted.elements(&radix) }
    }

    /// Returns the source position of each instruction, as a layout of `[value, instruction]`, and the number of instructions.
    /// `None` if the instruction does not bring every thread its elements, or if no layout describes the positions.
    fn matrices(&self, row: &'static ExchangeRow, dtype: DType) -> Option<(Layout, i64)> {
        let sources = row.sources()?;
        let (each, warp) = (sources.len(), self.warp);
        if each as u32 * dtype.bits() != row.bits {
            return None;
        }
        let ([threads, values], [_, held]) = (&self.wanted, &self.held);
        if values.len() % each != 0 || held.len() % each != 0 {
            return None;
        }
        let agree = |to: usize, from: usize| {
            (0..threads.len() * each).all(|i| {
                let (thread, value) = (i % threads.len(), i / threads.len());
                let (lane, number) = sources[value][thread % warp];
                let source = thread / warp * warp + lane as usize;
                threads[thread] + values[to + value] == self.held[0][source] + held[from + number as usize]
            })
        };
        let firsts = |to: usize| (0..held.len()).step_by(each).find(|from| agree(to, *from));
        let table: Option<Vec<i64>> =
            (0..values.len()).step_by(each).map(|to| firsts(to).map(|from| from as i64)).collect();
        let (table, count) = (table?, (values.len() / each) as i64);
        let words = layout_of_table(&[count], &table)?;
        Some((Layout::concat(&[Layout::flat(&[(each as i64, 1)]).ok()?, words]).ok()?, count))
    }

    /// Returns the place of each value of each thread within its warp as the sum of a layout over threads and one over
    /// values; `None` if it is no such sum, or if elements that are too narrow for a select do not move as whole words.
    fn lanes(&self, row: &'static ExchangeRow, dtype: DType) -> Option<Lanes> {
        let [threads, values] = [self.wanted[0].len(), self.wanted[1].len()];
        let places = self.places()?;
        let at = |thread: usize, value: usize| places[thread * values + value];
        let (lane, position) = at(0, 0);
        if (lane, position) != (0, 0) {
            return None;
        }
        let by_thread: Vec<Place> = (0..threads).map(|thread| at(thread, 0)).collect();
        let by_value: Vec<Place> = (0..values).map(|value| at(0, value)).collect();
        let is_sum = |i: usize| {
            let ((a, b), (c, d)) = (by_thread[i / values], by_value[i % values]);
            places[i] == (a + c, b + d)
        };
        if !(0..places.len()).all(is_sum) {
            return None;
        }
        let layout = |of: &[Place], pick: fn(&Place) -> i64| {
            layout_of_table(&[of.len() as i64], &of.iter().map(pick).collect::<Vec<_>>())
        };
        let pair = |pick: fn(&Place) -> i64| Some([layout(&by_thread, pick)?, layout(&by_value, pick)?]);
        let fills = i64::from((row.bits / dtype.bits()).max(1));
        let side_by_side = |places: &[Place]| {
            let (lane, position) = places[0];
            position % fills == 0 && places.iter().zip(0..).all(|(place, i)| *place == (lane, position + i))
        };
        let together = values as i64 % fills == 0
            && by_value.chunks(fills as usize).all(side_by_side)
            && by_thread.iter().all(|(_, position)| position % fills == 0);
        // Selects work on numbers of at least 16 bits, so narrower elements and booleans must move as whole words.
        if !together && (dtype.bits() < 16 || dtype == DType::Bool) {
            return None;
        }
        let together = if together { fills } else { 1 };
        let [lane, position] = [pair(|place| place.0)?, pair(|place| place.1)?];
        Some(Lanes { row: row.into(), together, lane, position })
    }

    /// Returns the places of all values, thread by thread, or `None` if one lies in another warp. If several places hold an
    /// element, the first position wins, then the lowest lane.
    fn places(&self) -> Option<Vec<Place>> {
        let warp = self.warp;
        let ([held_threads, held_values], [threads, values]) = (&self.held, &self.wanted);
        let mut out = Vec::with_capacity(threads.len() * values.len());
        for first in (0..threads.len()).step_by(warp) {
            let mut found: BTreeMap<i64, Place> = BTreeMap::new();
            for (position, value) in held_values.iter().enumerate() {
                for lane in 0..warp {
                    let element = held_threads[first + lane] + value;
                    found.entry(element).or_insert((lane as i64, position as i64));
                }
            }
            for thread in &threads[first..first + warp] {
                for value in values {
                    out.push(*found.get(&(thread + value))?);
                }
            }
        }
        Some(out)
    }
}
