//! The statements of a bench. `measure` and `baseline` run their calls once, like any other statement, and record them. The
//! device times complete groups.
//!
//! A group is some measures followed by some baselines, or the reverse. A statement of the kind that began the group, after one
//! of the other kind, begins the next group. A loop over sizes therefore compares works of the same size.
//!
//! If all candidates are requested, the launches of a measure's block are repeated for each candidate with the same arguments,
//! and each repetition is a measure of its own. The other statements of the block run only once.

use hx_base::codes;
use hx_base::interrupt::look;
use hx_hir::{Arg, Builtin, Expr, ExprId, HostFn, Item, ItemKey, MeasureKind, Name, Resolution, Sound};

use super::args::Args;
use super::{BodyPart, EvalError, EvalResult, Frame, Session};
use crate::bench::{Group, Traffic, Work, bytes_of};
use crate::device::{GemmRequest, Kept, LaunchError, LaunchReport, LaunchRequest, Step};
use crate::error::HostError;
use crate::tensor::Tensor;
use crate::value::Value;

/// The largest number of kernels that a label names one by one.
const NAMED_KERNELS: usize = 3;

/// The groups of a bench so far, and the calls of its current statement.
#[derive(Debug, Default)]
pub(super) struct Recording {
    done: Vec<Group>,
    group: Group,
    /// The kind of the group's first statement.
    first: Option<Kind>,
    /// The last statement of the group, for errors of its timing.
    last: Option<(ItemKey, ExprId)>,
    /// The calls of the current statement.
    calls: Option<Calls>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Measure,
    Baseline,
}

/// The calls that one `measure` or `baseline` made, in order.
#[derive(Debug, Default)]
struct Calls {
    steps: Vec<Step>,
    outputs: Contents,
    traffic: Traffic,
    /// For each step, the earlier contents of the tensors that it wrote; empty if steps are not repeated.
    before: Vec<Contents>,
}

/// Tensors with their contents.
type Contents = Vec<(Tensor, Kept)>;

impl Calls {
    /// Records the contents of a tensor after a step has written it, instead of those after an earlier step.
    fn wrote(&mut self, tensor: &Tensor, kept: Kept) {
        self.outputs.retain(|(other, _)| !other.is_same_view(tensor));
        self.outputs.push((tensor.clone(), kept));
    }

    /// Adds the tensors of a launch to the traffic.
    fn moved(&mut self, request: &LaunchRequest, report: &LaunchReport) {
        for (at, arg) in request.args.iter().enumerate() {
            if let Value::Tensor(tensor) = &arg.value {
                self.traffic.add(tensor, report.written.contains(&at));
            }
        }
    }
}

impl Recording {
    /// Reports whether a statement of this kind begins the next group.
    fn ends_before(&self, kind: Kind) -> bool {
        let other_began = match kind {
            Kind::Measure => !self.group.baselines.is_empty() || !self.group.missing.is_empty(),
            Kind::Baseline => !self.group.measures.is_empty(),
        };
        self.first == Some(kind) && other_began
    }
}

impl<'a> Session<'a> {
    /// Runs a bench and times its measures, group by group.
    ///
    /// # Errors
    /// If the device cannot time, a statement or a measured step fails, or the bench measures nothing.
    pub fn bench(&mut self, item: Sound<Item<'a>>, case: Option<Value>) -> EvalResult<Vec<Group>> {
        let key = item.get().key(self.db);
        let whole = |error: HostError| EvalError {
            item: key.clone(),
            at: BodyPart::Item,
            error: Box::new(error),
            found: Vec::new(),
        };
        self.device.can_time().map_err(whole)?;
        self.recording = Some(Recording::default());
        let ran = self.run(item, case).map(drop).and_then(|()| self.finish_group());
        let recording = self.recording.take().unwrap_or_default();
        ran?;
        if recording.done.is_empty() {
            let error = HostError::call("the bench measures nothing");
            return Err(whole(error.help("`measure { kernel(a, b); }` times a kernel")));
        }
        Ok(recording.done)
    }

    /// Reports whether the calls of a statement are recorded.
    fn is_recorded(&self) -> bool {
        self.recording.as_ref().is_some_and(|recording| recording.calls.is_some())
    }

