//! Draws the plans of kernels that bring tiles through shared memory.

use hx_dtype::DType;
use hx_target::{GemmRow, Target};

use super::super::super::program::{Range, bounds, exact};
use super::super::sheet::Sheet;
use super::plan::{Along, Form, LeftOperand, Length, Out, Plan, Release, Source, Task, Trips, Walk, Work};
use super::work::Scope;

/// Bytes of shared memory that stages may take, and that results may take beside them.
const STAGES: i64 = 150 << 10;
const SLOTS: i64 = 56 << 10;

/// The threads of a warp group.
const GROUP: i64 = 128;

/// Returns a magnitude up to which sums in `dtype` of products of `of` are exact: the accumulators of 8-bit floats keep fewer
/// digits than their type.
fn most(dtype: DType, of: DType) -> i64 {
    if of.bits() == 8 && of.is_float() { 1 << 12 } else { exact(dtype).min(1 << 24) }
}

/// Returns small numbers of a type, up to a magnitude.
fn small(dtype: DType, most: i64) -> Range {
    let (low, high) = bounds(dtype);
    Range::new(low.max(-most), high.min(most))
}

/// Returns the instruction whose types and columns a product takes. Most programs take the families of instructions in turns.
fn instruction(sheet: &mut Sheet) -> &'static GemmRow {
    let rows = Target::usual().rows().gemms.iter().filter(|row| row.is_by_descriptor());
    let mut families: Vec<(String, Vec<&GemmRow>)> = Vec::new();
    for row in rows {
        let family = super::super::super::coverage::family(&row.name);
        match families.iter_mut().find(|(name, _)| *name == family) {
            Some((_, members)) => members.push(row),
            None => families.push((family, vec![row])),
        }
    }
    if sheet.choices.percent(90) {
        let turn = sheet.turn as usize;
        let members = &families[turn % families.len()].1;
        return members[(turn / families.len() * 5) % members.len()];
    }
    let family = sheet.choices.below(families.len());
    let members = &families[family].1;
    members[sheet.choices.below(members.len())]
}

/// Draws a product by descriptor.
pub(crate) fn product(sheet: &mut Sheet) -> Plan {
    let row = instruction(sheet);
    let (a, b, sums) = (row.a.dtype(), row.b.dtype(), row.c.dtype);
    let [_, bn, step] = row.shape;
    let groups = sheet.choices.pick(&[1, 1, 2]).min(if bn > 128 { 1 } else { 2 });
    let (bm, bk) = (64 * groups, step * sheet.choices.pick(&[1, 2, 2, 4]));
    let bk = bk.min(128 * 8 / i64::from(a.bits()));
    let [rows, columns, steps] = [3, 3, 6].map(|most| sheet.choices.between(1, most));
    let left = match sheet.choices.below(8) {
        5 | 6 => LeftOperand::Registers,
        7 if matches!(a, DType::F16 | DType::Bf16) => {
            LeftOperand::Widened(sheet.choices.pick(&[DType::I8, DType::U8, DType::I4, DType::U4]))
        }
        _ => LeftOperand::Shared,
    };
    let walk = walk(sheet);
    let clustered = matches!(walk, Walk::Pairs { .. });
    let trips = if clustered { even_trips(sheet, steps) } else { trips(sheet, steps) };
    let second = (left == LeftOperand::Shared && bn <= 96 && sheet.choices.percent(20))
        .then(|| sheet.choices.pick(&[1, 2, -1]));
    let flight = match left {
        LeftOperand::Shared => sheet.choices.below(3) as i64,
        _ => sheet.choices.below(2) as i64,
    };
    let stored = if let LeftOperand::Widened(narrow) = left { narrow } else { a };
    let turned = [(a, stored), (b, b)]
        .map(|(dtype, stored)| dtype.bits() == 16 && stored.bits() >= 8 && sheet.choices.percent(40));
    let (m, n) = (ragged(sheet, [rows, bm], stored, turned[0]), ragged(sheet, [columns, bn], b, turned[1]));
    let k = ragged_steps(sheet, steps, bk, &[(stored, turned[0]), (b, turned[1])]);
    let mut plan = Plan {
        rows,
        columns,
        steps,
        bm,
        bn,
        bk,
        m,
        n,
        k,
        sources: Vec::new(),
        stages: Vec::new(),
        works: Vec::new(),
        form: Form::Threads { threads: groups * GROUP, stages: 1, plus: 0 },
        walk,
        trips,
        release: sheet.choices.pick(&[Release::Now, Release::Late, Release::Previous]),
    };
    plan.sources = sources(sheet, &plan, &[(stored, turned[0]), (b, turned[1])], second.is_some());
    bound(&mut plan, most(sums, a), second);
    let work = Work::Product { sums, left, flight, second };
    shape(sheet, &mut plan, groups, flight > 1);
    let total = total(&plan, second);
    plan.works = vec![task(sheet, &plan, work, total)];
    plan
}

