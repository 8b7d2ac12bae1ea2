//! Happens-before between the agents of a block, or of the blocks of a cluster, as vector clocks.
//!
//! An agent acts in an order of its own, and synchronization alone tells other agents how far it has come. Every warp is an
//! agent. The asynchronous copies that a warp has issued are a second agent beside it, and those of them that signal a barrier
//! in memory are a third. The bulk copies that signal one stage of a barrier are an agent of their own, whoever issues them: an
//! epoch of it is a phase of the stage. The time of an agent is a number of epochs: an epoch of a warp ends at each barrier,
//! release and fence of the warp, an epoch of its copies at each commit, an epoch of its signalling copies when they are told
//! to arrive. So an epoch of copies is a group.
//!
//! Each warp knows every agent up to some epoch. A barrier joins the knowledge of the warps that pass it: all warps at a
//! barrier of the block, the lanes of one warp at a barrier of the warp. A wait ends groups for the threads that issued
//! them; every other thread learns of it at a barrier after the wait.
//!
//! A single lane knows more than its warp only of itself: its accesses so far, and its copies whose groups it waited for.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use hx_target::Proxy;

/// A set of warps of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Warps {
    /// The number of the block's first warp.
    base: u32,
    /// The warps of the block, one bit each, from `base` on.
    set: u64,
}

impl Warps {
    /// Returns the warps of `lanes` lanes each that have the threads below `threads`; 64 warps at most.
    pub fn of_threads(threads: u32, lanes: u32) -> Warps {
        let count = threads.div_ceil(lanes).min(u64::BITS);
        Warps::of(if count == u64::BITS { u64::MAX } else { (1 << count) - 1 })
    }

    fn of(set: u64) -> Warps {
        Warps { base: 0, set }
    }

    /// Returns the warps with the same numbers of the block whose first warp has this number on the clock.
    #[must_use]
    pub fn of_block(self, base: u32) -> Warps {
        Warps { base, ..self }
    }

    /// Returns the warps of `lanes` lanes each that have the `threads` threads from `first` on, which are whole warps.
    pub fn of_range(first: u32, threads: u32, lanes: u32) -> Warps {
        Warps::of(Warps::of_threads(first + threads, lanes).set & !Warps::of_threads(first, lanes).set)
    }

    /// Reports whether it is no more than one warp.
    pub fn is_single(self) -> bool {
        self == self.first()
    }

    /// Returns the first of the warps alone.
    #[must_use]
    pub fn first(self) -> Warps {
        Warps { set: self.set & self.set.wrapping_neg(), ..self }
    }

    /// Returns the warps of `lanes` lanes each, all of whose threads are in a set of threads.
    pub fn all_of(threads: &[bool], lanes: u32) -> Warps {
        let warps = threads.chunks(lanes as usize).take(u64::BITS as usize).enumerate();
        let all = warps.filter(|(_, lanes)| lanes.iter().all(|lane| *lane));
        Warps::of(all.fold(0, |set, (warp, _)| set | 1 << warp))
    }

    /// Returns the numbers of the warps in ascending order.
    fn iter(self) -> impl Iterator<Item = usize> {
        let (mut left, base) = (self.set, self.base as usize);
        std::iter::from_fn(move || {
            let warp = (left != 0).then(|| base + left.trailing_zeros() as usize);
            left &= left.wrapping_sub(1);
            warp
        })
    }
}

/// The time of an access on the clock of the agent that performs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Epoch {
    /// The thread that performs the access; for a collective instruction the thread that supplies the address.
    pub thread: u32,
    time: u32,
    /// The threads that take part are an aligned range of this many, with `thread` among them.
    lanes: u16,
    /// Lanes of a warp.
    warp_lanes: u16,
    agent: Agent,
}

/// The kind of agent that performs an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Agent {
    Warp,
    /// The warp itself, by way of an instruction that accesses memory through the asynchronous proxy.
    Proxy,
    /// An asynchronous copy, in flight until its thread waits for it.
    Copies,
    /// An asynchronous copy that signals a barrier in memory, in flight until some thread waits for the barrier.
    Signals,
    /// A bulk copy that signals this stage, in flight until some thread waits for the phase. All stages of all barriers are
    /// numbered.
    Stage(u32),
    /// A wait that the warp has passed.
    Waits,
}

impl Epoch {
    /// Reports whether threads besides [`Epoch::thread`] take part in the access.
    pub fn is_collective(self) -> bool {
        self.lanes > 1
    }

