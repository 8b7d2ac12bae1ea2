//! The member of a kernel's family that a launch runs: the one with the shortest time by the cost model, for the dimensions, strides
//! and integers of the launch.
//!
//! A launch that gives a parameter which decides between the members runs the kernel itself, as does one whose shape has a tuned result.
//! A member that the launch does not fit takes no part: its `where` clauses or types refuse it, or it lacks an argument that the launch
//! gives. Without a GPU, the same launch takes the same member on every machine of the same costs. A GPU keeps its choices on disk
//! ([`kept`]), and measures the first members if the caller allows it ([`first_call`]).

mod choice;
mod first_call;
mod kept;

use std::collections::BTreeSet;
use std::rc::Rc;

use hx_base::{codes, fnv};
use hx_compile::{
    Db, Instance, Stop, check_same_orders, instance_errors, member_args, shared_orders, solved, together,
};
use hx_hir::{
    Family, Item, ItemKey, Kernel, Member, Name, Ty, combinations, family_of, kernel_signature, open_orders,
    reached_tokens, signature_types, tune_types,
};
use hx_host::device::{LaunchError, LaunchPlace, LaunchRequest};
use hx_host::{HostError, Value};
use hx_index::Symbol;
use hx_inspect::Choosing;
use hx_lower::{CtArgs, CtValue};
use hx_workspace::TunedEntry;

use super::bind::{Prepared, bind};
use super::remarks::{reason, with_arguments};
use super::tuned::text_hash;
use super::{BoundParam, Chosen, Launcher, estimates, find_kernel, host_value, instance, kernel_of, orders};
use crate::machine::{Gpu, Machine};

pub use choice::{Choice, Considered, Fit};
pub use kept::clear_choices;

/// The members that a launch leaves open, and the choice between them.
type Between = (Vec<Member>, Rc<Choice>);

/// Adjusts the bound arguments of a launch of a kernel.
pub(super) type Adapt<'f, 'a> = &'f dyn Fn(Kernel<'a>, &mut Prepared) -> Result<(), LaunchError>;

