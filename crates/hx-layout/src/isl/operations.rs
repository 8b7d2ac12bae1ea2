//! The algebra of relations: composition, union, intersection, domain and image, and what only the list of points tells.
//!
//! The first five rewrite formulas, so they are exact for infinite relations too. The others list the points, and fail for a
//! relation that cannot be listed.

use super::collect::relation_of;
use super::list::Points;
use super::relation::{Part, Relation, RelationError, Space, list};

/// The largest number of parts of a union that an operation makes.
const MAX_PARTS: usize = 256;

/// The largest number of points that a box may have in which a complement is taken.
const MAX_BOX: i64 = 1 << 20;

impl Relation {
    /// Returns *second* after `self`: the pairs *(x, z)* with a *y* such that `self` has *(x, y)* and *second* has *(y, z)*. If
    /// `self` is a set, returns the set of the *z*, its image under *second*.
    ///
    /// # Errors
    /// If *second* is a set, the outputs of `self` are not as many as its inputs, or the result has too many parts.
    pub fn then(&self, second: &Relation) -> Result<Relation, RelationError> {
        let (inputs, dims) = self.arity();
        let (Some(wanted), _) = second.arity() else {
            return undefined("a set cannot follow a relation: it has no `->`".to_string());
        };
        let outputs = dims - inputs.unwrap_or(0);
        if outputs != wanted {
            return undefined(format!(
                "a relation with {} cannot follow one with {}",
                counted(wanted, "input"),
                counted(outputs, "output")
            ));
        }
        let given = &self.space.names[..inputs.unwrap_or(0)];
        let names = given.iter().chain(&second.space.names[wanted..]).cloned().collect();
        let parts = pairs(self, second, Part::then)?;
        Ok(Relation { space: Space { names, inputs }, parts })
    }

    /// Returns the points of either relation. The dimensions keep the names of `self`.
    ///
    /// # Errors
    /// If the numbers of inputs and outputs differ, or the result has too many parts.
    pub fn union(&self, other: &Relation) -> Result<Relation, RelationError> {
        self.same_arity(other, "union")?;
        few(self.parts.len() + other.parts.len())?;
        Ok(Relation {
            space: self.space.clone(),
            parts: self.parts.iter().chain(&other.parts).cloned().collect(),
        })
    }

    /// Returns the points of both relations. The dimensions keep the names of `self`.
    ///
    /// # Errors
    /// As for [`union`](Self::union).
    pub fn intersection(&self, other: &Relation) -> Result<Relation, RelationError> {
        self.same_arity(other, "intersection")?;
        Ok(Relation { space: self.space.clone(), parts: pairs(self, other, Part::and)? })
    }

    /// Returns the set of inputs that have an output.
    ///
    /// # Errors
    /// If `self` is a set.
    pub fn domain(&self) -> Result<Relation, RelationError> {
        let Some(inputs) = self.space.inputs else {
            return undefined("a set has no domain: it has no `->`".to_string());
        };
        // The outputs follow the inputs, so they become the first variables of `exists`.
        let part = |part: &Part| Part { inputs: None, dims: inputs, ..part.clone() }.simplified();
        let space = Space { names: self.space.names[..inputs].to_vec(), inputs: None };
        Ok(Relation { space, parts: self.parts.iter().map(part).collect() })
    }

    /// Returns the set of outputs.
    ///
    /// # Errors
    /// If `self` is a set.
    pub fn image(&self) -> Result<Relation, RelationError> {
        if self.space.inputs.is_none() {
            return undefined("a set has no image: it has no `->`".to_string());
        }
        self.inverse().domain()
    }

    /// Returns the number of points: of a function, the number of its coordinates.
    ///
    /// # Errors
    /// If the relation cannot be listed.
    pub fn size(&self) -> Result<i64, RelationError> {
        Ok(self.points()?.len() as i64)
    }

    /// Reports whether no output belongs to two inputs.
    ///
    /// # Errors
    /// If `self` is a set or cannot be listed.
    pub fn is_injective(&self) -> Result<bool, RelationError> {
        let inputs = self.inputs("`is_injective`")?;
        Ok(repeated(&self.points()?, inputs, true).is_none())
    }

