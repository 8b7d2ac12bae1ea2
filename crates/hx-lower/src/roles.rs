//! The roles of `warp_groups`: their threads, the registers that the source gives them, and the bodies that they run.

use hx_base::codes;
use hx_hir::{Expr as HirExpr, ExprId, Method, Pat, PatId, RoleKind, StmtKind, WarpRole};
use hx_index::Expr;
use hx_layout::{ComposedLayout, Layout};
use hx_target::{RegisterError, Share, share_registers};
use hx_tile::{
    Base, Control, OpKind, Role, RoleKind as TileRoleKind, Scope, ScopeId, ScopeKind, Stmt, SyncOp, TensorId,
    TensorKind, Turns, TurnsId,
};

use crate::builtin_call::BuiltinCall;
use crate::error::{Lower, LowerError};
use crate::lowering::Lowering;
use crate::value::{SymView, Value};

impl Lowering<'_> {
    /// Determines the scopes of a kernel whose last statement is `warp_groups`, and the registers that its roles are given, before
    /// its body is lowered.
    pub(crate) fn plan_roles(&mut self, root: ExprId) -> Lower<Vec<Scope>> {
        let store = self.store();
        let last = match &store[root] {
            HirExpr::Block(block) => block.stmts.last(),
            _ => None,
        };
        let Some(StmtKind::WarpGroups(roles)) = last.map(|last| &store[*last].kind) else {
            return self.meaningless(root);
        };
        let (mut scopes, mut shares) = (vec![Scope::block(0)], Vec::new());
        for role in roles {
            let count = self.groups_of(role)?;
            let first = scopes
                .last()
                .map_or(0, |scope| if scope.kind == ScopeKind::Block { 0 } else { scope.end() as u32 });
            scopes.push(match role.each {
                true => {
                    Scope { kind: ScopeKind::Group, first, threads: self.target.limits.group, groups: count }
                }
                false => Scope {
                    kind: ScopeKind::Role,
                    first,
                    threads: self.target.limits.group * count,
                    groups: 1,
                },
            });
            let end = scopes.last().map_or(0, Scope::end);
            if end > u64::from(self.target.limits.threads_per_block) {
                let message = format!(
                    "found {end} threads with this role, expected at most {}",
                    self.target.limits.threads_per_block
                );
                return self.fail(&codes::TOO_MANY_THREADS, role.count.unwrap_or(role.body), message);
            }
            let given = role.registers.map(|at| self.registers_of_role(at)).transpose()?;
            shares.push(Share {
                groups: count,
                producer: role.kind == RoleKind::Producer,
                given,
                copies: false,
            });
        }
        scopes[0] = Scope::block(scopes.last().map_or(0, Scope::end) as u32);
        if let Err(error) = share_registers(&self.target.limits, &shares) {
            let error = self.over_budget(roles, &shares, error);
            return Err(self.report(error));
        }
        self.scopes.set_given_registers(shares.iter().map(|share| share.given).collect());
        Ok(scopes)
    }

    fn groups_of(&mut self, role: &WarpRole) -> Lower<u32> {
        let Some(at) = role.count else { return Ok(1) };
        let count = self.const_int(at, "the number of groups")?;
        let group = self.target.limits.group;
        let most = i64::from(self.target.limits.threads_per_block / group);
        if (1..=most).contains(&count) {
            return Ok(count as u32);
        }
        let message = format!("found {count} groups of {group} threads, expected 1 to {most}");
        self.fail(&codes::BAD_THREAD_COUNT, at, message)
    }

    fn registers_of_role(&mut self, at: ExprId) -> Lower<u32> {
        let found = self.const_int(at, "the number of registers")?;
        let ([least, most], step) =
            (self.target.limits.register_range.map(i64::from), i64::from(self.target.limits.register_step));
        if (least..=most).contains(&found) && found % step == 0 {
            return Ok(found as u32);
        }
        let message =
            format!("found {found} registers, expected a multiple of {step} from {least} to {most}");
        self.fail(&codes::REGISTER_BUDGET, at, message)
    }

    /// Describes roles that want more registers than their block has: the error is at the largest number of the source.
    fn over_budget(&self, roles: &[WarpRole], shares: &[Share], error: RegisterError) -> LowerError {
        let each = roles.iter().zip(shares).enumerate();
        let given: Vec<(usize, u32, ExprId)> = each
            .filter_map(|(number, (role, share))| Some((number, share.given?, role.registers?)))
            .collect();
        let largest = given.iter().max_by_key(|(_, given, _)| *given);
        let at = largest.map_or(roles[0].body, |(_, _, at)| *at);
        let sums: Vec<String> = shares
            .iter()
            .map(|s| format!("{} · {}", s.groups, s.given.unwrap_or(self.target.limits.register_range[0])))
            .collect();
        let groups: u32 = shares.iter().map(|s| s.groups).sum();
        let message = format!(
            "found {} = {} registers for one thread of each group, expected at most {groups} · {} = {}",
            sums.join(" + "),
            error.wanted,
            error.at_entry,
            error.given
        );
        let note = format!(
            "a launch gives each of {} threads {} registers, and threads can only pass them on",
            groups * self.target.limits.group,
            error.at_entry
        );
        let mut found = self.error(&codes::REGISTER_BUDGET, at, message).note(note);
        let Some((number, most, _)) = largest else { return found };
        for (other, given, at) in given.iter().filter(|(other, ..)| other != number) {
            let label = format!("this role takes {} · {given}", shares[*other].groups);
            found = found.also(self.place(*at), label);
        }
        let fits = |fewer: &u32| {
            let mut shares = shares.to_vec();
            shares[*number].given = Some(*fewer);
            share_registers(&self.target.limits, &shares).is_ok()
        };
        let mut fewer = (self.target.limits.register_range[0]..*most)
            .step_by(self.target.limits.register_step as usize)
            .rev();
        match fewer.find(fits) {
            Some(fewer) => found.help(format!("`registers {fewer}` fits here")),
            None => found,
        }
    }

    /// Lowers the bodies of all roles.
    pub(crate) fn warp_groups(&mut self, roles: &[WarpRole]) -> Lower<()> {
        let mut lowered = Vec::new();
        let mut result = Ok(());
        for (role, scope) in roles.iter().zip((1..).map(ScopeId)) {
            let (done, role) = self.role(role, scope);
            result = result.and(done);
            lowered.push(role);
        }
        self.output.push(Stmt::Control(Control::Roles(lowered)));
        result.and_then(|()| self.expect_barriers(roles))
    }

    fn role(&mut self, role: &WarpRole, scope: ScopeId) -> (Lower<()>, Role) {
        let groups = self.scopes.get(scope).groups;
        let name = self.binder_name(role.binder);
        let index = (groups > 1).then(|| self.output.new_var(name));
        if let Some(index) = &index {
            self.facts.at_most(index.clone(), Expr::constant(i64::from(groups) - 1));
        }
        self.scopes.enter(scope, index.clone());
        let (result, body) = self.nested(|lowering| {
            if let Some(binder) = role.binder {
                lowering.bind(binder, Value::Int(index.clone().map_or_else(Expr::default, Expr::symbol)))?;
            }
            lowering.eval(role.body).map(|_| ())
        });
        self.scopes.leave();
        let kind = match role.kind {
            RoleKind::Producer => TileRoleKind::Producer,
            RoleKind::Consumer => TileRoleKind::Consumer,
        };
        (result, Role { scope, kind, registers: self.scopes.given_registers(scope), index, body })
    }

    fn binder_name(&self, binder: Option<PatId>) -> hx_hir::Name {
        match binder.map(|binder| &self.store()[binder]) {
            Some(Pat::Bind(name)) => name.clone(),
            _ => "group".into(),
        }
    }

    /// Lowers `turns()`. The role of the first group that takes or passes a turn becomes the scope of the turns.
    pub(crate) fn make_turns(&mut self, given: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let name = self.output.unique_name(given.hint.unwrap_or("turns"));
        let origin = self.origin(given.id);
        Ok(Value::Turns(self.output.add_turns(Turns { name, scope: ScopeId::BLOCK, origin })))
    }

    /// Lowers `.take()` and `.pass()`.
    pub(crate) fn turn(&mut self, id: TurnsId, method: Method, given: &BuiltinCall<'_, '_>) -> Lower<Value> {
        let here = self.scopes.here();
        if self.scopes.get(here).kind != ScopeKind::Group {
            let message =
                format!("found `{}` in the statements of the {}", given.name, self.scopes.get(here));
            let error = self
                .error(&codes::MISPLACED_ROLES, given.id, message)
                .help("only the groups of a role with `each` take turns");
            return Err(self.report(error));
        }
        let scope = self.output.turns()[id.0 as usize].scope;
        if scope != ScopeId::BLOCK && scope != here {
            let message = "found turns that the groups of another role take";
            let error = self
                .error(&codes::MISPLACED_ROLES, given.id, message)
                .help("the groups of each role have turns of their own: `turns()`");
            return Err(self.report(error));
        }
        self.output.give_turns(id, here);
        match method {
            Method::Take => self.emit(OpKind::Sync(SyncOp::Take { turns: id }), given.id),
            Method::Pass => self.emit(OpKind::Sync(SyncOp::Pass { turns: id }), given.id),
            Method::Acquire
            | Method::Publish
            | Method::WaitStage
            | Method::Release
            | Method::ReleasePrevious
            | Method::Skip
            | Method::SyncAt
            | Method::ArriveAt => return self.meaningless(given.id),
        }
        Ok(Value::Unit)
    }

    /// Checks that the scopes and turns need no more named barriers than a block has.
    fn expect_barriers(&mut self, roles: &[WarpRole]) -> Lower<()> {
        let of_scopes: u32 = self.scopes.all().iter().map(|scope| scope.groups).sum();
        let groups = |scope: ScopeId| if scope == ScopeId::BLOCK { 0 } else { self.scopes.get(scope).groups };
        let of_turns: u32 = self.output.turns().iter().map(|turns| groups(turns.scope)).sum();
        let needed = of_scopes + of_turns;
        if needed <= self.target.limits.named_barriers {
            return Ok(());
        }
        let message =
            format!("found {needed} named barriers, expected at most {}", self.target.limits.named_barriers);
        let at = roles.last().map_or(roles[0].body, |role| role.body);
        let note = format!(
            "the block and the groups need {of_scopes}, and the turns {of_turns}: one for each group that takes turns"
        );
        let error = self.error(&codes::TOO_MANY_BARRIERS, at, message).note(note);
        Err(self.report(error))
    }

    /// Gives each group of the scope a shared tensor of its own: the tensor gets another mode, which `view` fixes at the
    /// number of the group. Does nothing for a register tensor, and in a scope of one group.
    pub(crate) fn for_each_group(
        &self,
        mut shape: Vec<i64>,
        kind: TensorKind,
        view: &mut SymView,
    ) -> (Vec<i64>, TensorKind) {
        let Some(group) = self.scopes.group() else { return (shape, kind) };
        let pinned = match &kind {
            TensorKind::Shared { pinned } => pinned,
            TensorKind::Register { .. } => return (shape, kind),
        };
        let groups = i64::from(self.scopes.get(self.scopes.here()).groups);
        let pinned = pinned.as_ref().and_then(|pinned| repeated(pinned, groups));
        shape.push(groups);
        view.offsets.push(Expr::symbol(group.clone()));
        (shape, TensorKind::Shared { pinned })
    }

    /// Checks that the executing threads hold the register tensors of a value.
    pub(crate) fn expect_held(&mut self, at: ExprId, value: &Value) -> Lower<()> {
        let held = |id: &TensorId| self.output.tensor(*id).scope == self.scopes.here();
        let (here, other) = match value {
            Value::Tensor(t) => {
                let register = t.view.base.register();
                (register.as_ref().is_none_or(held), register)
            }
            Value::Lazy(lazy) => {
                (lazy.inputs.iter().all(held), lazy.inputs.iter().find(|id| !held(id)).copied())
            }
            Value::Tuple(parts) | Value::Array(parts) => {
                return parts.iter().try_for_each(|part| self.expect_held(at, part));
            }
            _ => (true, None),
        };
        let (false, Some(id)) = (here, other) else { return Ok(()) };
        let name = self.base_name(Base::Register(id)).to_owned();
        let of = |scope: ScopeId| self.scopes.get(scope).to_string();
        let (holder, here) = (of(self.output.tensor(id).scope), of(self.scopes.here()));
        let message =
            format!("found the register tensor `{name}` of the {holder} in the statements of the {here}");
        let error = self
            .error(&codes::OTHER_THREADS, at, message)
            .help("make it inside of the role, or pass its elements through a shared tensor");
        Err(self.report(error))
    }
}

/// Repeats a pinned layout for each group, with a step that keeps the swizzle of every group as that of the first. `None` if
/// the layout is too large.
fn repeated(pinned: &ComposedLayout, groups: i64) -> Option<ComposedLayout> {
    let step = pinned.layout.cosize();
    let unit =
        1 << (i64::BITS - (pinned.swizzle.source_mask() | pinned.swizzle.target_mask()).leading_zeros());
    let step = (step + unit - 1) / unit * unit;
    let mut modes = pinned.layout.modes();
    modes.push(Layout::flat(&[(groups, step)]).ok()?);
    let layout = Layout::concat(&modes).ok()?;
    Some(ComposedLayout { layout, ..pinned.clone() })
}