/// Returns a bound on the magnitude of the product's elements. `second` is the factor of the second product.
fn total(plan: &Plan, second: Option<i64>) -> i64 {
    let [a, b] = [0, 1].map(|i| plan.sources[i].range.magnitude() + plan.plus());
    a * b * plan.bk * plan.most() * (1 + second.map_or(0, i64::abs))
}

/// Narrows the ranges of the sources until the sums over all columns of tiles have a magnitude of at most `most`. `second` is
/// the factor of the second product.
fn bound(plan: &mut Plan, most: i64, second: Option<i64>) {
    for magnitude in [7, 3, 2, 1] {
        for source in &mut plan.sources {
            source.range = small(source.dtype, magnitude);
        }
        // The threads may add 1 on the way.
        let [a, b] = [0, 1].map(|i| plan.sources[i].range.magnitude() + 1);
        if a * b * plan.bk * plan.most() * (1 + second.map_or(0, i64::abs)) * plan.columns <= most {
            return;
        }
    }
}

/// Draws the sources of a product. The last is that of a second product.
fn sources(sheet: &mut Sheet, plan: &Plan, types: &[(DType, bool); 2], second: bool) -> Vec<Source> {
    let apart = sheet.choices.percent(25);
    let mut all = Vec::new();
    for at in 0..if second { 3 } else { 2 } {
        let (dtype, turned) = types[at.min(1)];
        let along = if at == 0 { Along::Rows } else { Along::Columns };
        let multicast = match (plan.walk, along) {
            (Walk::Pairs { .. }, Along::Columns) => Some(0),
            (Walk::Pairs { both: true, .. }, Along::Rows) => Some(1),
            _ => None,
        };
        let ring = usize::from(apart && at > 0);
        let around = around(sheet, dtype);
        let range = Range::new(0, 0);
        all.push(Source { at, dtype, range, along, turned, ring, around, multicast });
    }
    all
}

/// Draws the elements around a tensor: whole pieces of 4 bytes, and often of 16.
fn around(sheet: &mut Sheet, dtype: DType) -> Option<[i64; 2]> {
    if dtype.bits() < 8 || !sheet.choices.percent(25) {
        return None;
    }
    let unit = i64::from(sheet.choices.pick(&[128, 128, 32])) / i64::from(dtype.bits());
    let [before, after] = [(); 2].map(|()| unit.max(1) * sheet.choices.between(0, 2));
    Some([before, after])
}

/// Returns an extent that ends in the last tile. `contiguous` extents of asynchronous copies are whole pieces of 4 bytes.
fn ragged(sheet: &mut Sheet, [tiles, tile]: [i64; 2], dtype: DType, contiguous: bool) -> i64 {
    let unit = if contiguous { (32 / i64::from(dtype.bits())).max(1) } else { 1 };
    let unit = if contiguous { unit * sheet.choices.pick(&[4, 4, 1]) } else { unit };
    let less = match sheet.choices.below(4) {
        0 | 1 => 0,
        2 => unit,
        _ => unit * sheet.choices.between(1, 6),
    };
    if less < tile { tiles * tile - less } else { tiles * tile }
}