    /// Reports whether the access is an asynchronous copy.
    #[inline]
    pub fn is_copy(self) -> bool {
        !matches!(self.agent, Agent::Warp | Agent::Proxy | Agent::Waits)
    }

    /// Returns the epoch of the same access if an instruction makes it through this proxy.
    #[must_use]
    pub fn through(self, proxy: Proxy) -> Epoch {
        match proxy {
            Proxy::Generic => self,
            Proxy::Asynchronous => Epoch { agent: Agent::Proxy, ..self },
        }
    }

    /// Reports whether the access is made through the asynchronous proxy.
    pub fn is_by_proxy(self) -> bool {
        matches!(self.agent, Agent::Proxy | Agent::Stage(_))
    }

    /// Reports whether the access is a copy whose completion even its own thread learns only from a barrier in memory.
    fn signals(self) -> bool {
        matches!(self.agent, Agent::Signals | Agent::Stage(_))
    }

    /// Returns the warp of [`Epoch::thread`].
    #[inline]
    pub fn warp(self) -> usize {
        (self.thread / u32::from(self.warp_lanes)) as usize
    }

    /// Reports whether the other access, of the same agent, is in a later epoch.
    pub(crate) fn precedes(self, other: Epoch) -> bool {
        self.time < other.time
    }

    /// Reports whether every thread that takes part in the other access takes part in this one. Both are of the same warp.
    pub(crate) fn covers(self, other: Epoch) -> bool {
        self.lanes >= other.lanes && (self.is_collective() || self.thread == other.thread)
    }

    /// Reports whether threads of several warps take part.
    pub(crate) fn spans_warps(self) -> bool {
        self.lanes > self.warp_lanes
    }

    /// Returns the warps whose threads take part.
    #[inline]
    fn warps(self) -> std::ops::RangeInclusive<usize> {
        let warp = self.warp();
        let count = usize::from(self.lanes / self.warp_lanes);
        match count {
            0 | 1 => warp..=warp,
            _ => warp / count * count..=warp / count * count + count - 1,
        }
    }
}

/// The order of an earlier access relative to a later one, as far as the warps of the later access know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessOrder {
    /// The earlier access happens before.
    Before,
    /// The earlier access is a copy that its thread has not waited for.
    InFlight,
    /// The earlier access is complete for its own thread, and nothing orders it before the other.
    Apart,
}

/// The knowledge of warps: for each agent the first epoch that they do not know to be complete.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Knowledge(Vec<u32>);

impl Knowledge {
    /// Joins the knowledge of others: keeps the later epoch of each agent.
    pub fn join(&mut self, other: &Knowledge) {
        self.0.resize(self.0.len().max(other.0.len()), 1);
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
    }

    /// Reports whether this knowledge includes all of `other`.
    pub fn covers(&self, other: &Knowledge) -> bool {
        let mine = |at: usize| self.0.get(at).copied().unwrap_or(1);
        other.0.iter().enumerate().all(|(at, theirs)| mine(at) >= *theirs)
    }
}

/// The number of agents of each warp.
const KINDS: usize = 7;
/// The first agent of signalling copies, in units of the number of warps: that of warp `w` is `SIGNALS * warps + w`.
const SIGNALS: usize = 4;
/// The first agent, in the same units, of signalling copies that a fence of the waiting warp followed.
const FENCED_SIGNALS: usize = 5;
/// The first agent, in the same units, of the waits that warps have passed. A warp that learns of a later event of another warp
/// also learns of these waits.
const WAITS: usize = 6;

/// The clocks of the agents of a block, or of the blocks of a cluster. The blocks number their warps one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clock {
    /// Lanes of a warp.
    lanes: u32,
    /// The number of warps of each block.
    own: usize,
    /// The distance between the first warps of two blocks.
    stride: usize,
    /// The number of places of warps, blocks · `stride`; a block with fewer warps leaves places free. The agents of warp `w`:
    ///
    /// - `w`: the warp itself;
    /// - `warps + w`: its copies;
    /// - `2 · warps + w`, `3 · warps + w`: what fences make visible to the asynchronous proxy, of the warp and of its copies;
    /// - `4 · warps + w`: its copies that signal;
    /// - `5 · warps + w`: those of them that a fence of the waiting warp followed;
    /// - `6 · warps + w`: the waits that the warp has passed.
    ///
    /// The stages of barriers are the last agents.
    warps: usize,
    /// The number of stages of barriers of all blocks.
    stages: usize,
    /// The first epoch that no fence has followed: at `w` of warp `w`, at `warps + w` of its copies.
    fenced: Vec<u32>,
    /// Indexed by agent: the current epoch, from 1 on.
    now: Vec<u32>,
    /// For each warp the first epoch of its copies that its threads have not waited for; then for each warp the first epoch of
    /// its signalling copies that no thread has waited for; then for each stage the first phase that no thread has waited for.
    landed: Vec<u32>,
    /// At `warp · agents + agent`: the first epoch of the agent that the warp does not know of.
    known: Vec<u32>,
    /// Indexed by agent: the least such epoch over all warps of the agent's block.
    known_to_all: Vec<u32>,
    /// Indexed by the number of a warp in its block: the number of its party.
    party: Vec<u32>,
    parties: usize,
}