    /// Keeps the contents of a launch's tensors, if the launch will be repeated with other candidates. Empty otherwise.
    ///
    /// # Errors
    /// If the device fails.
    pub(super) fn before(&mut self, request: &LaunchRequest) -> Result<Contents, LaunchError> {
        if !(self.is_recorded() && self.options.candidates) || self.options.hollow {
            return Ok(Vec::new());
        }
        let mut before = Vec::new();
        for arg in &request.args {
            if let Value::Tensor(tensor) = &arg.value {
                before.push((tensor.clone(), self.device.keep(tensor)?));
            }
        }
        Ok(before)
    }

    /// Keeps the contents of tensors after a call has written them; nothing if the evaluation only compiles.
    fn results<'t>(&mut self, tensors: impl Iterator<Item = &'t Tensor>) -> Result<Contents, LaunchError> {
        if self.options.hollow {
            return Ok(Vec::new());
        }
        tensors.map(|tensor| Ok((tensor.clone(), self.device.keep(tensor)?))).collect()
    }

    /// Records a launch of a statement, and the earlier contents of the tensors that it wrote.
    ///
    /// # Errors
    /// If the device fails.
    pub(super) fn launched(
        &mut self,
        request: &LaunchRequest,
        report: &LaunchReport,
        mut before: Contents,
    ) -> Result<(), LaunchError> {
        if !self.is_recorded() {
            return Ok(());
        }
        let results = self.results(written(request, report))?;
        let Some(calls) = self.recording.as_mut().and_then(|recording| recording.calls.as_mut()) else {
            return Ok(());
        };
        calls.steps.push(Step::Launch(request.clone()));
        calls.moved(request, report);
        results.into_iter().for_each(|(tensor, kept)| calls.wrote(&tensor, kept));
        before.retain(|(tensor, _)| written(request, report).any(|other| other.is_same_view(tensor)));
        calls.before.push(before);
        Ok(())
    }

    /// Records a product of a statement.
    ///
    /// # Errors
    /// If the device fails.
    fn multiplied(&mut self, request: GemmRequest) -> Result<(), LaunchError> {
        if !self.is_recorded() {
            return Ok(());
        }
        let results = self.results(std::iter::once(&request.c))?;
        let Some(calls) = self.recording.as_mut().and_then(|recording| recording.calls.as_mut()) else {
            return Ok(());
        };
        results.into_iter().for_each(|(tensor, kept)| calls.wrote(&tensor, kept));
        for (tensor, is_written) in [(&request.a, false), (&request.b, false), (&request.c, true)] {
            calls.traffic.add(tensor, is_written);
        }
        calls.steps.push(Step::Gemm(request));
        calls.before.push(Vec::new());
        Ok(())
    }

    /// Repeats the calls of a measure with another candidate. A kernel without that candidate runs the compiler's choice.
    ///
    /// # Errors
    /// If a launch or a product fails.
    fn again(&mut self, calls: &Calls, candidate: u32) -> Result<Calls, LaunchError> {
        let mut again = Calls::default();
        for (step, before) in calls.steps.iter().zip(&calls.before) {
            match step {
                Step::Launch(request) => {
                    // A tensor that an earlier repeated step wrote keeps its contents: this step continues with them.
                    let own =
                        |tensor: &Tensor| again.outputs.iter().any(|(other, _)| other.is_same_view(tensor));
                    for (tensor, content) in before.iter().filter(|(tensor, _)| !own(tensor)) {
                        self.device.put_back(tensor, content)?;
                    }
                    let mut request = request.clone();
                    request.candidate = (candidate < self.device.candidates(&request)?).then_some(candidate);
                    let report = self.device.launch(&request)?;
                    let results = self.results(written(&request, &report))?;
                    results.into_iter().for_each(|(tensor, kept)| again.wrote(&tensor, kept));
                    again.moved(&request, &report);
                    again.steps.push(Step::Launch(request));
                }
                Step::Gemm(request) => {
                    self.device.gemm(request)?;
                    let results = self.results(std::iter::once(&request.c))?;
                    results.into_iter().for_each(|(tensor, kept)| again.wrote(&tensor, kept));
                    again.steps.push(step.clone());
                }
                Step::Copy { .. } | Step::Read { .. } => again.steps.push(step.clone()),
            }
        }
        Ok(again)
    }

    /// Times the current group, if it has any statement.
    ///
    /// # Errors
    /// If the group measures nothing, or the device cannot time it. The error is placed at the last statement of the group.
    fn finish_group(&mut self) -> EvalResult<()> {
        let Some(recording) = &mut self.recording else { return Ok(()) };
        recording.first = None;
        let mut group = std::mem::take(&mut recording.group);
        let Some((item, at)) = recording.last.take() else { return Ok(()) };
        group.add_references();
        let steps: Vec<Vec<Step>> = group.works().map(|work| work.steps.clone()).collect();
        if group.measures.is_empty() {
            let error = HostError::call("the bench has a baseline and measures nothing that it belongs to");
            return Err(EvalError {
                item,
                at: BodyPart::Expr(at),
                error: Box::new(error),
                found: Vec::new(),
            });
        }
        let timed = self.device.time(&steps).and_then(|times| {
            group.works().zip(times).for_each(|(work, times)| work.times = Some(times));
            group.compare(self.device)?;
            self.device.forget()
        });
        timed.map_err(|error| {
            let (error, found) = error.into_parts();
            EvalError { item, at: BodyPart::Expr(at), error: Box::new(error), found }
        })?;
        if let Some(recording) = &mut self.recording {
            recording.done.push(group);
        }
        Ok(())
    }
}

