//! `hx build --emit c --shapes`: the members of a kernel's family that are the fastest for a range of shapes, and the function that
//! chooses between them.

use std::collections::BTreeMap;

use hx_base::SourceFile;
use hx_compile::{
    Db, Instance, Known, check_same_orders, forecast_of_launch, member_args, shared_orders, solved,
    tile_program,
};
use hx_hir::{Item, Kernel, Member, family_of};
use hx_index::Symbol;
use hx_inspect::{EmitError, Overrides, Setup, kernels, stopped};
use hx_launch::shown_member;
use hx_launch_c::{Front, FrontDim, Product};
use hx_lower::WrittenArg;
use hx_tile::Param;

use super::launcher::{text_of, with_launch};
use super::{
    BuildKind, BuildRequest, Built, BuiltLauncher, check_names, checked_source, compiled, requested,
};

/// The largest number of shapes for which a choice is made.
const MOST_SHAPES: usize = 4096;
/// The largest number of members of one launcher: the table has a byte for each shape.
const MOST_WINNERS: usize = 255;

/// The values of dimensions for which a launcher chooses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shapes {
    /// Each dimension with its first and its last value.
    dims: Vec<(String, i64, i64)>,
}

impl Shapes {
    /// Parses `m=1..=4096,n=4096,k=4096`.
    ///
    /// # Errors
    /// The problem with the text, as text.
    pub fn parse(text: &str) -> Result<Shapes, String> {
        let number = |text: &str| text.trim().parse::<i64>().ok().filter(|number| *number > 0);
        let dim = |part: &str| {
            let expected = || format!("found `{part}`, expected `m=4096` or `m=1..=4096`");
            let (name, values) = part.split_once('=').ok_or_else(expected)?;
            let (first, last) = values.split_once("..=").unwrap_or((values, values));
            match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => Ok((name.trim().to_owned(), first, last)),
                _ => Err(expected()),
            }
        };
        let dims: Vec<_> = text.split(',').map(|part| dim(part.trim())).collect::<Result<_, String>>()?;
        match dims.iter().enumerate().find(|(at, dim)| dims[..*at].iter().any(|other| other.0 == dim.0)) {
            Some((_, (name, ..))) => Err(format!("`{name}` is given twice")),
            None => Ok(Shapes { dims }),
        }
    }

    /// Returns the samples of a dimension, multiples of `divisor` if that is possible: both ends, and powers of two and their multiples by
    /// 3 between them.
    fn samples(first: i64, last: i64, divisor: i64) -> Vec<i64> {
        let powers = (0..62).flat_map(|power| [1i64 << power, 3i64 << (power - power.min(1))]);
        let inner = powers.filter(|value| (first..=last).contains(value));
        let fitted = |value: i64| (value + divisor - 1) / divisor * divisor;
        let mut all: Vec<i64> = inner.chain([first, last]).map(fitted).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// A member with everything that its estimates need.
struct Entrant<'db> {
    name: String,
    instance: Instance<'db>,
    /// The value of each dimension and stride of the member.
    dims: BTreeMap<Symbol, Product>,
}

/// Builds the members of a family that are the fastest for some of the shapes.
///
/// # Errors
/// If the kernel has no family, a shape is of no dimension, some shape fits no member, or a member cannot be built.
pub fn build_family(
    db: &dyn Db,
    file: SourceFile,
    (request, shapes): (&BuildRequest, &Shapes),
    stem: &str,
    setup: &Setup,
) -> Result<BuiltLauncher, EmitError> {
    let usage = |text: String| Err(EmitError::Usage(text));
    let &[kernel] = kernels(db, file, request.kernel.as_deref())?.as_slice() else {
        return usage("`--shapes` are those of one kernel; `--kernel NAME` says which".to_owned());
    };
    let family = family_of(db, kernel);
    let name = kernel.name(db);
    if family.members.is_empty() {
        return usage(format!(
            "`{name}` has no family to choose from; `#[family(…)]` before a kernel lists one"
        ));
    }
    if let Some((decided, _)) = request.overrides.iter().find(|(name, _)| family.decided.contains(name)) {
        return usage(format!(
            "`{decided}` decides between the members of `{name}`: leave it out, or leave out `--shapes`"
        ));
    }
    let entries = Entries::of(db, kernel, request, setup)?;
    let dims = entries.sampled(shapes, name, request)?;
    let mut entrants = Vec::new();
    for member in &family.members {
        entrants.extend(entrant(db, (kernel, member), (request, setup), &entries)?);
    }
    let (table, winners) = table(db, &entrants, &dims, setup)?;
    let (mut built, mut all, mut launches) = (Vec::new(), Vec::new(), Vec::new());
    for &winner in &winners {
        let Entrant { name, instance, .. } = &entrants[winner];
        launches.push((instance.kernel(db), checked_source(db, *instance)?));
        let kernel = compiled(db, *instance, BuildKind::C, setup)?;
        let launch = with_launch(db, *instance, &kernel)?;
        let words = name.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
        all.push(hx_launch_c::BuiltKernel { name: words.collect::<Vec<_>>().join("_"), ..launch });
        built.push(Built { kernel: name.as_str().into(), ..kernel });
    }
    check_names(db, &launches, request.facts.as_deref().unwrap_or_default())?;
    let passed = winners.iter().zip(&all).map(|(winner, built)| {
        let of = |name: &str| entrants[*winner].dims.get(&Symbol::Dim(name.into())).cloned();
        built
            .dims
            .iter()
            .map(|dim| of(&dim.name).unwrap_or(Product { number: 1, dims: Vec::new() }))
            .collect()
    });
    let front = Front { name: name.to_string(), dims, table, passed: passed.collect() };
    let text = text_of(db, file, (stem, setup.target), &all, Some(&front))?;
    Ok(BuiltLauncher { kernels: built, text })
}