impl Clock {
    /// Returns the clocks at the start of a block of `threads` threads, with warps of `lanes` lanes.
    pub fn new(threads: u32, lanes: u32) -> Clock {
        Clock::of_cluster(threads, [1, threads], lanes)
    }

    /// Returns the clocks at the start of some blocks of `threads` threads each. `stride` is the number of threads between the
    /// first threads of two blocks, a multiple of whole warps, and of the threads of the widest access.
    pub fn of_cluster(threads: u32, [blocks, stride]: [u32; 2], lanes: u32) -> Clock {
        let (own, stride) = (threads.div_ceil(lanes) as usize, stride.div_ceil(lanes) as usize);
        let warps = blocks as usize * stride;
        let epochs = |count| vec![1; count];
        Clock {
            lanes,
            own,
            stride,
            warps,
            stages: 0,
            fenced: epochs(2 * warps),
            now: epochs(KINDS * warps),
            landed: epochs(2 * warps),
            known: epochs(warps * KINDS * warps),
            known_to_all: epochs(KINDS * warps),
            party: vec![0; stride],
            parties: 1,
        }
    }

    /// Divides the warps into parties: those of each of these sets, and all others. A barrier must join all warps, all warps
    /// of a party, or the lanes of one warp. Then [`crate::Pair`]s, one for each party, stand for all accesses.
    #[must_use]
    pub fn with_parties(mut self, sets: &[Warps]) -> Clock {
        self.parties = sets.len() + 1;
        for (number, set) in sets.iter().enumerate() {
            set.iter().for_each(|warp| self.party[warp] = number as u32 + 1);
        }
        self
    }

    /// Adds an agent for each of the `stages` stages of barriers that bulk copies signal in a block, in every block. Call it
    /// before any event.
    #[must_use]
    pub fn with_stages(mut self, stages: usize) -> Clock {
        self.stages = stages * self.blocks();
        let agents = self.agents();
        self.now.resize(agents, 1);
        self.landed.resize(2 * self.warps + self.stages, 1);
        self.known = vec![1; self.warps * agents];
        self.known_to_all = vec![1; agents];
        self
    }

    /// Returns the number of the warp of a thread.
    #[inline]
    fn warp(&self, thread: u32) -> usize {
        (thread / self.lanes) as usize
    }

    #[inline]
    fn epoch(&self, thread: u32, time: u32, lanes: u16, agent: Agent) -> Epoch {
        Epoch { thread, time, lanes, warp_lanes: self.lanes as u16, agent }
    }

    fn blocks(&self) -> usize {
        self.warps / self.stride.max(1)
    }

    /// Returns the number of agents.
    #[inline]
    fn agents(&self) -> usize {
        KINDS * self.warps + self.stages
    }

    /// Returns the number of parties.
    #[inline]
    pub fn parties(&self) -> usize {
        self.parties
    }

    /// Returns the number of the party whose warps perform an access.
    #[inline]
    pub fn party(&self, epoch: Epoch) -> usize {
        if self.parties == 1 { 0 } else { self.party[epoch.warp() % self.stride] as usize }
    }

    /// Returns the epoch of an access now. `lanes` threads take part: `thread` alone, or the aligned range of that length
    /// around it, whose warps are in the same epoch.
    #[inline]
    pub fn access(&self, thread: u32, lanes: u16) -> Epoch {
        self.epoch(thread, self.now[self.warp(thread)], lanes, Agent::Warp)
    }

    /// Returns the epoch of an asynchronous copy that `thread` issues now.
    #[inline]
    pub fn copy(&self, thread: u32) -> Epoch {
        self.epoch(thread, self.now[self.warps + self.warp(thread)], 1, Agent::Copies)
    }