    /// Returns the function from each output to an input that has it, such that `self` after it is the identity on the image: the
    /// inverse if `self` is injective, otherwise the input with the least 1-D coordinate.
    ///
    /// # Errors
    /// If `self` is no function, cannot be listed, or the inputs chosen follow no rule of a few lines.
    pub fn right_inverse(&self) -> Result<Relation, RelationError> {
        let inputs = self.inputs("a right inverse")?;
        let points = self.points()?;
        if let Some([first, second]) = repeated(&points, inputs, false) {
            return undefined(format!(
                "the relation is not a function, which a right inverse needs: at {} it has both {} and {}; `inverse` reverses every relation",
                list(&first[..inputs]),
                list(&first[inputs..]),
                list(&second[inputs..])
            ));
        }
        if repeated(&points, inputs, true).is_none() {
            return Ok(self.inverse());
        }
        // 1-D coordinates count through the inputs from the left, so the last input decides first.
        let mut ordered: Vec<&Vec<i64>> = points.iter().collect();
        ordered.sort_by_key(|point| {
            (point[inputs..].to_vec(), point[..inputs].iter().rev().copied().collect::<Vec<_>>())
        });
        ordered.dedup_by(|next, first| next[inputs..] == first[inputs..]);
        let turned = ordered.iter().map(|point| [&point[inputs..], &point[..inputs]].concat()).collect();
        relation_of(&self.inverse().space, turned)
    }

    /// Returns the function from each output to its only input, which after `self` is the identity.
    ///
    /// # Errors
    /// If an output belongs to two inputs, `self` is a set, or it cannot be listed.
    pub fn left_inverse(&self) -> Result<Relation, RelationError> {
        let inputs = self.inputs("a left inverse")?;
        match repeated(&self.points()?, inputs, true) {
            None => Ok(self.inverse()),
            Some([first, second]) => undefined(format!(
                "the relation has no left inverse: it takes both {} and {} to {}",
                list(&first[..inputs]),
                list(&second[..inputs]),
                list(&first[inputs..])
            )),
        }
    }

    /// Returns the set of the points of a box that are no output of `self`, or, if `self` is a set, not in it. The box begins at
    /// 0 and has these extents; without extents, it ends at the largest outputs.
    ///
    /// The complement of a layout is another notion: the starts of its copies. That of `4:2` in 8 is `2:1`; that of its relation
    /// is the set of 1, 3, 5 and 7.
    ///
    /// # Errors
    /// If the extents are not as many as the outputs, one is below 1, the box is too large, `self` cannot be listed, or the
    /// complement follows no rule of a few lines. Without extents, if an output is below 0 or there is none.
    pub fn complement(&self, extents: Option<&[i64]>) -> Result<Relation, RelationError> {
        let image = match self.space.inputs {
            None => self.clone(),
            Some(_) => self.image()?,
        };
        let dims = image.space.names.len();
        let points = image.points()?;
        let extents = match extents {
            Some(extents) if extents.len() == dims => extents.to_vec(),
            Some(extents) => {
                let (given, has) = (counted(extents.len(), "extent"), counted(dims, "output"));
                return undefined(format!("a box of {given} was given for a relation with {has}"));
            }
            None => box_of(&points, dims)?,
        };
        let volume = extents.iter().try_fold(1i64, |n, &extent| n.checked_mul(extent));
        match (extents.iter().min(), volume) {
            (Some(&least), _) if least < 1 => {
                undefined(format!("found a box of extent {least}, expected at least 1"))
            }
            (_, Some(volume)) if volume <= MAX_BOX => {
                let left = coordinates(&extents).filter(|point| !points.contains(point)).collect();
                relation_of(&image.space, left)
            }
            _ => undefined(format!("the box of the complement has more than {MAX_BOX} points")),
        }
    }

    fn inputs(&self, what: &str) -> Result<usize, RelationError> {
        match self.space.inputs {
            Some(inputs) => Ok(inputs),
            None => undefined(format!("{what} is defined for relations, and a set has no `->`")),
        }
    }

    fn same_arity(&self, other: &Relation, what: &str) -> Result<(), RelationError> {
        if self.arity() == other.arity() {
            return Ok(());
        }
        let text = |relation: &Relation| match relation.arity() {
            (None, dims) => format!("a set of {}", counted(dims, "dimension")),
            (Some(inputs), dims) => {
                format!("{} and {}", counted(inputs, "input"), counted(dims - inputs, "output"))
            }
        };
        undefined(format!(
            "no {what} of relations of different dimensions: {}, and {}",
            text(self),
            text(other)
        ))
    }
}

