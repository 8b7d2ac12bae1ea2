//! Removes variables of `exists` that an equation defines.
//!
//! A composition leaves a variable for the value between its two relations. If that value is a term of the others, the term takes
//! its place: `exists (y : y = x + 1 and i = 2*y)` becomes `i = 2*(x + 1)`. Listing then has fewer variables to try.

use super::relation::{Atom, Op, Part, Term};

/// The largest number of operations by which one replacement may make a part longer.
const MAX_GROWTH: usize = 256;

impl Part {
    /// Returns the same points with fewer variables of `exists`.
    pub(super) fn simplified(mut self) -> Part {
        while let Some((at, v, term)) = self.definition() {
            self.atoms.remove(at);
            for other in self.atoms.iter_mut().flat_map(|atom| &mut atom.terms) {
                *other = other.replaced(v, &term);
            }
        }
        let kept: Vec<usize> = (0..self.names.len()).filter(|&v| v < self.dims || self.uses(v)).collect();
        let place = |v: usize| kept.iter().position(|&own| own == v).unwrap_or(v);
        let atoms = self.renamed(&place).collect();
        Part { names: kept.iter().map(|&v| self.names[v].clone()).collect(), atoms, ..self }
    }

    /// Returns an equation `v = term` of a variable of `exists`: its place, the variable and the term. `None` if there is none whose
    /// use pays.
    fn definition(&self) -> Option<(usize, usize, Term)> {
        let defined = |atom: &Atom| {
            let ([left, right], [Op::Equal]) = (atom.terms.as_slice(), atom.ops.as_slice()) else {
                return None;
            };
            [(left, right), (right, left)].into_iter().find_map(|(variable, term)| match variable {
                Term::Variable(v) if *v >= self.dims && !term.uses(*v) && term.is_total() => {
                    let uses: usize =
                        self.atoms.iter().flat_map(|atom| &atom.terms).map(|term| term.count(*v)).sum();
                    (uses.saturating_mul(term.length()) <= MAX_GROWTH).then(|| (*v, term.clone()))
                }
                _ => None,
            })
        };
        self.atoms.iter().enumerate().find_map(|(at, atom)| defined(atom).map(|(v, term)| (at, v, term)))
    }
}

impl Term {
    /// Returns the operands of an operation; none for a number or a variable.
    fn operands(&self) -> Option<(&Term, &Term)> {
        match self {
            Term::Number(_) | Term::Variable(_) => None,
            Term::Add(a, b)
            | Term::Subtract(a, b)
            | Term::Multiply(a, b)
            | Term::Floor(a, b)
            | Term::Modulo(a, b) => Some((a, b)),
        }
    }

    /// Reports whether the term has a value wherever its variables have one: every divisor is a number other than 0.
    fn is_total(&self) -> bool {
        let divides = matches!(self, Term::Floor(..) | Term::Modulo(..));
        self.operands().is_none_or(|(a, b)| {
            let sound = !divides || matches!(b, Term::Number(n) if *n != 0);
            sound && a.is_total() && b.is_total()
        })
    }

    /// Returns the number of operations and operands.
    fn length(&self) -> usize {
        self.operands().map_or(1, |(a, b)| 1 + a.length() + b.length())
    }

    /// Returns how often a variable occurs.
    fn count(&self, v: usize) -> usize {
        match self.operands() {
            None => usize::from(*self == Term::Variable(v)),
            Some((a, b)) => a.count(v) + b.count(v),
        }
    }

    fn replaced(&self, v: usize, by: &Term) -> Term {
        let both = |make: fn(Box<Term>, Box<Term>) -> Term, a: &Term, b: &Term| {
            make(Box::new(a.replaced(v, by)), Box::new(b.replaced(v, by)))
        };
        match self {
            Term::Number(n) => Term::Number(*n),
            Term::Variable(w) if *w == v => by.clone(),
            Term::Variable(w) => Term::Variable(*w),
            Term::Add(a, b) => both(Term::Add, a, b),
            Term::Subtract(a, b) => both(Term::Subtract, a, b),
            Term::Multiply(a, b) => both(Term::Multiply, a, b),
            Term::Floor(a, b) => both(Term::Floor, a, b),
            Term::Modulo(a, b) => both(Term::Modulo, a, b),
        }
    }
}