    /// Returns the epoch of a copy that signals a barrier in memory and that `thread` issues now.
    #[inline]
    pub fn signal(&self, thread: u32) -> Epoch {
        self.epoch(thread, self.now[SIGNALS * self.warps + self.warp(thread)], 1, Agent::Signals)
    }

    /// Returns the epoch of a bulk copy that `thread` issues now and that signals a stage, before `complete` phases of the stage.
    #[inline]
    pub fn fill(&self, thread: u32, stage: usize, complete: u64) -> Epoch {
        self.epoch(thread, complete as u32 + 1, 1, Agent::Stage(stage as u32))
    }

    /// Returns the knowledge that a wait for the phase of a bulk copy adds: the copy is complete.
    pub fn filled(&self, copy: Epoch) -> Knowledge {
        let mut told = Knowledge(vec![1; self.agents()]);
        told.0[self.agent(copy, copy.warp())] = copy.time + 1;
        told
    }

    /// Records that these warps pass a wait now. Returns the epoch of the wait for each warp.
    pub fn pass(&mut self, who: Warps) -> Vec<Epoch> {
        let mut pass = |warp: usize| {
            let now = &mut self.now[WAITS * self.warps + warp];
            *now += 1;
            let time = *now - 1;
            self.epoch(warp as u32 * self.lanes, time, 1, Agent::Waits)
        };
        who.iter().map(&mut pass).collect()
    }

    /// Returns the waits that have been passed, as far as these warps know.
    pub fn passes(&self, who: Warps) -> Knowledge {
        let mut told = Knowledge(vec![1; self.agents()]);
        let waits = WAITS * self.warps..(WAITS + 1) * self.warps;
        for warp in who.iter() {
            let row = &self.known[warp * self.agents()..][waits.clone()];
            told.0[waits.clone()].iter_mut().zip(row).for_each(|(told, known)| *told = (*told).max(*known));
        }
        who.iter().for_each(|warp| told.0[waits.start + warp] = self.now[waits.start + warp]);
        told
    }

    /// Passes a barrier that joins these warps.
    pub fn barrier(&mut self, who: Warps) {
        self.join(who);
        self.find_known_to_all();
    }

    /// Passes a barrier of each of these warps on its own.
    pub fn barrier_each(&mut self, who: Warps) {
        who.iter().for_each(|warp| self.join(Warps { base: warp as u32, set: 1 }));
        self.find_known_to_all();
    }

    fn join(&mut self, who: Warps) {
        let agents = self.agents();
        let mut joined = vec![1; agents];
        for warp in who.iter() {
            let row = &self.known[warp * agents..(warp + 1) * agents];
            joined.iter_mut().zip(row).for_each(|(joined, known)| *joined = (*joined).max(*known));
        }
        for warp in who.iter() {
            self.now[warp] += 1;
            joined[warp] = self.now[warp];
            joined[self.warps + warp] = self.landed[warp];
            joined[2 * self.warps + warp] = self.fenced[warp];
            joined[3 * self.warps + warp] = self.fenced[self.warps + warp];
            joined[WAITS * self.warps + warp] = self.now[WAITS * self.warps + warp];
        }
        for warp in who.iter() {
            self.known[warp * agents..(warp + 1) * agents].copy_from_slice(&joined);
        }
    }

    /// Returns what these warps know and have done up to now, and ends their epoch. A warp that waits for the event passes the result to
    /// [`Clock::acquire`].
    pub fn release(&mut self, who: Warps) -> Knowledge {
        let told = self.releasing(who);
        self.end_epoch(who);
        told
    }

    /// Returns what these warps know and have done up to the end of their epoch, which [`Clock::end_epoch`] must follow before
    /// any other access.
    pub fn releasing(&self, who: Warps) -> Knowledge {
        let mut told = Knowledge(vec![1; self.agents()]);
        for warp in who.iter() {
            let row = &self.known[warp * told.0.len()..(warp + 1) * told.0.len()];
            told.0.iter_mut().zip(row).for_each(|(told, known)| *told = (*told).max(*known));
        }
        for warp in who.iter() {
            told.0[warp] = self.now[warp] + 1;
            told.0[self.warps + warp] = self.landed[warp];
            told.0[2 * self.warps + warp] = self.fenced[warp];
            told.0[3 * self.warps + warp] = self.fenced[self.warps + warp];
            told.0[WAITS * self.warps + warp] = self.now[WAITS * self.warps + warp];
        }
        told
    }

    /// Ends the epoch of these warps.
    pub fn end_epoch(&mut self, who: Warps) {
        who.iter().for_each(|warp| self.now[warp] += 1);
    }