/// The extents of the tensors of the kernel that has the family, as products of its dimensions.
struct Entries {
    /// The names of the dimensions, in the order of the header.
    names: Vec<String>,
    /// For each parameter, the extents of its tensor; none for a number.
    extents: Vec<Vec<Product>>,
}

impl Entries {
    fn of<'db>(
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        request: &BuildRequest,
        setup: &Setup,
    ) -> Result<Entries, EmitError> {
        let instance = requested(db, kernel, &request.overrides, request, setup)?;
        let lowered = tile_program(db, instance).as_ref().map_err(|stop| stopped(db, instance, stop))?;
        let mut out = Entries { names: Vec::new(), extents: Vec::new() };
        for param in &lowered.program.params {
            let Param::Tensor(tensor) = param else {
                out.extents.push(Vec::new());
                continue;
            };
            let extents = tensor.shape.iter().map(|extent| match (extent.as_const(), extent.as_symbol()) {
                (Some(number), _) => Ok(Product { number, dims: Vec::new() }),
                (None, Some(Symbol::Dim(name))) => Ok(Product { number: 1, dims: vec![out.named(name)] }),
                _ => Err(EmitError::Usage(format!(
                    "`{}` of `{}` has the extent `{extent}`; a chooser in C takes names and numbers only",
                    tensor.name,
                    kernel.name(db)
                ))),
            });
            let extents = extents.collect::<Result<_, _>>()?;
            out.extents.push(extents);
        }
        Ok(out)
    }

    /// Returns the position of a dimension, which is added if it is new.
    fn named(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        })
    }

    /// Returns the dimensions with the samples of `shapes`.
    fn sampled(
        &self,
        shapes: &Shapes,
        kernel: &str,
        request: &BuildRequest,
    ) -> Result<Vec<FrontDim>, EmitError> {
        let listed = || self.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        if let Some((name, ..)) = shapes.dims.iter().find(|(name, ..)| !self.names.contains(name)) {
            return Err(EmitError::Usage(format!(
                "`{kernel}` has no dimension `{name}`; it has {}",
                listed()
            )));
        }
        let mut out = Vec::new();
        for name in &self.names {
            let Some((_, first, last)) = shapes.dims.iter().find(|(dim, ..)| dim == name) else {
                return Err(EmitError::Usage(format!(
                    "`--shapes` lacks `{name}` of `{kernel}`, which has {}",
                    listed()
                )));
            };
            let divisor = request.divisor(name);
            out.push(FrontDim {
                name: name.clone(),
                divisor,
                samples: Shapes::samples(*first, *last, divisor),
            });
        }
        let shapes: usize = out.iter().map(|dim| dim.samples.len()).product();
        if shapes > MOST_SHAPES {
            let text =
                format!("the ranges of `--shapes` have {shapes} samples, expected at most {MOST_SHAPES}");
            return Err(EmitError::Usage(text + ": narrow them, or give fewer"));
        }
        Ok(out)
    }
}

