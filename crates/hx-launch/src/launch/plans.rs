//! The plans of a kernel's launches: which call launches with what an earlier one has prepared.
//!
//! A plan is kept by its form (kernel, types, ranks, alignments, compile-time arguments: the caller's key) and by the facts of its numbers. A
//! launch of a plan with other numbers evaluates the plan's recipe. The results of the last launches are kept by their shapes, so that a
//! repeated call looks up one key.

use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::form::{Given, LaunchForm, Read};
use super::recipe::{Recipe, Values};

/// The most forms, the most plans of a form, and the most shapes of all plans that are kept. Above them, the oldest is dropped.
const MOST_FORMS: usize = 256;
const MOST_PLANS: usize = 1024;
const MOST_SHAPES: usize = 1024;

/// Values by keys, of which the oldest is dropped if there are too many.
#[derive(Debug)]
struct Bounded<V> {
    most: usize,
    values: FxHashMap<Arc<[u64]>, V>,
    /// The keys, oldest first.
    order: VecDeque<Arc<[u64]>>,
}

impl<V> Bounded<V> {
    /// Makes an empty collection of at most `most` values, at least 1.
    fn new(most: usize) -> Bounded<V> {
        Bounded { most: most.max(1), values: FxHashMap::default(), order: VecDeque::new() }
    }

    /// Returns the value of a key.
    fn get(&self, key: &[u64]) -> Option<&V> {
        self.values.get(key)
    }

    /// Keeps a value, in the place of an earlier one of the key.
    fn insert(&mut self, key: &[u64], value: V) {
        if let Some(known) = self.values.get_mut(key) {
            *known = value;
            return;
        }
        if self.values.len() >= self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.values.remove(&oldest);
        }
        let key: Arc<[u64]> = key.into();
        self.order.push_back(Arc::clone(&key));
        self.values.insert(key, value);
    }
}

/// The plans of a kernel. `P` is a plan, and `R` a plan with the numbers of a launch.
#[derive(Debug)]
pub struct Plans<P, R> {
    forms: Bounded<Form<P>>,
    shapes: Bounded<Shape<R>>,
}

#[derive(Debug)]
struct Form<P> {
    form: Arc<LaunchForm>,
    plans: Bounded<(Arc<P>, Arc<Recipe>)>,
    /// Whether some launch of the form has a recipe for itself only.
    has_single_launches: bool,
}

/// A launch with its shapes, which the next launch with these shapes repeats.
#[derive(Debug)]
struct Shape<R> {
    form: Arc<LaunchForm>,
    /// The whole numbers of the launch, if the result depends on them.
    numbers: Option<Vec<i64>>,
    ready: Arc<R>,
}

/// The result of a search for a call's plan.
#[derive(Debug)]
pub enum Found<P, R> {
    /// A launch with the same numbers was prepared before.
    Ready(Arc<R>),
    /// A launch with other numbers but the same facts was prepared before; the values are those of this call.
    Plan(Arc<P>, Values),
    /// The call must be prepared.
    Nothing,
}

impl<P, R> Default for Plans<P, R> {
    fn default() -> Plans<P, R> {
        Plans { forms: Bounded::new(MOST_FORMS), shapes: Bounded::new(MOST_SHAPES) }
    }
}

impl<P, R> Plans<P, R> {
    /// Searches the plan of a call. `key` identifies the form.
    pub fn find(&self, key: &[u64], given: &[Given<'_>]) -> Found<P, R> {
        if let Some(shape) = self.shapes.get(&with_shapes(key, given))
            && shape.numbers.as_ref().is_none_or(|numbers| whole_numbers(given).eq(numbers.iter().copied()))
            && shape.form.takes(given)
        {
            return Found::Ready(Arc::clone(&shape.ready));
        }
        let Some(Form { form, plans, has_single_launches }) = self.forms.get(key) else {
            return Found::Nothing;
        };
        if *has_single_launches && let Some(shape) = self.shapes.get(&with_numbers(key, given)) {
            return Found::Ready(Arc::clone(&shape.ready));
        }
        let planned = || {
            let read = form.read(given)?;
            let (plan, recipe) = plans.get(&read.facts)?;
            Some((Arc::clone(plan), recipe.values(given, &read)?))
        };
        planned().map_or(Found::Nothing, |(plan, values)| Found::Plan(plan, values))
    }

    /// Keeps the plan of a call that was prepared.
    pub fn insert(&mut self, key: &[u64], (form, read, recipe): (LaunchForm, &Read, Recipe), plan: Arc<P>) {
        if self.forms.get(key).is_none_or(|known| *known.form != form) {
            let plans = Bounded::new(MOST_PLANS);
            self.forms.insert(key, Form { form: Arc::new(form), plans, has_single_launches: false });
        }
        let Some(known) = self.forms.values.get_mut(key) else { return };
        if recipe.is_fixed() {
            known.has_single_launches = true;
        } else {
            known.plans.insert(&read.facts, (plan, Arc::new(recipe)));
        }
    }

    /// Keeps a plan of [`Plans::insert`] with the numbers of a call.
    pub fn keep(&mut self, key: &[u64], given: &[Given<'_>], ready: Arc<R>) {
        let Some(Form { form, plans, has_single_launches }) = self.forms.get(key) else { return };
        let Some(read) = form.read(given) else { return };
        let (shapes, numbers) = match plans.get(&read.facts) {
            Some((_, recipe)) => {
                (with_shapes(key, given), recipe.reads_numbers.then(|| whole_numbers(given).collect()))
            }
            None if *has_single_launches => (with_numbers(key, given), None),
            None => return,
        };
        let shape = Shape { form: Arc::clone(form), numbers, ready };
        self.shapes.insert(&shapes, shape);
    }
}

/// Returns a key that tells all calls of one form with different numbers apart.
fn with_numbers(key: &[u64], given: &[Given<'_>]) -> Vec<u64> {
    let mut all = with_shapes(key, given);
    // No shape is so large.
    all.push(u64::MAX);
    all.extend(whole_numbers(given).map(|number| number as u64));
    all
}

/// Returns a key that tells calls of one form with different shapes or strides apart.
fn with_shapes(key: &[u64], given: &[Given<'_>]) -> Vec<u64> {
    let mut all = Vec::with_capacity(key.len() + 8 * given.len());
    all.extend(key);
    for given in given {
        if let Given::Tensor { shape, strides } = given {
            all.extend(shape.iter().chain(*strides).map(|n| *n as u64));
        }
    }
    all
}

fn whole_numbers<'g>(given: &'g [Given<'_>]) -> impl Iterator<Item = i64> + 'g {
    given.iter().filter_map(|given| if let Given::Number(value) = given { Some(*value) } else { None })
}

#[cfg(test)]
mod tests;
