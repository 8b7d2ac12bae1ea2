//! Host code: calls are checked for their arguments. Host values get their types at run time.

use super::Infer;
use crate::{Builtin, Expr, ExprId, LayoutFn, Name, Need, Resolution, Ty, builtin_params, kernel_signature};

impl Infer<'_> {
    /// Checks every call of the body, at any depth.
    pub(super) fn host(&mut self) {
        let calls: Vec<ExprId> = self
            .store
            .exprs
            .iter()
            .filter(|(_, e)| matches!(e, Expr::Call { .. } | Expr::Path { .. }))
            .map(|(id, _)| id)
            .collect();
        for id in calls {
            self.host_call(id);
        }
    }

    fn host_call(&mut self, id: ExprId) {
        let store = self.store;
        let Expr::Call { callee, args } = &store[id] else { return };
        let Expr::Path { generics, .. } = &store[*callee] else { return };
        let types = vec![Ty::Unknown; args.len()];
        let resolution = self.names.exprs.get(*callee).cloned();
        if !matches!(resolution, Some(Resolution::Item(_)) | None) {
            self.no_generic_args(*callee, generics);
        }
        match resolution {
            // In `swizzle<…>(i)` the parentheses hold a coordinate that the swizzle is applied to, not arguments of `swizzle`.
            Some(Resolution::Builtin(Builtin::Layout(LayoutFn::Swizzle))) => {}
            Some(Resolution::Builtin(b)) => match b.params() {
                Some(params) => {
                    self.args(id, b.name(), &builtin_params(params), args, &types);
                }
                None => {
                    let found = Ty::Unknown;
                    self.report(super::TypeProblem::NotCallable { callee: *callee, found });
                }
            },
            Some(Resolution::Item(key)) => {
                let Some(kernel) = self.kernel_of(&key) else { return };
                let sig = kernel_signature(self.db, kernel);
                let known: Vec<Name> = sig.generics.iter().map(|g| g.name.clone()).collect();
                self.generic_args(*callee, &key.name, generics, &known);
                let params: Vec<(&str, Need)> =
                    sig.params.iter().map(|p| (p.name.as_str(), Need::Required)).collect();
                self.args(id, &key.name, &params, args, &types);
            }
            Some(
                Resolution::Local(_)
                | Resolution::Binding(_)
                | Resolution::Param(_)
                | Resolution::Generic(_)
                | Resolution::Dim(_)
                | Resolution::Result
                | Resolution::Module(_)
                | Resolution::DType(_)
                | Resolution::Kind(_),
            )
            | None => {}
        }
    }
}
