//! Matches the arguments of a call to parameters.

use crate::{Arg, BuiltinParam, Need};

/// A problem with the arguments of a call. Positions are indices into the call's arguments, from 0.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ArgProblem {
    /// The call has more positional arguments than positional parameters; `arg` is the first one without a parameter.
    TooMany { arg: usize, found: usize, wanted: usize },
    /// Required parameters without an argument. Not reported beside an unknown name, which is probably the missing argument.
    Missing { params: Vec<String> },
    /// No parameter has this name.
    UnknownName { arg: usize },
    /// The parameter already has the argument `first`.
    Twice { arg: usize, first: usize },
}

/// Returns for each parameter the index of its argument, `None` without one, and the problems found. A [`Need::Rest`] parameter
/// gets the index of its first argument; its further arguments follow that one in the call.
pub fn match_args(params: &[(&str, Need)], args: &[Arg]) -> (Vec<Option<usize>>, Vec<ArgProblem>) {
    let mut slots: Vec<Option<usize>> = vec![None; params.len()];
    let mut problems = Vec::new();
    let positional: Vec<usize> = (0..params.len()).filter(|&i| params[i].1 != Need::Named).collect();
    let rest = params.iter().any(|p| p.1 == Need::Rest);
    let found = args.iter().filter(|a| a.name.is_none()).count();
    let mut next = 0;
    let mut overflow = None;
    for (i, arg) in args.iter().enumerate() {
        let slot = match &arg.name {
            Some(name) => match params.iter().position(|(p, _)| p == name) {
                Some(slot) => slot,
                None => {
                    problems.push(ArgProblem::UnknownName { arg: i });
                    continue;
                }
            },
            None => {
                next += 1;
                match positional.get(next - 1) {
                    Some(slot) => *slot,
                    None if rest => continue,
                    None => {
                        overflow.get_or_insert(i);
                        continue;
                    }
                }
            }
        };
        match slots[slot] {
            Some(first) => problems.push(ArgProblem::Twice { arg: i, first }),
            None => slots[slot] = Some(i),
        }
    }
    if let Some(arg) = overflow {
        problems.push(ArgProblem::TooMany { arg, found, wanted: positional.len() });
    }
    let required =
        params.iter().zip(&slots).filter(|((_, need), slot)| *need == Need::Required && slot.is_none());
    let missing: Vec<String> = required.map(|((name, _), _)| (*name).to_owned()).collect();
    let explained = problems.iter().any(|p| matches!(p, ArgProblem::UnknownName { .. }));
    if !missing.is_empty() && !explained {
        problems.push(ArgProblem::Missing { params: missing });
    }
    (slots, problems)
}

/// Converts the parameters of a built-in function to the form that [`match_args`] takes.
pub fn builtin_params(params: &[BuiltinParam]) -> Vec<(&str, Need)> {
    params.iter().map(|p| (p.name, p.need)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExprStore, Place, builtin};

    fn check(name: &str, args: &[Option<&str>]) -> String {
        let mut store = ExprStore::default();
        let args: Vec<Arg> = args
            .iter()
            .map(|name| Arg { name: name.map(Into::into), value: store.exprs.alloc(crate::Expr::Missing) })
            .collect();
        let params = builtin(name, Place::Device).and_then(|b| b.params()).unwrap_or_default();
        format!("{:?}", match_args(&builtin_params(params), &args))
    }

    #[test]
    fn arguments_find_their_parameters() {
        assert_eq!(check("fill", &[None, None]), "([Some(0), Some(1)], [])");
        assert_eq!(check("fill", &[Some("x"), Some("t")]), "([Some(1), Some(0)], [])");
        assert_eq!(
            check("gemm", &[None, None, None, Some("warps")]),
            "([Some(0), Some(1), Some(2), Some(3), None], [])"
        );
        assert_eq!(check("print", &[None, None, None]), "([Some(0)], [])");
    }

    #[test]
    fn what_does_not_fit_is_said_once() {
        assert_eq!(check("fill", &[None]), "([Some(0), None], [Missing { params: [\"x\"] }])");
        assert_eq!(
            check("fill", &[None, None, None]),
            "([Some(0), Some(1)], [TooMany { arg: 2, found: 3, wanted: 2 }])"
        );
        assert_eq!(check("fill", &[None, Some("to")]), "([Some(0), None], [UnknownName { arg: 1 }])");
        assert_eq!(
            check("fill", &[None, None, Some("x")]),
            "([Some(0), Some(1)], [Twice { arg: 2, first: 1 }])"
        );
        assert_eq!(
            check("gemm", &[None, None, None, None]),
            "([Some(0), Some(1), Some(2), None, None], [TooMany { arg: 3, found: 4, wanted: 3 }])"
        );
    }
}
