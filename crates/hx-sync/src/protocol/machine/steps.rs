//! One step of a group.

use std::collections::BTreeSet;

use hx_target::Mode;
use hx_tile::{OpId, TensorId};

use super::super::accesses::{Access, By};
use super::super::knowledge::{Epoch, Knowledge};
use super::super::script::{Cast, Script, Span, Step, StepKind, Team};
use super::super::{Cause, Kind, RaceAccess, Role};
use super::{BarrierState, Machine, Product, Queue};

/// The stage `n` of a pipe that an access fills.
#[derive(Clone, Copy)]
struct Filled {
    pipe: u32,
    n: u32,
    /// The operation that published the stage before the access; `None` if the access comes first.
    published: Option<OpId>,
}

impl Machine<'_> {
    /// Makes the next step of an agent. Returns false if the agent has to wait, or is at its end.
    pub(super) fn step(&mut self, agent: usize) -> bool {
        let scripts = self.scripts;
        let Some(step) = scripts[agent].steps.get(self.agents[agent].at) else { return false };
        let Step { op, team, kind } = step;
        let passed = match kind {
            StepKind::Acquire { pipe, n } => self.acquire(agent, *op, *team, (*pipe, *n)),
            StepKind::Wait { pipe, n } => self.wait(agent, *op, (*pipe, *n)),
            StepKind::Take(turns) => self.take(agent, *turns),
            StepKind::AwaitAll { barrier, n } => self.await_all(agent, *barrier, *n),
            StepKind::AwaitFlag { tensor } => self.await_flag(agent, *op, *team, *tensor),
            StepKind::Sync => self.barrier(agent, Some(self.agents[agent].block), *team),
            StepKind::Meet { axis } => self.meet(agent, *op, *team, *axis),
            StepKind::SyncCluster => self.barrier(agent, None, Team { first: 0, groups: u32::MAX }),
            kind => {
                self.go(agent, *op, *team, kind);
                true
            }
        };
        if passed {
            self.agents[agent].at += 1;
        }
        passed
    }

    /// Makes a step that never waits.
    fn go(&mut self, agent: usize, op: OpId, team: Team, kind: &StepKind) {
        match kind {
            StepKind::Release { pipe, n } => self.release(agent, op, (*pipe, *n)),
            StepKind::Fill { pipe, n, into, multicast, .. } => {
                self.fill(agent, op, team, (*pipe, *n), into.as_ref(), multicast.as_ref());
            }
            StepKind::Publish { pipe, n } => self.hand_on(agent, (*pipe, *n)),
            StepKind::Copy(into) => {
                let time = self.agents[agent].issued[Queue::Copies as usize];
                let epoch = Epoch { component: self.components.queue(Queue::Copies, agent), time };
                self.access(agent, op, team, (into, true), By::Copies, epoch);
            }
            StepKind::Commit => self.agents[agent].issued[Queue::Copies as usize] += 1,
            StepKind::WaitCopies(leave) => self.complete(agent, Queue::Copies, *leave),
            StepKind::Access { span, write } => {
                if *write {
                    self.writes_an_operand(agent, op, span);
                }
                self.access(agent, op, team, (span, *write), By::Threads, self.now(agent));
            }
            StepKind::Atomic { span, writes, releases } => {
                self.access(agent, op, team, (span, true), By::Atomic, self.now(agent));
                if *writes {
                    let nothing = Knowledge::nothing(self.components.count());
                    let told = if *releases { self.publish(agent) } else { nothing };
                    let flag = (self.agents[agent].block, span.tensor);
                    self.flags.entry(flag).or_default().push((team, told));
                    self.woke = true;
                }
            }
            StepKind::Touch { tensor, write } => self.touch(agent, op, *tensor, *write),
            StepKind::Multiply { c, registers, shared, asynchronous } => {
                self.multiply(agent, op, team, (*c, registers, shared), *asynchronous);
            }
            StepKind::WaitProducts(leave) => {
                let products = &mut self.agents[agent].products;
                let done = products.len().saturating_sub(*leave as usize);
                products.drain(..done);
                self.complete(agent, Queue::Products, *leave);
            }
            StepKind::Store { from, to, adds } => {
                let time = self.agents[agent].issued[Queue::Stores as usize];
                let epoch = Epoch { component: self.components.queue(Queue::Stores, agent), time };
                if let Some(from) = from {
                    self.access(agent, op, team, (from, false), By::Store, epoch);
                }
                if let Some(to) = to {
                    self.store_far(agent, op, team, to, if *adds { Mode::Add } else { Mode::Write });
                }
                let issued = &mut self.agents[agent].issued;
                issued[Queue::Stores as usize] += 1;
                issued[Queue::Writes as usize] += 1;
            }
            StepKind::WaitStores { leave, read } => {
                self.complete(agent, Queue::Stores, *leave);
                if !read {
                    self.complete(agent, Queue::Writes, *leave);
                }
            }
            StepKind::Far { span, mode } => self.access_far(agent, op, team, span, *mode),
            StepKind::Pass(turns) => self.pass(agent, op, team, *turns),
            StepKind::Come { barrier, n } => self.come(agent, op, *barrier, *n),
            StepKind::Acquire { .. }
            | StepKind::Wait { .. }
            | StepKind::Take(_)
            | StepKind::AwaitAll { .. }
            | StepKind::AwaitFlag { .. }
            | StepKind::Sync
            | StepKind::Meet { .. }
            | StepKind::SyncCluster => {}
        }
    }

    /// Waits for the first write of a flag by another scope. With more than one write the wait may read any of them, so its
    /// order is undecided.
    fn await_flag(&mut self, agent: usize, op: OpId, team: Team, tensor: TensorId) -> bool {
        let block = self.agents[agent].block;
        let writes = self.flags.get(&(block, tensor)).into_iter().flatten();
        let mut others = writes.filter(|(by, _)| *by != team);
        let Some((_, told)) = others.next().cloned() else { return false };
        let by_others = |script: &&Script| script.block == block;
        let all = self.scripts.iter().filter(by_others).flat_map(|script| &script.steps);
        let is_write = |step: &&Step| match &step.kind {
            StepKind::Atomic { span, writes, .. } => *writes && span.tensor == tensor && step.team != team,
            _ => false,
        };
        // Each group of a scope makes the same write.
        let all: BTreeSet<(OpId, Team)> = all.filter(is_write).map(|step| (step.op, step.team)).collect();
        let repeated = self
            .scripts
            .iter()
            .filter(by_others)
            .any(|script| script.steps.iter().filter(is_write).count() > 1);
        if all.len() > 1 || repeated {
            self.undecided.insert(op);
        }
        self.learn(agent, &told);
        true
    }

    fn now(&self, agent: usize) -> Epoch {
        Epoch { component: self.components.threads(agent), time: self.agents[agent].now }
    }

    /// Returns the knowledge that an agent publishes: everything that its threads did or learned so far.
    pub(super) fn publish(&mut self, agent: usize) -> Knowledge {
        let component = self.components.threads(agent);
        let mut told = self.tell_of_waits(agent);
        told.learn(component, self.agents[agent].now);
        told
    }

    /// Returns the knowledge that one thread publishes for an agent that multiplies together: what the threads learned so far and the
    /// waits of all of them, but not their accesses to shared memory.
    fn tell_of_waits(&mut self, agent: usize) -> Knowledge {
        let component = self.components.waits(agent);
        let agent = &mut self.agents[agent];
        agent.now += 1;
        let mut told = agent.own.clone();
        told.learn(component, agent.now);
        told
    }

    /// Adds `told` to the knowledge of every thread of the agent.
    pub(super) fn learn(&mut self, agent: usize, told: &Knowledge) {
        self.agents[agent].own.join(told);
        self.agents[agent].all.join(told);
    }

    /// Completes all but the newest `leave` operations of a queue. Every thread of the agent waits for the products; of copies
    /// and stores a thread knows only its own.
    fn complete(&mut self, agent: usize, queue: Queue, leave: u32) {
        let component = self.components.queue(queue, agent);
        let agent = &mut self.agents[agent];
        let done = agent.issued[queue as usize].saturating_sub(leave);
        agent.own.learn(component, done);
        if queue == Queue::Products {
            agent.all.learn(component, done);
        }
    }

    fn acquire(&mut self, agent: usize, op: OpId, team: Team, (pipe, n): (u32, u32)) -> bool {
        let block = self.agents[agent].block as usize;
        let state = &mut self.pipes[block][pipe as usize];
        let (stages, releases) = (state.stages, state.releases);
        let mut overtaken = Vec::new();
        if let Some(before) = n.checked_sub(stages) {
            if state.stage(before).released < releases {
                return false;
            }
            let before = state.stage(before).clone();
            // The acquire waits for release `k` of its stage by a parity, which release `k - 2` has as well. If another scope made the
            // acquire before, this scope may not know of release `k - 1`, and its wait may end with release `k - 2`.
            let last = n.checked_sub(2 * stages).map(|last| state.stage(last).given.clone());
            let own = &self.agents[agent].own;
            let is_early = last.is_some_and(|given| given.is_none_or(|given| !own.covers(&given)));
            if let Some(given) = &before.given {
                self.learn(agent, given);
            }
            // A barrier that completes a second phase before a wait reads its parity shows the parity of the wrong phase.
            let known = &self.agents[agent].own;
            overtaken.extend(before.waited.iter().filter(|(_, at)| !known.knows(*at)).map(|(wait, _)| *wait));
            if before.acquired.is_none_or(|(_, by, _)| by != team && is_early) {
                overtaken.push(op);
            }
        }
        let at = self.now(agent);
        let most = self.protocol.pipes[pipe as usize].fillers as usize;
        let stage = self.pipes[block][pipe as usize].stage(n);
        let first = *stage.acquired.get_or_insert((op, team, at));
        stage.fillers.insert(team);
        if stage.fillers.len() > most {
            self.faults.push(Kind::Doubled { acquire: op, pipe, other: first.0 });
        }
        self.slips(overtaken, pipe, op);
        true
    }

    fn slips(&mut self, waits: Vec<OpId>, pipe: u32, by: OpId) {
        let slips =
            waits.into_iter().map(|wait| Kind::Slip { wait, pipe, other: (wait != by).then_some(by) });
        self.faults.extend(slips);
    }

    fn wait(&mut self, agent: usize, op: OpId, (pipe, n): (u32, u32)) -> bool {
        let block = self.agents[agent].block;
        let fillers = self.protocol.pipes[pipe as usize].fillers as usize;
        let state = &mut self.pipes[block as usize][pipe as usize];
        let stages = state.stages;
        let stage = state.stage(n);
        if stage.expected == 0 || stage.issued < stage.expected || stage.fillers.len() < fillers {
            return false;
        }
        let filled = stage.filled.clone();
        let later = state.all.get((n + stages) as usize).and_then(|next| next.acquired);
        let component = self.components.stage(block, pipe, n % stages);
        let round = n / stages;
        // The wait compares parities: it must know that the phase before is complete, and the phase after it must not be.
        let early = round > 0 && !self.agents[agent].all.knows(Epoch { component, time: round - 1 });
        let slips = early || later.is_some();
        if slips {
            let overtakes = later.map(|(acquire, ..)| acquire);
            self.faults.push(Kind::Slip { wait: op, pipe, other: overtakes.filter(|_| !early) });
        }
        if let Some(filled) = filled {
            self.learn(agent, &filled);
        }
        self.agents[agent].all.learn(component, round + 1);
        self.agents[agent].own.learn(component, round + 1);
        let at = Epoch { component: self.components.waits(agent), time: self.agents[agent].now };
        self.pipes[block as usize][pipe as usize].stage(n).waited.push((op, at));
        true
    }

    fn release(&mut self, agent: usize, op: OpId, (pipe, n): (u32, u32)) {
        let product = self.agents[agent].products.iter().find(|product| product.stages.contains(&(pipe, n)));
        if let Some(Product { op: product, shared, .. }) = product {
            let (product, tensor) = (*product, shared.first().map_or(TensorId(0), |span| span.tensor));
            let write = false;
            self.faults.push(Kind::InFlight { product, later: op, tensor, write, release: true });
        }
        let told = match self.protocol.pipes[pipe as usize].by_groups {
            true => self.tell_of_waits(agent),
            false => self.publish(agent),
        };
        let block = self.agents[agent].block;
        let axes = &self.pipes[block as usize][pipe as usize].axes;
        for block in self.targets(block, axes) {
            let state = &mut self.pipes[block as usize][pipe as usize];
            let most = state.releases;
            let stage = state.stage(n);
            stage.released += 1;
            let crowded = stage.released > most;
            told.clone().add_to(&mut stage.given);
            if crowded {
                let readers = self.protocol.pipes[pipe as usize].readers;
                self.faults.push(Kind::Crowded { release: op, pipe, readers });
            }
        }
        self.woke = true;
    }

    fn fill(
        &mut self,
        agent: usize,
        op: OpId,
        team: Team,
        (pipe, n): (u32, u32),
        into: Option<&Span>,
        multicast: Option<&Cast>,
    ) {
        let sender = self.agents[agent].block;
        if let Some(cast) = multicast
            && self.reads_another_tile(sender, op, (pipe, n), cast)
        {
            self.faults.push(Kind::Divided { copy: op });
        }
        let told = self.agents[agent].own.clone();
        for block in self.targets(sender, &multicast.iter().map(|cast| cast.axis).collect()) {
            let state = &mut self.pipes[block as usize][pipe as usize];
            let stages = state.stages;
            let stage = state.stage(n);
            stage.issued += 1;
            told.clone().add_to(&mut stage.filled);
            let component = self.components.stage(block, pipe, n % stages);
            let epoch = Epoch { component, time: n / stages };
            let by = By::Fill { pipe, n };
            if let Some(into) = into {
                self.access_in(block, agent, op, team, (into, true), by, epoch);
            }
        }
        self.woke = true;
    }

    /// Publishes a stage: its readers learn of everything that the agent did before.
    fn hand_on(&mut self, agent: usize, (pipe, n): (u32, u32)) {
        let told = self.publish(agent);
        let block = self.agents[agent].block as usize;
        let stage = self.pipes[block][pipe as usize].stage(n);
        stage.issued += 1;
        told.add_to(&mut stage.filled);
        self.woke = true;
    }

    /// Reports whether the same copy reads other coordinates in a block with a lower number that shares it.
    fn reads_another_tile(&self, sender: u32, op: OpId, stage: (u32, u32), cast: &Cast) -> bool {
        let sharing = self.targets(sender, &BTreeSet::from([cast.axis]));
        let others =
            self.scripts.iter().filter(|script| script.block < sender && sharing.contains(&script.block));
        others.flat_map(|script| &script.steps).any(|step| match &step.kind {
            StepKind::Fill { pipe, n, multicast: Some(other), .. } => {
                step.op == op && (*pipe, *n) == stage && other.source != cast.source
            }
            _ => false,
        })
    }

    fn access(&mut self, agent: usize, op: OpId, team: Team, what: (&Span, bool), by: By, epoch: Epoch) {
        self.access_in(self.agents[agent].block, agent, op, team, what, by, epoch);
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one access")]
    fn access_in(
        &mut self,
        block: u32,
        agent: usize,
        op: OpId,
        team: Team,
        (span, write): (&Span, bool),
        by: By,
        epoch: Epoch,
    ) {
        let Machine { agents, memory, asked, .. } = self;
        let step = agents[agent].at;
        let new = Access { op, by, write, span: span.clone(), epoch, agent, step, team };
        // One thread issues bulk copies and stores, so it needs to know of the earlier access itself. All threads make the other accesses,
        // so all of them must know.
        let known = match by {
            By::Fill { .. } | By::Store => &agents[agent].own,
            By::Threads | By::Atomic | By::Copies | By::Product => &agents[agent].all,
        };
        asked.see(&new, memory[block as usize].of_scope(&new).filter(|old| !known.knows(old.epoch)));
        for old in memory[block as usize].add(new.clone(), known) {
            // A fill that overwrites an operand of a product in flight follows from an early release of the stage. If that release has
            // been reported, do not report the race as well.
            let given = |fault: &Kind| match fault {
                Kind::InFlight { product, release, .. } => *release && *product == old.op,
                _ => false,
            };
            if old.by != By::Product || !self.faults.iter().any(given) {
                let fault = self.race(&old, &new);
                self.faults.push(fault);
            }
        }
    }

    /// Describes two accesses that nothing orders.
    fn race(&self, old: &Access, new: &Access) -> Kind {
        let is_own = old.agent == new.agent && old.by == By::Product;
        if is_own && self.agents[new.agent].products.iter().any(|product| product.op == old.op) {
            let (product, later, tensor) = (old.op, new.op, new.span.tensor);
            return Kind::InFlight { product, later, tensor, write: true, release: false };
        }
        let [old_fill, new_fill] =
            [(old, new), (new, old)].map(|(access, other)| self.fill_of(access, other.team));
        let cause = match (old.by, new.by) {
            (By::Fill { .. }, By::Fill { .. }) => Cause::BeforeRelease,
            (By::Copies, _) if !self.agents[old.agent].own.knows(old.epoch) => Cause::Copy,
            _ => match (&old_fill, &new_fill) {
                (Some(Filled { published: Some(_), .. }), _) => self.too_late(old_fill, new),
                (_, Some(Filled { published: Some(_), .. })) => self.too_late(new_fill, old),
                _ if old.by == By::Store => Cause::Store,
                _ if new.by == By::Store => Cause::NoBarrier,
                (Some(_), Some(_)) => Cause::BeforeRelease,
                (None, Some(fill)) => self.cause(old, fill),
                (Some(fill), None) => self.cause(new, fill),
                (None, None) if old.by == By::Product && new.by.is_spread() => Cause::Product,
                (None, None) => Cause::NoBarrier,
            },
        };
        let fill = old_fill.or(new_fill);
        let pipe = fill.map(|fill| fill.pipe);
        let race_access = |access: &Access| RaceAccess { op: access.op, write: access.write };
        // A fill that the machine ran after a read may come before it as well.
        let swapped = cause == Cause::BeforeWait && new_fill.is_some();
        let (earlier, later) = if swapped { (new, old) } else { (old, new) };
        Kind::Race {
            tensor: new.span.tensor,
            earlier: race_access(earlier),
            later: race_access(later),
            cause,
            pipe,
        }
    }

    /// Returns the stage that an access fills: that of a copy, or that of a write of threads between the acquisition of a stage and the
    /// next one, if they publish the stage and `other` is another scope. `None` if it fills none.
    fn fill_of(&self, access: &Access, other: Team) -> Option<Filled> {
        match access.by {
            By::Fill { pipe, n } => return Some(Filled { pipe, n, published: None }),
            By::Threads | By::Copies if access.write && access.team != other => {}
            By::Threads | By::Atomic | By::Copies | By::Product | By::Store => return None,
        }
        let (before, after) = self.scripts[access.agent].steps.split_at(access.step);
        let acquired = before.iter().rev().find_map(|step| match step.kind {
            StepKind::Acquire { pipe, n } => Some((pipe, n)),
            _ => None,
        });
        let (pipe, n) = acquired?;
        let publishes = |step: &&Step| step.kind == StepKind::Publish { pipe, n };
        let published = before.iter().rev().find(publishes).map(|step| step.op);
        let is_published = published.is_some() || after.iter().any(|step| publishes(&step));
        is_published.then_some(Filled { pipe, n, published })
    }

    /// Finds out why a use of a stage and a write behind the publication of one are not ordered: the write is too late for that stage,
    /// or it comes before the acquisition of the next one.
    fn too_late(&self, write: Option<Filled>, used: &Access) -> Cause {
        let Some(Filled { pipe, n, published: Some(publish) }) = write else { return Cause::NoBarrier };
        let stages = self.pipes[self.agents[used.agent].block as usize][pipe as usize].stages;
        let waited =
            self.scripts[used.agent].steps[..used.step].iter().rev().find_map(|step| match step.kind {
                StepKind::Wait { pipe: of, n } if of == pipe => Some(n),
                _ => None,
            });
        match waited {
            Some(waited) if waited % stages != n % stages => Cause::BeforeRelease,
            _ => Cause::AfterPublish(publish),
        }
    }

    /// Finds out why a use of a stage and a fill of the stage are not ordered.
    fn cause(&self, used: &Access, fill: &Filled) -> Cause {
        let Filled { pipe, n, .. } = *fill;
        let stages = self.pipes[self.agents[used.agent].block as usize][pipe as usize].stages;
        let is_stage = |of: u32, number: u32| of == pipe && number % stages == n % stages;
        let before = &self.scripts[used.agent].steps[..used.step];
        let last = before.iter().rev().find_map(|step| match step.kind {
            StepKind::Release { pipe, n } if is_stage(pipe, n) => Some(Cause::AfterRelease(step.op)),
            StepKind::Wait { pipe, n: waited } if is_stage(pipe, waited) => {
                Some(if waited < n { Cause::BeforeRelease } else { Cause::NoBarrier })
            }
            _ => None,
        });
        let is_wait = |step: &&Step| match step.kind {
            StepKind::Wait { pipe: of, .. } | StepKind::Release { pipe: of, .. } => of == pipe,
            _ => false,
        };
        let last_of_pipe = before.iter().rev().find(is_wait).map(|step| &step.kind);
        let other = match last_of_pipe {
            // The reader holds a stage, and the copy goes to the place of that stage instead of its own.
            Some(StepKind::Wait { .. }) => Cause::BeforeRelease,
            _ if used.write => Cause::NoBarrier,
            _ => Cause::BeforeWait,
        };
        last.unwrap_or(other)
    }

    fn touch(&mut self, agent: usize, op: OpId, tensor: TensorId, write: bool) {
        let products = &self.agents[agent].products;
        let uses = |product: &&Product| product.c == tensor || write && product.registers.contains(&tensor);
        if let Some(product) = products.iter().find(uses) {
            let product = product.op;
            self.faults.push(Kind::InFlight { product, later: op, tensor, write, release: false });
        }
    }

    /// Reports a write of a group to a shared operand of its own product in flight.
    fn writes_an_operand(&mut self, agent: usize, op: OpId, span: &Span) {
        let products = &self.agents[agent].products;
        let uses = |product: &&Product| product.shared.iter().any(|operand| operand.overlaps(span));
        if let Some(product) = products.iter().find(uses) {
            let (product, tensor) = (product.op, span.tensor);
            self.faults.push(Kind::InFlight { product, later: op, tensor, write: true, release: false });
        }
    }

    fn multiply(
        &mut self,
        agent: usize,
        op: OpId,
        team: Team,
        (c, registers, shared): (TensorId, &[TensorId], &[Span]),
        asynchronous: bool,
    ) {
        // Products in flight add to one sum in their order; every other use of it has to wait.
        let adds = |product: &Product| asynchronous && product.c == c;
        if !self.agents[agent].products.iter().any(adds) {
            self.touch(agent, op, c, true);
        }
        registers.iter().for_each(|operand| self.touch(agent, op, *operand, false));
        let time = self.agents[agent].issued[Queue::Products as usize];
        let epoch = match asynchronous {
            true => Epoch { component: self.components.queue(Queue::Products, agent), time },
            // The threads of a group multiply together, so any of them knows that all have.
            false => Epoch { component: self.components.waits(agent), time: self.agents[agent].now },
        };
        let block = self.agents[agent].block as usize;
        let stages = shared.iter().flat_map(|span| self.memory[block].stages(span)).collect();
        // A product that its threads wait for is an access like any other of these threads.
        let by = if asynchronous { By::Product } else { By::Threads };
        for span in shared {
            self.access(agent, op, team, (span, false), by, epoch);
        }
        if asynchronous {
            let agent = &mut self.agents[agent];
            agent.issued[Queue::Products as usize] += 1;
            let (registers, shared) = (registers.to_vec(), shared.to_vec());
            agent.products.push_back(Product { op, c, registers, shared, stages });
        }
    }

    fn take(&mut self, agent: usize, turns: u32) -> bool {
        let (block, group) = (self.agents[agent].block as usize, self.scripts[agent].group as usize);
        let at = self.now(agent);
        let state = &mut self.turns[block][turns as usize][group];
        let Some(told) = state.passed.pop_front() else { return false };
        state.taken = Some(at);
        self.learn(agent, &told);
        true
    }

    fn pass(&mut self, agent: usize, op: OpId, team: Team, turns: u32) {
        let group = self.scripts[agent].group;
        let is_mine = |role: &&Role| role.first <= group && group < role.first + role.groups;
        let next = self.protocol.roles.iter().find(is_mine);
        let next = next.map_or(team.first, |role| role.first + (group + 1 - role.first) % role.groups);
        let told = self.publish(agent);
        let Machine { agents, turns: all, .. } = self;
        let block = agents[agent].block as usize;
        let state = &mut all[block][turns as usize][next as usize];
        // If the next group has not taken its last turn yet, its barrier counts this arrival and the last one as one. A group that
        // is alone in its role is the next group itself, and knows what it took.
        let is_known = |at| next == group || agents[agent].own.knows(at);
        let early = !state.passed.is_empty() || state.taken.is_some_and(|at| !is_known(at));
        state.passed.push_back(told);
        if early {
            self.faults.push(Kind::Repassed { pass: op, turns });
        }
        self.woke = true;
    }

    /// Brings an agent to the barrier of a scope of a block, or of the cluster if `block` is `None`. Returns true if all have
    /// come, so that they go on.
    fn barrier(&mut self, agent: usize, block: Option<u32>, team: Team) -> bool {
        if !self.agents[agent].arrived {
            self.agents[agent].arrived = true;
            let told = self.publish(agent);
            let empty = || BarrierState { arrived: Vec::new(), knowledge: told.clone() };
            let barrier = self.barriers.entry((block, team)).or_insert_with(empty);
            barrier.knowledge.join(&told);
            barrier.arrived.push(agent);
            let wanted = if block.is_some() { team.groups as usize } else { self.agents.len() };
            if barrier.arrived.len() == wanted {
                if let Some(barrier) = self.barriers.remove(&(block, team)) {
                    for agent in barrier.arrived {
                        self.learn(agent, &barrier.knowledge);
                        self.agents[agent].arrived = false;
                        self.agents[agent].at += 1;
                    }
                }
                // This step is counted by the caller.
                self.agents[agent].at -= 1;
                self.woke = true;
                return true;
            }
        }
        false
    }

    /// Brings an agent to a sum over the blocks along an axis. Returns true if all groups of the scope in these blocks have
    /// come, so that they go on. A thread hears only from the threads with its number in other blocks, so the groups learn
    /// nothing of each other.
    fn meet(&mut self, agent: usize, op: OpId, team: Team, axis: u8) -> bool {
        if self.agents[agent].arrived {
            return false;
        }
        self.agents[agent].arrived = true;
        let blocks = self.targets(self.agents[agent].block, &BTreeSet::from([axis]));
        let wanted = blocks.len() * team.groups as usize;
        let first = blocks.first().copied().unwrap_or_default();
        let here = self.meetings.entry((op, first, team)).or_default();
        here.push(agent);
        if here.len() < wanted {
            return false;
        }
        for agent in self.meetings.remove(&(op, first, team)).unwrap_or_default() {
            self.agents[agent].arrived = false;
            self.agents[agent].at += 1;
        }
        // This step is counted by the caller.
        self.agents[agent].at -= 1;
        self.woke = true;
        true
    }
}