/// Draws the extent of all sources along the steps, in elements.
fn ragged_steps(sheet: &mut Sheet, steps: i64, bk: i64, types: &[(DType, bool)]) -> i64 {
    let units = types.iter().filter(|(_, turned)| !turned);
    let unit = units.map(|(dtype, _)| (32 / i64::from(dtype.bits())).max(1)).max().unwrap_or(1);
    let unit = unit * sheet.choices.pick(&[4, 4, 1]);
    let less = match sheet.choices.below(4) {
        0 | 1 => 0,
        2 => unit,
        _ => unit * sheet.choices.between(1, 3),
    };
    if less < bk { steps * bk - less } else { steps * bk }
}

fn walk(sheet: &mut Sheet) -> Walk {
    let blocks = |sheet: &mut Sheet| sheet.choices.percent(50).then(|| sheet.choices.between(1, 3));
    match sheet.choices.below(12) {
        0..3 => Walk::One,
        3..6 => Walk::Persistent(blocks(sheet)),
        6..8 => Walk::Counter(blocks(sheet)),
        8..10 => Walk::Listed,
        10 => Walk::Pairs { both: sheet.choices.percent(40), persistent: false },
        _ => Walk::Pairs { both: false, persistent: true },
    }
}

fn even_trips(sheet: &mut Sheet, steps: i64) -> Trips {
    match sheet.choices.below(3) {
        0 => Trips::Extent,
        1 => Trips::Fixed(sheet.choices.between(1, steps + 1)),
        _ => Trips::Number(sheet.choices.between(0, steps + 1)),
    }
}

fn trips(sheet: &mut Sheet, steps: i64) -> Trips {
    match sheet.choices.below(10) {
        0..2 => Trips::Extent,
        2 => Trips::Fixed(sheet.choices.between(1, steps + 1)),
        3 => Trips::Number(sheet.choices.between(0, steps + 1)),
        4..6 => Trips::Table(sheet.choices.pick(&[
            Length::Equal,
            Length::AtLeast,
            Length::Guarded,
            Length::Clamped,
        ])),
        6 => Trips::Causal,
        7 => Trips::Odd(sheet.choices.pick(&[3, 5])),
        _ => Trips::Between,
    }
}