/// Prepares a member of the family of `head`; `None` if it lacks an argument of the request, takes no packed tensor where `head` infers the
/// order of one, or cannot be built.
fn entrant<'db>(
    db: &'db dyn Db,
    (head, member): (Kernel<'db>, &Member),
    (request, setup): (&BuildRequest, &Setup),
    entries: &Entries,
) -> Result<Option<Entrant<'db>>, EmitError> {
    let Some(Item::Kernel(kernel)) = member.kernel.find(db) else { return Ok(None) };
    let own = member_args(member).into_iter().map(|(name, value)| (name, WrittenArg::Value(value)));
    let named = requested(db, head, &request.overrides, request, setup)?;
    let orders = shared_orders(db, named, kernel).unwrap_or_default();
    let orders = orders.into_iter().map(|(name, value)| (name, WrittenArg::Value(value)));
    let overrides: Overrides = request.overrides.iter().cloned().chain(orders).chain(own).collect();
    let Ok(instance) = requested(db, kernel, &overrides, request, setup) else { return Ok(None) };
    if check_same_orders(db, [named, instance]).is_err() {
        return Ok(None);
    }
    let Ok(lowered) = tile_program(db, instance).as_ref() else { return Ok(None) };
    if solved(db, instance).is_err() {
        return Ok(None);
    }
    let mut dims = BTreeMap::new();
    for (param, extents) in lowered.program.params.iter().zip(&entries.extents) {
        let Param::Tensor(tensor) = param else { continue };
        for (at, (extent, stride)) in tensor.shape.iter().zip(&tensor.stride).enumerate() {
            if let (Some(symbol @ Symbol::Dim(_)), Some(value)) = (extent.as_symbol(), extents.get(at)) {
                dims.insert(symbol.clone(), value.clone());
            }
            if let Some(symbol @ Symbol::Dim(_)) = stride.as_symbol() {
                let below = extents.iter().skip(at + 1);
                let product = below.fold(Product { number: 1, dims: Vec::new() }, |all, one| Product {
                    number: all.number * one.number,
                    dims: [all.dims, one.dims.clone()].concat(),
                });
                dims.entry(symbol.clone()).or_insert(product);
            }
        }
    }
    Ok(Some(Entrant { name: shown_member(member), instance, dims }))
}

/// Returns for each combination of samples the position of the fastest member among the winners, and the winners.
fn table(
    db: &dyn Db,
    entrants: &[Entrant<'_>],
    dims: &[FrontDim],
    setup: &Setup,
) -> Result<(Vec<u8>, Vec<usize>), EmitError> {
    let (mut table, mut winners) = (Vec::new(), Vec::new());
    let mut at = vec![0; dims.len()];
    loop {
        let values: Vec<i64> = at.iter().zip(dims).map(|(at, dim)| dim.samples[*at]).collect();
        let times = entrants.iter().map(|entrant| micros(db, entrant, &values, setup));
        let times = times.enumerate().filter_map(|(index, micros)| Some((index, micros?)));
        let Some((first, _)) = times.min_by(|a, b| a.1.total_cmp(&b.1)) else {
            let shape = dims.iter().zip(&values).map(|(dim, value)| format!("{} = {value}", dim.name));
            let shape = shape.collect::<Vec<_>>().join(", ");
            return Err(EmitError::Usage(format!("no member of the family takes {shape} with these facts")));
        };
        let place = winners.iter().position(|winner| *winner == first).unwrap_or_else(|| {
            winners.push(first);
            winners.len() - 1
        });
        let Some(place) = u8::try_from(place).ok().filter(|place| usize::from(*place) < MOST_WINNERS) else {
            return Err(EmitError::Usage("the shapes need too many members: narrow the ranges".to_owned()));
        };
        table.push(place);
        // The next combination: the last dimension counts fastest.
        let Some(next) = (0..dims.len()).rev().find(|dim| at[*dim] + 1 < dims[*dim].samples.len()) else {
            return Ok((table, winners));
        };
        at[next] += 1;
        at[next + 1..].fill(0);
    }
}

/// Returns the time of a member by the cost model; `None` if a `where` refuses the shape, or there is no estimate.
fn micros(db: &dyn Db, entrant: &Entrant<'_>, values: &[i64], setup: &Setup) -> Option<f64> {
    let value =
        |product: &Product| product.dims.iter().map(|dim| values[*dim]).product::<i64>() * product.number;
    let mut symbols: BTreeMap<Symbol, i64> =
        entrant.dims.iter().map(|(symbol, product)| (symbol.clone(), value(product))).collect();
    symbols.insert(Symbol::Multiprocessors, i64::from(setup.target.costs().multiprocessors));
    let lowered = tile_program(db, entrant.instance).as_ref().ok()?;
    let holds =
        |cond: &hx_index::Cond| cond.eval(&|symbol: &Symbol| symbols.get(symbol).copied()) == Ok(true);
    if !lowered.program.requires.iter().all(|requirement| holds(&requirement.cond)) {
        return None;
    }
    Some(forecast_of_launch(db, entrant.instance, Known::symbols(&symbols))?.micros())
}