impl Part {
    /// Returns `second` after `self`. The value between them becomes a variable of `exists`.
    fn then(&self, second: &Part) -> Part {
        let inputs = self.inputs.unwrap_or(0);
        let between = self.dims - inputs;
        let outputs = second.dims - between;
        let dims = inputs + outputs;
        let own = self.names.len() - self.dims;
        let first = |v: usize| if v < inputs { v } else { v + outputs };
        let last = |v: usize| match v {
            v if v < between => dims + v,
            v if v < second.dims => inputs + v - between,
            v => dims + between + own + v - second.dims,
        };
        let mut names = self.names[..inputs].to_vec();
        names.extend_from_slice(&second.names[between..second.dims]);
        names.extend_from_slice(&self.names[inputs..]);
        names.extend_from_slice(&second.names[second.dims..]);
        let atoms = self.renamed(&first).chain(second.renamed(&last)).collect();
        Part { names, inputs: self.inputs, dims, atoms }.simplified()
    }

    /// Returns the points of both parts, which have the same dimensions.
    fn and(&self, other: &Part) -> Part {
        let own = self.names.len() - self.dims;
        let moved = |v: usize| if v < self.dims { v } else { v + own };
        let names = self.names.iter().chain(&other.names[other.dims..]).cloned().collect();
        let atoms = self.atoms.iter().cloned().chain(other.renamed(&moved)).collect();
        Part { names, inputs: self.inputs, dims: self.dims, atoms }.simplified()
    }
}

/// Combines each part of `a` with each of `b`.
fn pairs(a: &Relation, b: &Relation, f: fn(&Part, &Part) -> Part) -> Result<Vec<Part>, RelationError> {
    few(a.parts.len().saturating_mul(b.parts.len()))?;
    Ok(a.parts.iter().flat_map(|first| b.parts.iter().map(move |second| f(first, second))).collect())
}

fn few(parts: usize) -> Result<(), RelationError> {
    match parts {
        0..=MAX_PARTS => Ok(()),
        _ => undefined(format!("the result would be a union of {parts} parts, more than {MAX_PARTS}")),
    }
}

/// Returns the first two points that share the outputs (`outputs`) or the inputs, and differ in the others.
fn repeated(points: &Points, inputs: usize, outputs: bool) -> Option<[Vec<i64>; 2]> {
    let key = |point: &Vec<i64>| match outputs {
        true => point[inputs..].to_vec(),
        false => point[..inputs].to_vec(),
    };
    let mut ordered: Vec<&Vec<i64>> = points.iter().collect();
    ordered.sort_by_key(|point| key(point));
    let pair = ordered.windows(2).find(|pair| key(pair[0]) == key(pair[1]))?;
    Some([pair[0].clone(), pair[1].clone()])
}

/// Returns the extents of the least box from 0 that has all points.
fn box_of(points: &Points, dims: usize) -> Result<Vec<i64>, RelationError> {
    if let Some(low) = points.iter().find(|point| point.iter().any(|&x| x < 0)) {
        return undefined(format!(
            "the relation has the output {}, below 0: say the box, as in `complement(r, 8)`",
            list(low)
        ));
    }
    if points.is_empty() {
        return undefined("the relation is empty: say the box, as in `complement(r, 8)`".to_string());
    }
    let extent = |d: usize| points.iter().map(|point| point[d]).max().unwrap_or(0).saturating_add(1);
    Ok((0..dims).map(extent).collect())
}

/// Yields the points of a box from 0, the last coordinate fastest.
fn coordinates(extents: &[i64]) -> impl Iterator<Item = Vec<i64>> + '_ {
    (0..extents.iter().product()).map(move |index: i64| {
        let mut rest = index;
        let mut point: Vec<i64> = extents
            .iter()
            .rev()
            .map(|extent| {
                let here = rest % extent;
                rest /= extent;
                here
            })
            .collect();
        point.reverse();
        point
    })
}

fn undefined<T>(why: String) -> Result<T, RelationError> {
    Err(RelationError::Undefined(why))
}

/// Writes a count with its noun: `1 input`, `2 inputs`.
fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}