/// Draws the form of the kernel, and the stages of its rings. `held` says that products in flight still read the stage of the
/// step before.
fn shape(sheet: &mut Sheet, plan: &mut Plan, groups: i64, held: bool) {
    let rings = plan.sources.iter().map(|source| source.ring).max().unwrap_or(0) + 1;
    let bytes = |source: &Source| {
        let [rows, columns] = plan.tile(source);
        rows * columns * i64::from(source.dtype.bits()) / 8
    };
    let all: i64 = plan.sources.iter().map(bytes).sum();
    let fit = (STAGES / all.max(1)).clamp(1, 5);
    plan.stages = (0..rings).map(|_| sheet.choices.between(1, fit)).collect();
    let previous = held || plan.release == Release::Previous;
    let threads = groups * GROUP;
    let plus = if plan.sources[0].dtype.bits() >= 16 { i64::from(sheet.choices.percent(40)) } else { 0 };
    let fewest = |stages: &[i64]| stages.iter().copied().min().unwrap_or(1);
    let kind = match sheet.choices.below(10) {
        _ if plan.is_clustered() => sheet.choices.below(6),
        kind => kind,
    };
    plan.form = match kind {
        7 => Form::Threads { threads, stages: if held { 3 } else { sheet.choices.between(1, 2) }, plus },
        6 if fit >= 2 + i64::from(held) => {
            let stages = sheet.choices.between(2 + i64::from(held), fit);
            plan.stages = vec![stages; rings];
            Form::Groups { threads, ahead: sheet.choices.between(1, stages - 1 - i64::from(held)) }
        }
        4 | 5 => {
            let room = fewest(&plan.stages) - 1 - i64::from(previous);
            if room < 0 {
                plan.stages = vec![2.min(fit); rings];
            }
            let room = fewest(&plan.stages) - 1 - i64::from(previous);
            Form::Together { threads, ahead: sheet.choices.between(0, room.max(0)) }
        }
        8 | 9 if plan.loops() => {
            Form::Turns { groups: sheet.choices.between(1, 2) + 1, counted: sheet.choices.percent(50) }
        }
        _ => Form::Roles {
            split: rings > 1 && sheet.choices.percent(40),
            groups,
            each: sheet.choices.percent(30),
            registers: sheet.choices.percent(30).then_some(40),
        },
    };
    if let (Form::Threads { stages: stages @ 1, .. }, Trips::Fixed(1)) = (&mut plan.form, plan.trips) {
        // With a single step a tile, the barrier that protects a single stage would order nothing: use two stages.
        *stages = 2;
    }
    if previous && fewest(&plan.stages) < 2 && fit >= 2 {
        plan.stages.iter_mut().for_each(|stages| *stages = (*stages).max(2));
    }
}

/// Draws the type and the store of the results of `work`, whose magnitude is at most `total`.
fn task(sheet: &mut Sheet, plan: &Plan, work: Work, total: i64) -> Task {
    let from = work.dtype();
    let others = [from, from, DType::F32, DType::F16, DType::Bf16, DType::I32];
    let to = sheet.choices.pick(&others);
    let is_row = matches!(work, Work::RowSum { .. } | Work::RowMax { .. } | Work::RowArg { .. });
    let adds = matches!(to, DType::F32 | DType::I32 | DType::F16 | DType::Bf16);
    let converts = from.is_float() || to.is_float() || from == to;
    let to = if converts && total * plan.columns <= exact(to) { to } else { from };
    let wide = match work {
        Work::Product { .. } => plan.bn,
        Work::Sum { turned: true, .. } => Scope::of(plan).rows,
        _ => plan.bk,
    };
    let bits = i64::from(to.bits());
    // A box begins at a multiple of 128 bytes of shared memory, and neither slots nor groups have gaps between them.
    let rows = if let Work::Sum { turned: true, .. } = work { plan.bk } else { Scope::of(plan).rows };
    let is_whole = |cut: i64| rows * wide / cut * bits % 1024 == 0;
    let one = !matches!(plan.form, Form::Turns { .. } | Form::Roles { each: true, .. });
    let is_boxed = !is_row && bits >= 16 && wide * bits % 128 == 0 && (one || is_whole(1));
    // Each group of turns has slots of its own.
    let own = if let Form::Turns { groups, .. } = plan.form { groups } else { 1 };
    let room = SLOTS / (plan.bm * wide * bits / 8 * own).max(1);
    let out = match sheet.choices.below(9) {
        2 | 3 if is_boxed && room >= 1 => {
            let most = if is_whole(1) { room.min(3) } else { 1 };
            Out::Boxes { slots: sheet.choices.between(1, most), cut: 1 }
        }
        4 if is_boxed && room >= 1 && wide * bits % 256 == 0 && is_whole(2) => {
            Out::Boxes { slots: 2, cut: 2 }
        }
        5 if is_boxed && room >= 1 && adds && !work.is_stepwise() && total * plan.columns <= exact(to) => {
            let most = if is_whole(1) { room.min(2) } else { 1 };
            Out::BoxesAdded { slots: sheet.choices.between(1, most) }
        }
        6 if adds && !is_row && total * plan.columns <= exact(to) && !work.is_stepwise() => Out::Added,
        7 if !is_row && room >= 1 => Out::Shared,
        8 if !work.is_stepwise() => Out::Turned,
        _ => Out::Direct,
    };
    let around = (!is_row && out != Out::Turned).then(|| around(sheet, to)).flatten();
    Task { work, out, to, around }
}

