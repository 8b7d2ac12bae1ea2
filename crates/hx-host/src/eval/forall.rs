//! The cases of a test with a `forall`: a value for each variable, in order, because later values may depend on earlier ones.

use hx_hir::{ForallDomain, ForallVariable, Item, Sound};

use super::{EvalResult, Frame, Session};
use crate::domain::{Choice, Domain};
use crate::error::{HostError, HostResult};
use crate::value::Value;

/// One case: the choice for each variable, with the domain that it was chosen from.
#[derive(Clone, Debug, Default)]
pub struct Assignment {
    pub choices: Vec<Choice>,
    pub domains: Vec<Domain>,
    /// `m = 65, T = bf16`
    pub text: String,
}

impl Assignment {
    /// Returns the tuple of the variables' values, which [`Session::run`] takes as the case.
    pub fn value(&self) -> Value {
        let values = self.domains.iter().zip(&self.choices).map(|(domain, choice)| domain.value(*choice));
        Value::Tuple(values.collect::<Vec<_>>().into())
    }
}

impl<'a> Session<'a> {
    /// Chooses a value for each variable of a test's `forall`. `choose` gets the index of the variable and its domain, which may
    /// depend on the values chosen before.
    ///
    /// # Errors
    /// If a domain cannot be evaluated or has no values, or `choose` has an error for it.
    pub fn assign(
        &mut self,
        item: Sound<Item<'a>>,
        choose: &mut dyn FnMut(usize, &ForallVariable, &Domain) -> HostResult<Choice>,
    ) -> EvalResult<Assignment> {
        let mut frame = self.frame(item);
        let body = frame.body;
        let mut made = Assignment::default();
        for (index, variable) in body.forall.iter().enumerate() {
            let domain = frame.domain(variable)?;
            let choice = frame.at(variable.at, choose(index, variable, &domain))?;
            frame.bind(variable.pat, domain.value(choice))?;
            let comma = if index > 0 { ", " } else { "" };
            made.text += &format!("{comma}{} = {}", variable.name, domain.text(choice));
            made.choices.push(choice);
            made.domains.push(domain);
        }
        Ok(made)
    }

    /// Reads a case from its text, `m = 65, T = bf16`.
    ///
    /// # Errors
    /// If the text does not have all variables in their order, or a value is not in its domain.
    pub fn assignment_of(&mut self, item: Sound<Item<'a>>, text: &str) -> EvalResult<Assignment> {
        let mut rest = text;
        let made = self.assign(item, &mut |index, variable, domain| {
            let name = &variable.name;
            let at = if index == 0 { Some(rest) } else { rest.strip_prefix(", ") };
            let value = at.and_then(|at| at.strip_prefix(name.as_str())?.strip_prefix(" = "));
            let Some((choice, after)) = value.and_then(|value| domain.read(value)) else {
                let message =
                    format!("the case `{text}` has no value for `{name}`: expected `{name} = ` and {domain}");
                return Err(HostError::call(message));
            };
            rest = after;
            Ok(choice)
        })?;
        if rest.is_empty() {
            return Ok(made);
        }
        let rest = rest.trim_start_matches(", ");
        let message = format!("the case `{text}` has `{rest}` behind the values of all variables");
        let frame = self.frame(item);
        let at = frame.body.forall.last().map_or(frame.body.root, |variable| variable.at);
        Err(frame.fail(at, HostError::call(message)))
    }
}

impl Frame<'_, '_> {
    /// Binds the values of one case to the variables of the `forall`.
    ///
    /// # Errors
    /// If a pattern does not fit its value.
    pub(super) fn bind_variables(&mut self, values: &[Value]) -> EvalResult<()> {
        let body = self.body;
        self.session.forall = (!body.forall.is_empty()).then_some(false);
        let mut pairs = body.forall.iter().zip(values);
        pairs.try_for_each(|(variable, value)| self.bind(variable.pat, value.clone()))
    }

    fn domain(&mut self, variable: &ForallVariable) -> EvalResult<Domain> {
        let domain = match variable.domain {
            ForallDomain::Range { start, end, inclusive } => {
                let (start, end) = (self.expr(start)?, self.expr(end)?);
                Domain::range(&start, &end, inclusive)
            }
            ForallDomain::Values => Domain::of(&self.expr(variable.at)?),
        };
        self.at(variable.at, domain)
    }
}
