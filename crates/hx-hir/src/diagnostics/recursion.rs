//! HX0108 of functions: a function that calls itself, directly or through others. Each call on the circle is reported, even if
//! no kernel calls the function.

use std::collections::HashMap;

use hx_base::{Diagnostic, codes};

use super::Reporter;
use crate::{
    Db, ExprId, Function, Item, Name, Resolution, TypeProblem, body_names, signature_names, signature_types,
    standing,
};

/// The number of functions among which the shortest way from a call back to its function is searched. Every function of a
/// circle starts a search, so an unbounded search would make large circles quadratic.
const MOST_SEARCHED: usize = 64;

const HELP: &str =
    "a `fn` is inlined where it is called, so it cannot call itself: a loop can repeat its work";

/// Reports the calls of a function that lead back to it, in its body and in its signature. Type inference already reports
/// circles that consist of signatures only; those calls are skipped here.
pub(super) fn report(at: &Reporter<'_>, out: &mut Vec<Diagnostic>) {
    let Item::Function(function) = at.item else { return };
    if standing(at.db, at.item).circle.is_none() {
        return;
    }
    let is_reported = |expr: ExprId| {
        let problems =
            if at.in_signature { &signature_types(at.db, at.item).problems } else { return false };
        problems.iter().any(|it| matches!(it, TypeProblem::Recursion { expr: told, .. } if *told == expr))
    };
    for call in calls(at.db, function).into_iter().filter(|call| call.in_signature == at.in_signature) {
        if is_reported(call.expr) {
            continue;
        }
        match way_back(at.db, call.callee, function) {
            CallPath::Calls(path) => out.push(diagnostic(at, &call, &path)),
            CallPath::Far => out.push(far(at, &call)),
            CallPath::None => {}
        }
    }
}

/// A call of a function in the text of another.
#[derive(Clone, Copy)]
struct Call<'db> {
    caller: Function<'db>,
    callee: Function<'db>,
    expr: ExprId,
    in_signature: bool,
}

/// Returns the calls of a function to functions of the same circle, in the order of its text.
fn calls<'db>(db: &'db dyn Db, caller: Function<'db>) -> Vec<Call<'db>> {
    let item = Item::Function(caller);
    let circle = &standing(db, item).circle;
    let names = [(true, &signature_names(db, item).names), (false, body_names(db, item))];
    let named = names.into_iter().flat_map(|(in_signature, names)| {
        names.exprs.iter().map(move |(expr, meaning)| (in_signature, expr, meaning))
    });
    let on_circle = |(in_signature, expr, meaning): (bool, ExprId, &Resolution)| {
        let Resolution::Item(key) = meaning else { return None };
        let Some(Item::Function(callee)) = key.find(db) else { return None };
        let same = standing(db, Item::Function(callee)).circle == *circle;
        same.then_some(Call { caller, callee, expr, in_signature })
    };
    named.filter_map(on_circle).collect()
}

/// The way that calls lead from one function to another.
enum CallPath<'db> {
    /// The shortest sequence of calls; empty from a function to itself.
    Calls(Vec<Call<'db>>),
    /// The first [`MOST_SEARCHED`] functions do not include the target.
    Far,
    /// No calls lead there: the circle passes through a constant, where it is reported.
    None,
}

fn way_back<'db>(db: &'db dyn Db, from: Function<'db>, to: Function<'db>) -> CallPath<'db> {
    let mut reached_by: HashMap<Function<'db>, Call<'db>> = HashMap::new();
    let (mut queue, mut next) = (vec![from], 0);
    while let Some(&function) = queue.get(next) {
        if function == to {
            let calls = std::iter::successors(reached_by.get(&to), |call| reached_by.get(&call.caller));
            let mut path: Vec<Call<'db>> = calls.copied().collect();
            path.reverse();
            return CallPath::Calls(path);
        }
        if queue.len() > MOST_SEARCHED {
            return CallPath::Far;
        }
        next += 1;
        for call in calls(db, function) {
            if !queue.contains(&call.callee) {
                reached_by.insert(call.callee, call);
                queue.push(call.callee);
            }
        }
    }
    CallPath::None
}

/// Reports a call without the functions in between.
fn far(at: &Reporter<'_>, call: &Call<'_>) -> Diagnostic {
    let own = call.caller.name(at.db);
    at.diagnostic(
        &codes::RECURSION,
        at.expr(call.expr),
        format!("`{own}` calls itself by way of many others"),
    )
    .help(HELP)
}

/// Reports a call. `path` leads from the callee back to the function that contains the call.
fn diagnostic(at: &Reporter<'_>, call: &Call<'_>, path: &[Call<'_>]) -> Diagnostic {
    let name = |function: Function<'_>| function.name(at.db).clone();
    let own = name(call.caller);
    let others: Vec<String> = path.iter().map(|call| format!("`{}`", name(call.caller))).collect();
    let message = match others.as_slice() {
        [] => format!("`{own}` calls itself"),
        others => format!("`{own}` calls itself by way of {}", others.join(", ")),
    };
    let mut found = at.diagnostic(&codes::RECURSION, at.expr(call.expr), message);
    if !path.is_empty() {
        found = found.label(says(&own, &name(call.callee)));
    }
    for call in path {
        let item = Item::Function(call.caller);
        let place = if call.in_signature {
            Reporter::signature(at.db, item)
        } else {
            Some(Reporter::body(at.db, item))
        };
        if let Some(place) = place {
            let label = says(&name(call.caller), &name(call.callee));
            found = found.also(place.file(), place.expr(call.expr), label);
        }
    }
    found.help(HELP)
}

fn says(caller: &Name, callee: &Name) -> String {
    format!("`{caller}` calls `{callee}` here")
}