/// Draws sums, maxima and the like of the steps of a tensor.
pub(crate) fn stream(sheet: &mut Sheet) -> Plan {
    let dtype = sheet.choices.pick(&[
        DType::I32,
        DType::F32,
        DType::F16,
        DType::Bf16,
        DType::I64,
        DType::F64,
        DType::U8,
        DType::I8,
        DType::I4,
        DType::U4,
        DType::U2,
        DType::I2,
        DType::U1,
        DType::F8E4m3,
        DType::F4E2m1,
    ]);
    let groups = sheet.choices.between(1, 3);
    let wide = 256 * 8 / i64::from(dtype.bits()).max(8);
    let bk = sheet.choices.pick(&[wide / 4, wide / 8, wide / 2, wide / 4 + wide / 8]).max(32);
    let bm = groups * sheet.choices.pick(&[4, 1, 8, 16, 3, 7]);
    let [rows, steps] = [4, 6].map(|most| sheet.choices.between(1, most));
    let walk = match walk(sheet) {
        Walk::Pairs { .. } => Walk::One,
        walk => walk,
    };
    let trips = trips(sheet, steps);
    let m = ragged(sheet, [rows, bm], dtype, false);
    let k = ragged_steps(sheet, steps, bk, &[(dtype, false)]);
    let around = around(sheet, dtype);
    let source = Source {
        at: 0,
        dtype,
        range: small(dtype, 3),
        along: Along::Rows,
        turned: false,
        ring: 0,
        around,
        multicast: None,
    };
    let release = sheet.choices.pick(&[Release::Now, Release::Late, Release::Previous]);
    let mut plan = Plan {
        rows,
        columns: 1,
        steps,
        bm,
        bn: bk,
        bk,
        m,
        n: bk,
        k,
        sources: vec![source],
        stages: Vec::new(),
        works: Vec::new(),
        form: Form::Threads { threads: groups * GROUP, stages: 1, plus: 0 },
        walk,
        trips,
        release,
    };
    shape(sheet, &mut plan, groups, false);
    let tasks = if matches!(plan.form, Form::Roles { .. }) && sheet.choices.percent(30) { 2 } else { 1 };
    for _ in 0..tasks {
        let (work, total) = reading(sheet, &plan);
        let task = task(sheet, &plan, work, total);
        plan.works.push(task);
    }
    plan
}

/// Draws the work on the tiles of a tensor, with the largest magnitude of its results.
fn reading(sheet: &mut Sheet, plan: &Plan) -> (Work, i64) {
    let from = plan.sources[0].dtype;
    let dtype = match from {
        _ if from.bits() > 8 => from,
        _ if from.is_float() => DType::F32,
        _ => sheet.choices.pick(&[DType::I32, DType::F32]),
    };
    let magnitude = plan.sources[0].range.magnitude() + plan.plus();
    let (each, all) = (magnitude * plan.most(), magnitude * plan.most() * plan.bk);
    let factor = sheet.choices.pick(&[1, 2, 3]);
    let fits = all <= exact(dtype);
    match sheet.choices.below(9) {
        0..2 => (Work::Sum { dtype, turned: false, factor }, each * factor),
        2 => (Work::Sum { dtype, turned: from.bits() >= 8, factor }, each * factor),
        3 if fits => (Work::RowSum { dtype }, all),
        4 => (Work::RowMax { dtype }, magnitude.max(super::work::LOWEST.abs())),
        5 => (Work::RowArg { dtype }, 1 << 12),
        6 if fits => (Work::Carry { dtype }, all),
        _ => (Work::Each { dtype, factor }, magnitude * factor),
    }
}