    /// Reports whether `told`, the knowledge that a block with clocks of the same shape released, covers an access of that block.
    pub fn is_told(&self, told: &Knowledge, access: Epoch) -> bool {
        let known =
            |from: usize| told.0.get(self.agent(access, from)).is_some_and(|told| access.time < *told);
        access.warps().all(known)
    }

    /// Advances the epochs of these warps to the latest of them, as an access that spans them needs. No warp learns anything by it.
    pub fn level(&mut self, who: Warps) {
        let latest = who.iter().map(|warp| self.now[warp]).max().unwrap_or(1);
        who.iter().for_each(|warp| self.now[warp] = latest);
    }

    /// Makes these warps know what other warps released.
    pub fn acquire(&mut self, who: Warps, told: &Knowledge) {
        let agents = self.agents();
        for warp in who.iter() {
            let row = &mut self.known[warp * agents..(warp + 1) * agents];
            row.iter_mut().zip(&told.0).for_each(|(known, told)| *known = (*known).max(*told));
        }
        // A signalling copy has arrived as soon as any warp knows of it.
        let (signals, stages) = self.landed[self.warps..].split_at_mut(self.warps);
        let copies = [(signals, SIGNALS), (stages, KINDS)]
            .into_iter()
            .flat_map(|(landed, kind)| landed.iter_mut().zip(told.0.iter().skip(kind * self.warps)));
        copies.for_each(|(landed, told)| *landed = (*landed).max(*told));
        self.find_known_to_all();
    }

    /// Ends the epoch of the signalling copies of these warps: the copies arrive at a barrier in memory when they are complete. Returns
    /// the knowledge that a wait for the barrier adds.
    pub fn signal_arrivals(&mut self, who: Warps) -> Knowledge {
        let mut told = self.passes(who);
        for warp in who.iter() {
            let agent = SIGNALS * self.warps + warp;
            self.now[agent] += 1;
            told.0[agent] = self.now[agent];
        }
        told
    }

    fn find_known_to_all(&mut self) {
        self.known_to_all.fill(u32::MAX);
        let (agents, stages) = (self.agents(), self.stages / self.blocks().max(1));
        let mut lower = |columns: std::ops::Range<usize>, row: &[u32]| {
            let least = self.known_to_all[columns.clone()].iter_mut().zip(&row[columns]);
            least.for_each(|(least, known)| *least = (*least).min(*known));
        };
        for (warp, row) in self.known.chunks_exact(agents).enumerate() {
            if self.stride == self.warps {
                lower(0..agents, row);
                continue;
            }
            // Only accesses of the warp's own block are compared with what all of the block know.
            let (block, number) = (warp / self.stride, warp % self.stride);
            if number < self.own {
                let first = |kind: usize| kind * self.warps + block * self.stride;
                (0..KINDS).for_each(|kind| lower(first(kind)..first(kind) + self.own, row));
                let first = KINDS * self.warps + block * stages;
                lower(first..first + stages, row);
            }
        }
    }

    /// Closes the group of copies of each thread of these warps.
    pub fn commit(&mut self, who: Warps) {
        who.iter().for_each(|warp| self.now[self.warps + warp] += 1);
    }

    /// Makes each thread of these warps wait until at most `groups` of its closed groups are in flight.
    pub fn wait(&mut self, who: Warps, groups: u32) {
        for warp in who.iter() {
            let landed = self.now[self.warps + warp].saturating_sub(groups);
            self.landed[warp] = self.landed[warp].max(landed);
        }
    }

    /// Passes a fence of these warps: their accesses up to now, and copies that they waited for, come before accesses through
    /// the asynchronous proxy that a barrier orders after the fence.
    pub fn fence(&mut self, who: Warps) {
        for warp in who.iter() {
            self.now[warp] += 1;
            self.fenced[warp] = self.now[warp];
            self.fenced[self.warps + warp] = self.landed[warp];
            let row = warp * self.agents();
            let signals = row + SIGNALS * self.warps..row + FENCED_SIGNALS * self.warps;
            self.known.copy_within(signals, row + FENCED_SIGNALS * self.warps);
        }
    }