impl<'a> Launcher<'a> {
    /// Returns the launch of the fastest member of a kernel's family; `None` if the kernel has no family, or the launch runs the kernel
    /// itself.
    ///
    /// # Errors
    /// If a member has errors of its own.
    pub(super) fn of_family(
        &self,
        kernel: Kernel<'a>,
        closed: &Closed,
        (prepared, adapt): (&Prepared, Adapt<'_, 'a>),
    ) -> Result<Option<Chosen<'a>>, LaunchError> {
        let Some((members, choice)) = self.between(kernel, closed, (prepared, adapt))? else {
            return Ok(None);
        };
        let Some(first) = choice.first() else { return Ok(None) };
        let (member, request) = self.of_member(&members[first.index], &closed.request)?;
        let mut chosen = self.single(member, &request, adapt)?;
        chosen.remarks.push(choice.remark(kernel.name(self.db)));
        Ok(Some(chosen))
    }

    /// Returns the members that a launch leaves open, and the choice between them; `None` if it leaves nothing open.
    ///
    /// # Errors
    /// If a member has errors of its own.
    pub(super) fn between(
        &self,
        kernel: Kernel<'a>,
        closed: &Closed,
        bound: (&Prepared, Adapt<'_, 'a>),
    ) -> Result<Option<Between>, LaunchError> {
        let members = self.members_of(kernel, closed);
        if members.is_empty() || closed.request.candidate.is_some() {
            return Ok(None);
        }
        let choice = self.choice_of((kernel, &members), closed, bound)?;
        Ok(Some((members, choice)))
    }

    /// Returns the members that a launch leaves open: those of the kernel's family, unless the launch states a parameter that decides
    /// between them; then the kernel with the values of each parameter that the launch gives as `auto`.
    pub(super) fn members_of(&self, kernel: Kernel<'a>, Closed { request, open }: &Closed) -> Vec<Member> {
        let db: &'a dyn Db = self.db;
        let family: &Family = family_of(db, kernel);
        let is_decided = request.generics.iter().any(|(name, _)| family.decided.contains(name));
        if !family.members.is_empty() && !is_decided {
            return family.members.clone();
        }
        let axes: Vec<_> =
            tune_types(db, kernel).axes.iter().filter(|(name, _)| open.contains(name)).collect();
        if axes.is_empty() {
            return Vec::new();
        }
        let key = Item::Kernel(kernel).key(db);
        let member = |args| Member { at: None, kernel: key.clone(), args };
        combinations(&axes).into_iter().map(member).collect()
    }

    /// Returns the choice of a launch, which is made once for each kernel and its bound arguments.
    ///
    /// # Errors
    /// If a member has errors of its own.
    fn choice_of(
        &self,
        (kernel, members): (Kernel<'a>, &[Member]),
        Closed { request, open }: &Closed,
        (prepared, adapt): (&Prepared, Adapt<'_, 'a>),
    ) -> Result<Rc<Choice>, LaunchError> {
        let Prepared { args, dims, params, align, .. } = prepared;
        let int = |param: &BoundParam| if let BoundParam::Int(value) = param { Some(*value) } else { None };
        let ints: Vec<i64> = params.iter().filter_map(int).collect();
        let key = format!("{:?}", (&request.kernel, args, dims, &ints, align, open));
        if let Some(known) = self.members.borrow().get(&key) {
            return Ok(Rc::clone(known));
        }
        let choice = match self.machine {
            Machine::Gpu(gpu) => {
                let args: Vec<String> = args.iter().map(|(name, value)| self.named(name, value)).collect();
                let launch = format!("{:?}", (self.path_of(kernel), args, dims, &ints, align, open));
                self.choice_on(gpu, (kernel, members), request, (&launch, adapt))?
            }
            _ => self.estimated(members, request, adapt)?,
        };
        let choice = Rc::new(choice);
        self.members.borrow_mut().insert(key, Rc::clone(&choice));
        Ok(choice)
    }

    /// Returns the choice on a GPU: the one that an earlier process kept, or a new one.
    fn choice_on(
        &self,
        gpu: &Gpu,
        (kernel, members): (Kernel<'a>, &[Member]),
        request: &LaunchRequest,
        (launch, adapt): (&str, Adapt<'_, 'a>),
    ) -> Result<Choice, LaunchError> {
        let key = self.key(gpu, (kernel, members), launch);
        let kept = gpu.cuda.choices.folder.as_deref().and_then(|folder| kept::read(folder, &key));
        let kept = kept.filter(|choice| choice.is_of(members.len()));
        let measures = self.choosing.unwrap_or(gpu.cuda.choices.by) == Choosing::FirstCall;
        if let Some(choice) = kept.clone().filter(|choice| choice.is_measured() || !measures) {
            return Ok(choice);
        }
        let estimated = match kept {
            Some(choice) => choice,
            None => self.estimated(members, request, adapt)?,
        };
        let launch_of = |index: usize| self.of_member(&members[index], request).map(|(_, request)| request);
        let measured = if measures { self.measured(gpu, &estimated, &launch_of) } else { Ok(None) };
        let choice = match measured {
            Ok(measured) => measured.unwrap_or(estimated),
            Err(error) => {
                let text = format!("the members of `{}` were not measured", kernel.name(self.db));
                gpu.cuda.warn([format!("{text}: {}", reason(error))]);
                estimated
            }
        };
        if let Some(folder) = &gpu.cuda.choices.folder {
            gpu.cuda.warn(kept::write(folder, &key, &choice).err());
        }
        Ok(choice)
    }

    /// Formats a compile-time argument in the same way in every process. A function has its path and the hash of its text.
    fn named(&self, name: &Name, value: &CtValue) -> String {
        let CtValue::Function(key) = value else { return format!("{name} = {value}") };
        let text = key.find(self.db).map(|item| fnv(reached_tokens(self.db, item).bytes()));
        format!("{name} = {}::{} {text:x?}", key.file.path(self.db), key.name)
    }

    fn path_of(&self, kernel: Kernel<'a>) -> String {
        format!("{}::{}", kernel.file(self.db).path(self.db), kernel.name(self.db))
    }

    /// Returns everything on which a choice on a GPU depends.
    fn key(&self, gpu: &Gpu, (kernel, members): (Kernel<'a>, &[Member]), launch: &str) -> String {
        let db: &'a dyn Db = self.db;
        let kernels: BTreeSet<_> = members.iter().map(|member| &member.kernel).collect();
        let kernels = kernels.into_iter().filter_map(|key| match key.find(db) {
            Some(Item::Kernel(kernel)) => Some(kernel),
            _ => None,
        });
        let texts: Vec<String> = kernels.chain([kernel]).map(|kernel| text_hash(db, kernel)).collect();
        let members: Vec<String> = members.iter().map(shown_member).collect();
        let costs = fnv(format!("{:?}", self.target.costs()).bytes());
        let (hx, device) = (env!("CARGO_PKG_VERSION"), &gpu.info.name);
        format!("{hx} {device} {:?} {costs:016x} {launch} {texts:?} {members:?}", gpu.driver)
    }

    /// Returns the members with their estimates.
    ///
    /// # Errors
    /// If a member has errors of its own.
    fn estimated(
        &self,
        members: &[Member],
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Choice, LaunchError> {
        let head = self.head(request)?;
        let bound = members.iter().map(|member| self.bound((head, member), request, adapt));
        let bound = bound.collect::<Result<Vec<_>, LaunchError>>()?;
        let fitting = bound.iter().flatten();
        let (instances, prepared): (Vec<Instance<'_>>, Vec<&Prepared>) =
            fitting.map(|(instance, prepared)| (*instance, prepared)).unzip();
        let machine = self.machine;
        let mut fits = together(self.db, &instances, &|db, at, instance| {
            fit(db, machine, instance, prepared[at].clone())
        })
        .into_iter();
        let all = members.iter().zip(&bound).enumerate();
        let considered = all.filter_map(|(index, (member, bound))| {
            let fit = match bound {
                Ok(_) => fits.next()?,
                Err(reason) => Fit::Unfit(reason.clone()),
            };
            Some(Considered { index, name: shown_member(member), fit })
        });
        Ok(Choice::of(considered.collect()))
    }

    /// Returns the kernel of a member, and the launch of it.
    ///
    /// # Errors
    /// If the member has errors of its own.
    fn of_member(
        &self,
        member: &Member,
        request: &LaunchRequest,
    ) -> Result<(Kernel<'a>, LaunchRequest), LaunchError> {
        self.launch_of(member.kernel.clone(), member_args(member), request)
    }

    /// Returns a kernel, and the launch of it instead of the kernel that a request names, with compile-time arguments of its own. They win
    /// over those that the request states. The orders of packed tensors are those that the named kernel infers: weights are packed once for
    /// all members.
    ///
    /// # Errors
    /// If one of the kernels has errors.
    fn launch_of(
        &self,
        kernel: ItemKey,
        own: CtArgs,
        request: &LaunchRequest,
    ) -> Result<(Kernel<'a>, LaunchRequest), LaunchError> {
        let db: &'a dyn Db = self.db;
        let (head, found) = (find_kernel(db, request)?, kernel_of(db, &kernel)?);
        let mut all = CtArgs::new();
        if !open_orders(db, head).is_empty() {
            all = shared_orders(db, self.head(request)?, found)
                .map_err(|errors| orders::unknown(db, errors))?;
        }
        all.extend(own);
        let stated = request.generics.iter().filter(|(name, _)| !all.contains_key(name)).cloned();
        let own = all.iter().map(|(name, value)| (name.clone(), host_value(value)));
        let generics = stated.chain(own).collect();
        Ok((found, LaunchRequest { kernel, generics, ..request.clone() }))
    }

    /// Returns the instance of the kernel that a request names, whose orders its members share.
    ///
    /// # Errors
    /// If the arguments do not fit the kernel, or it has errors.
    fn head(&self, request: &LaunchRequest) -> Result<Instance<'a>, LaunchError> {
        let kernel = find_kernel(self.db, request)?;
        let prepared = bind(self.db, kernel, request)?;
        Ok(instance::choose(self.db, kernel, self.machine, &prepared))
    }

    /// Returns the instance of a member with the bound arguments, or why they do not fit it.
    ///
    /// # Errors
    /// If the member has errors of its own.
    fn bound(
        &self,
        (head, member): (Instance<'a>, &Member),
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Result<(Instance<'a>, Prepared), String>, LaunchError> {
        let (kernel, request) = self.of_member(member, request)?;
        let prepared = bind(self.db, kernel, &request).and_then(|mut prepared| {
            adapt(kernel, &mut prepared)?;
            Ok(prepared)
        });
        let of = |prepared| {
            let instance = instance::choose(self.db, kernel, self.machine, &prepared);
            check_same_orders(self.db, [head, instance]).map(|()| (instance, prepared))
        };
        Ok(prepared.map_err(reason).and_then(of))
    }

    /// Returns the launch of the member that a result of tuning names.
    ///
    /// # Errors
    /// If the launch does not fit the member.
    pub(super) fn of_result(
        &self,
        member: Kernel<'a>,
        entry: &TunedEntry,
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Chosen<'a>, LaunchError> {
        let own = entry.arguments.iter().map(|(name, value)| (Name::from(name.as_str()), value.clone()));
        let head = self.head(request)?;
        let (member, request) = self.launch_of(Item::Kernel(member).key(self.db), own.collect(), request)?;
        let chosen = self.single(member, &request, adapt)?;
        check_same_orders(self.db, [head, chosen.checked.get()])
            .map_err(|reason| LaunchError::call(HostError::new(&codes::OTHER_ORDER, reason)))?;
        Ok(chosen)
    }

    /// Binds the arguments of a launch of this very kernel, and chooses its instance.
    pub(super) fn single(
        &self,
        kernel: Kernel<'a>,
        request: &LaunchRequest,
        adapt: Adapt<'_, 'a>,
    ) -> Result<Chosen<'a>, LaunchError> {
        let mut prepared = bind(self.db, kernel, request)?;
        adapt(kernel, &mut prepared)?;
        self.instantiated(kernel, request, prepared, Vec::new())
    }
}

/// Estimates a member by its instance, unless the launch does not fit it.
fn fit<'db>(db: &'db dyn Db, machine: &Machine, instance: Instance<'db>, prepared: Prepared) -> Fit {
    let bound = match instance::check_launch(db, instance, machine, prepared) {
        Ok(bound) => bound,
        Err(error) => return Fit::Unfit(reason(error)),
    };
    let mut symbols = bound.symbols.clone();
    if !matches!(machine, Machine::Gpu(_)) {
        // The simulator has fewer multiprocessors than the device that it stands for.
        symbols.insert(Symbol::Multiprocessors, i64::from(machine.target().costs().multiprocessors));
    }
    match estimates::of_instance(db, instance, &bound, &symbols) {
        Some(forecast) => Fit::Estimated(forecast.micros()),
        None => Fit::Unfit(unbuilt(db, instance)),
    }
}

/// A launch without the parameters that it leaves open.
pub(super) struct Closed {
    pub(super) request: LaunchRequest,
    /// The parameters that the launch gives as `auto`, for which the family or the `tune` clause has values.
    open: Vec<Name>,
}

impl Closed {
    /// Takes the parameters that a launch leaves open out of it. A layout that is `auto` stays: the compiler chooses it.
    ///
    /// # Errors
    /// If a parameter that is `auto` has no values to choose from.
    pub(super) fn of<'db>(
        db: &'db dyn Db,
        kernel: Kernel<'db>,
        request: &LaunchRequest,
    ) -> Result<Closed, LaunchError> {
        let types = signature_types(db, Item::Kernel(kernel));
        let generics = &kernel_signature(db, kernel).generics;
        let mut closed = Closed { request: request.clone(), open: Vec::new() };
        for (at, (name, value)) in request.generics.iter().enumerate() {
            let index = generics.iter().position(|generic| generic.name == *name);
            let kind = index.and_then(|index| types.generics.get(index));
            if !matches!(value, Value::Auto) || kind.is_none_or(|kind| matches!(kind, Ty::Layout(_))) {
                continue;
            }
            let has_axis = tune_types(db, kernel).axes.iter().any(|(axis, _)| axis == name);
            if !has_axis && !family_of(db, kernel).decided.contains(name) {
                let message = format!("`auto` has no values for `{name}` to choose from");
                let help = format!("list them in the header of `{}`: `tune {name} in […]`", kernel.name(db));
                let error = Box::new(HostError::new(&codes::TYPE_MISMATCH, message).help(help));
                return Err(LaunchError::Refused { error, place: LaunchPlace::Generic(at) });
            }
            closed.open.push(name.clone());
        }
        closed.request.generics.retain(|(name, _)| !closed.open.contains(name));
        Ok(closed)
    }
}

/// Formats a member as `gemm_split<BN = 128>`.
pub fn shown_member(member: &Member) -> String {
    let args = member_args(member);
    let args: Vec<String> = args.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    with_arguments(&member.kernel.name, &args.join(", "))
}

/// Returns the reason why an instance has no estimate. The diagnostic of layouts without a solution would search for a way out, which takes
/// long, so the reason is the failure itself.
fn unbuilt<'db>(db: &'db dyn Db, instance: Instance<'db>) -> String {
    if let Err(Stop::Layouts(failure)) = solved(db, instance) {
        return failure.message.clone();
    }
    match instance_errors(db, instance).first() {
        Some(found) => found.message.clone(),
        None => "the cost model has no estimate of it".to_owned(),
    }
}