impl<'a> Frame<'_, 'a> {
    /// Evaluates `measure flops x bytes y { … }`.
    ///
    /// # Errors
    /// If a quantity is not positive, the block launches nothing, or a statement fails.
    pub(super) fn measure(&mut self, quantities: &[(MeasureKind, ExprId)], block: ExprId) -> EvalResult<()> {
        self.begin(block, Kind::Measure)?;
        let (mut flops, mut bytes) = (None, None);
        for (kind, amount) in quantities {
            let value = self.expr(*amount)?;
            let value = self.at(*amount, value.float())?;
            if !(value.is_finite() && value > 0.0) {
                let error = HostError::call(format!("found {value}, the work of a measure is positive"));
                return Err(self.fail(*amount, error));
            }
            match kind {
                MeasureKind::Flops => flops = Some(value),
                MeasureKind::Bytes => bytes = Some(value),
            }
        }
        let calls = self.recorded(block)?;
        if calls.steps.is_empty() {
            let error = HostError::call("`measure` runs no kernel, so there is nothing to time");
            return Err(self.fail(block, error));
        }
        let work = |calls: &Calls, candidate| {
            let (steps, outputs, traffic) = (calls.steps.clone(), calls.outputs.clone(), calls.traffic);
            Work { flops, bytes, candidate, outputs, traffic, ..Work::new(label(&calls.steps), steps) }
        };
        let own = work(&calls, None);
        self.add(block, Kind::Measure, |group| group.measures.push(own));
        if self.session.options.candidates {
            self.other_candidates(block, &calls, &work)?;
        }
        Ok(())
    }

    /// Runs a measure again with each other candidate of its kernels, and adds each run as a measure. Afterwards the tensors hold
    /// the results of the compiler's choice again.
    ///
    /// # Errors
    /// If the arguments of a kernel do not fit, or the time limit is reached. A candidate that fails is no error: the group
    /// records it as missing.
    fn other_candidates(
        &mut self,
        block: ExprId,
        calls: &Calls,
        work: &dyn Fn(&Calls, Option<u32>) -> Work,
    ) -> EvalResult<()> {
        for candidate in 1..self.candidates(block, &calls.steps)? {
            look();
            match self.session.again(calls, candidate) {
                Ok(again) => {
                    let other = work(&again, Some(candidate));
                    self.add(block, Kind::Measure, |group| group.measures.push(other));
                }
                Err(error) => {
                    let (error, found) = error.into_parts();
                    if error.code == &codes::TIME_LIMIT {
                        return Err(EvalError { found, ..self.fail(block, error) });
                    }
                    // A candidate that fails does not prevent the others from being measured.
                    let error = match found.into_iter().next() {
                        Some(found) => HostError::new(found.code, found.message),
                        None => error,
                    };
                    let name = format!("{}, candidate {candidate}", label(&calls.steps));
                    self.add(block, Kind::Measure, |group| group.missing.push((name, error)));
                }
            }
        }
        for (tensor, content) in &calls.outputs {
            let restored = self.session.device.put_back(tensor, content);
            self.on_device(block, restored)?;
        }
        Ok(())
    }

    /// Returns the number of candidates of a measure, the maximum over its kernels, and announces their launches.
    ///
    /// # Errors
    /// If the arguments of a kernel do not fit, or it has errors.
    fn candidates(&mut self, block: ExprId, steps: &[Step]) -> EvalResult<u32> {
        let mut most = 1;
        for step in steps {
            let Step::Launch(request) = step else { continue };
            let found = self.session.device.candidates(request);
            let found = self.on_device(block, found)?;
            self.session.device.announce(request, found);
            most = most.max(found);
        }
        Ok(most)
    }

    /// Evaluates `baseline cublas::gemm(a, b, c)`, `baseline copy(bytes)` or `baseline kernel(a, b, c)`. If the library is
    /// missing, the group records that and the bench goes on.
    ///
    /// # Errors
    /// If the call fails, or runs nothing that can be timed.
    pub(super) fn baseline(&mut self, call: ExprId) -> EvalResult<()> {
        self.begin(call, Kind::Baseline)?;
        if let Some(bytes) = self.copied_bytes(call)? {
            self.add(call, Kind::Baseline, |group| group.baselines.push(Work::copy(bytes)));
            return Ok(());
        }
        let calls = match self.recorded(call) {
            Ok(calls) => calls,
            // A machine without the library can still measure the kernel.
            Err(error) if error.error.code == &codes::MISSING_CUBLAS => {
                let missing = ("cublas::gemm".to_owned(), *error.error);
                self.add(call, Kind::Baseline, |group| group.missing.push(missing));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if calls.steps.is_empty() {
            let error = HostError::call("this baseline runs nothing that can be timed");
            let help = "a baseline is a kernel call, `cublas::gemm(a, b, c)` or `copy(bytes)`";
            return Err(self.fail(call, error.help(help)));
        }
        let flops = match &calls.steps[..] {
            [Step::Gemm(gemm)] => Some(gemm.flops()),
            _ => None,
        };
        let (outputs, traffic) = (calls.outputs, calls.traffic);
        let work = Work { flops, outputs, traffic, ..Work::new(label(&calls.steps), calls.steps) };
        self.add(call, Kind::Baseline, |group| group.baselines.push(work));
        Ok(())
    }

    /// Times the current group if this statement begins the next one.
    ///
    /// # Errors
    /// If no bench is running, another measure is open, or as for [`Session::finish_group`].
    fn begin(&mut self, at: ExprId, kind: Kind) -> EvalResult<()> {
        let Some(recording) = &self.session.recording else {
            let error = HostError::unsupported("kernels are timed by `hx bench` only");
            return Err(self.fail(at, error));
        };
        if recording.calls.is_some() {
            return Err(self.fail(at, HostError::call("a measure cannot hold another")));
        }
        if recording.ends_before(kind) { self.session.finish_group() } else { Ok(()) }
    }

    /// Places the error of a device at an expression.
    pub(super) fn on_device<T>(&self, at: ExprId, result: Result<T, LaunchError>) -> EvalResult<T> {
        result.map_err(|error| {
            let (error, found) = error.into_parts();
            EvalError { found, ..self.fail(at, error) }
        })
    }

    fn add(&mut self, at: ExprId, kind: Kind, put: impl FnOnce(&mut Group)) {
        let key = self.key.clone();
        if let Some(recording) = &mut self.session.recording {
            put(&mut recording.group);
            recording.first.get_or_insert(kind);
            recording.last = Some((key, at));
        }
    }

    /// Evaluates an expression and returns the calls that it made.
    ///
    /// # Errors
    /// If the evaluation fails.
    fn recorded(&mut self, id: ExprId) -> EvalResult<Calls> {
        if let Some(recording) = &mut self.session.recording {
            recording.calls = Some(Calls::default());
        }
        let result = self.expr(id);
        let calls = self.session.recording.as_mut().and_then(|r| r.calls.take()).unwrap_or_default();
        result.map(|_| calls)
    }

    /// Returns the bytes of `copy(n)` or `copy(tensor)`; `None` for any other call.
    ///
    /// # Errors
    /// If there are no bytes, or the argument is neither an integer nor a tensor.
    fn copied_bytes(&mut self, call: ExprId) -> EvalResult<Option<u64>> {
        let body = self.body;
        let Expr::Call { callee, args } = &body.store[call] else { return Ok(None) };
        let is_copy =
            self.names.exprs.get(*callee) == Some(&Resolution::Builtin(Builtin::Host(HostFn::Copy)));
        let ([Arg { value: amount, .. }], true) = (&args[..], is_copy) else { return Ok(None) };
        let bytes = match self.handed(*amount)? {
            Value::Tensor(tensor) => bytes_of(&tensor),
            value => {
                let bytes = self.at(*amount, value.int())?;
                u64::try_from(bytes).unwrap_or(0)
            }
        };
        if bytes == 0 {
            return Err(self.fail(*amount, HostError::call("a copy of no bytes cannot be timed")));
        }
        Ok(Some(bytes))
    }

    /// Evaluates `cublas::gemm(a, b, c)`.
    ///
    /// # Errors
    /// If the arguments are not three matrices that fit, `c` is held by no variable, or the device has no such library.
    pub(super) fn gemm(&mut self, id: ExprId, args: &[Arg]) -> EvalResult<Value> {
        let mut bound = Args::new(HostFn::CublasGemm.name(), None);
        for arg in args {
            bound.push(arg.name.as_ref(), self.handed(arg.value)?);
        }
        let mut tensor = |name: &str| bound.required(name).and_then(|v| v.tensor());
        let matrices = (|| Ok((tensor("a")?, tensor("b")?, tensor("c")?)))();
        let (a, b, c) = self.at(id, matrices)?;
        self.at(id, bound.finish())?;
        let written = |name: &Option<Name>, at: usize| name.as_ref().map_or(at == 2, |n| n == "c");
        let target =
            args.iter().enumerate().find(|(at, arg)| written(&arg.name, *at)).map(|(_, arg)| arg.value);
        if let Some(target) = target.filter(|target| !self.is_place(*target)) {
            let error = HostError::call("`cublas::gemm` writes `c`, and this value is held by no variable");
            return Err(
                self.fail(target, error.help("give it a name with `let` first, or the result is lost"))
            );
        }
        let request = self.at(id, GemmRequest::new(a, b, c))?;
        let multiplied = self.session.device.gemm(&request).and_then(|()| self.session.multiplied(request));
        self.on_device(id, multiplied)?;
        Ok(Value::Unit)
    }
}

/// Returns the tensors that a launch wrote.
fn written<'r>(request: &'r LaunchRequest, report: &'r LaunchReport) -> impl Iterator<Item = &'r Tensor> {
    report.written.iter().filter_map(|arg| match request.args.get(*arg).map(|arg| &arg.value) {
        Some(Value::Tensor(tensor)) => Some(tensor),
        _ => None,
    })
}

/// Returns the label of the steps, such as `matmul<BM = 128, BK = 32>`. The labels of several steps are joined by ` + `; those
/// after the third are only counted.
fn label(steps: &[Step]) -> String {
    let one = |step: &Step| match step {
        Step::Launch(request) if request.generics.is_empty() => request.kernel.name.to_string(),
        Step::Launch(request) => {
            let given: Vec<String> =
                request.generics.iter().map(|(name, value)| format!("{name} = {}", value.brief())).collect();
            format!("{}<{}>", request.kernel.name, given.join(", "))
        }
        Step::Gemm(_) => "cublas::gemm".to_owned(),
        Step::Copy { .. } => "copy".to_owned(),
        Step::Read { .. } => "read".to_owned(),
    };
    let named: Vec<String> = steps.iter().take(NAMED_KERNELS).map(one).collect();
    let rest = steps.len() - named.len();
    let more = if rest > 0 { format!(" + {rest} more") } else { String::new() };
    named.join(" + ") + &more
}