    /// Reports whether an access needs no fence, or a fence followed it before the barrier by which all threads of `later`
    /// know of it.
    pub fn is_fenced(&self, earlier: Epoch, later: Epoch) -> bool {
        let kind = match earlier.agent {
            Agent::Warp => 2,
            Agent::Copies => 3,
            Agent::Signals => FENCED_SIGNALS,
            // An access through the asynchronous proxy needs no fence, and a wait is no access.
            Agent::Proxy | Agent::Stage(_) | Agent::Waits => return true,
        };
        let knows =
            |to: usize, from: usize| earlier.time < self.known[to * self.agents() + kind * self.warps + from];
        later.warps().all(|to| earlier.warps().all(|from| knows(to, from)))
    }

    /// Returns the order of an earlier access relative to an access in the current epoch `later`.
    #[inline]
    pub fn relation(&self, earlier: Epoch, later: Epoch) -> AccessOrder {
        let from = earlier.warp();
        let spans = earlier.spans_warps() || later.spans_warps();
        let known = match spans {
            false => self.knows(later.warp(), from, earlier),
            true => later.warps().all(|to| earlier.warps().all(|from| self.knows(to, from, earlier))),
        };
        if known {
            AccessOrder::Before
        } else if self.is_in_flight(earlier) {
            AccessOrder::InFlight
        } else if earlier.thread == later.thread && earlier.lanes.max(later.lanes) == 1 && !earlier.signals()
        {
            AccessOrder::Before
        } else {
            AccessOrder::Apart
        }
    }

    /// Reports whether warp `to` knows of the part of warp `from` in an access.
    #[inline]
    fn knows(&self, to: usize, from: usize, earlier: Epoch) -> bool {
        earlier.time < self.known[to * self.agents() + self.agent(earlier, from)]
    }

    /// Returns the number of the agent of warp `from` that performs an access.
    #[inline]
    fn agent(&self, access: Epoch, from: usize) -> usize {
        match access.agent {
            Agent::Warp | Agent::Proxy => from,
            Agent::Copies => self.warps + from,
            Agent::Signals => SIGNALS * self.warps + from,
            Agent::Stage(stage) => KINDS * self.warps + stage as usize,
            Agent::Waits => WAITS * self.warps + from,
        }
    }

    /// Reports whether an access happens before everything that any thread of its block does from now on.
    #[inline]
    pub fn is_known_to_all(&self, earlier: Epoch) -> bool {
        let known = |from: usize| earlier.time < self.known_to_all[self.agent(earlier, from)];
        earlier.warps().all(known)
    }

    /// Reports whether an access is a copy that its thread has not waited for, or a signalling copy that nobody has waited for.
    #[inline]
    pub fn is_in_flight(&self, earlier: Epoch) -> bool {
        match earlier.agent {
            Agent::Warp | Agent::Proxy | Agent::Waits => false,
            Agent::Copies => earlier.time >= self.landed[earlier.warp()],
            Agent::Signals => earlier.time >= self.landed[self.warps + earlier.warp()],
            Agent::Stage(stage) => earlier.time >= self.landed[2 * self.warps + stage as usize],
        }
    }

    /// Returns the largest number of epochs that a warp has ended, by barriers, releases and fences.
    pub fn passed(&self) -> u32 {
        self.now[..self.warps].iter().max().map_or(0, |now| now - 1)
    }

    /// Compares how far two paths of a program have come: by the epochs that all warps know of, then by [`Clock::passed`].
    pub fn compare(&self, other: &Clock) -> Ordering {
        let over = |clock: &Clock| clock.known_to_all[..clock.warps].iter().min().copied();
        over(self).cmp(&over(other)).then(self.passed().cmp(&other.passed()))
    }

    /// Joins the clocks of two paths that meet. `self` must have come at least as far as `other` by [`Clock::compare`]. A group is
    /// complete if both paths waited for it. If both have come equally far, warps keep the knowledge common to both paths. Groups have the
    /// numbers of `self`, even if the other path closed more or fewer.
    pub fn meet(&mut self, other: &Clock) {
        let least = |mine: &mut [u32], theirs: &[u32]| {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).min(*theirs));
        };
        if self.compare(other).is_eq() {
            least(&mut self.known, &other.known);
        }
        least(&mut self.landed, &other.landed);
        // No warp knows of a group that is not complete.
        let agents = self.agents();
        let (copies, others) = self.landed.split_at(self.warps);
        let (signals, stages) = others.split_at(self.warps);
        for row in self.known.chunks_exact_mut(agents) {
            least(&mut row[self.warps..2 * self.warps], copies);
            least(&mut row[SIGNALS * self.warps..FENCED_SIGNALS * self.warps], signals);
            least(&mut row[KINDS * self.warps..], stages);
        }
        self.find_known_to_all();
    }
}
