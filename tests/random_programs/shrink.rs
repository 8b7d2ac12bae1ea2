//! Shrinks a failing program by removing steps and features.

use super::draw_places::Place;
use super::draw_views::View;
use super::program::{Feed, Input, LoadPath, Op, Program, Start, Store};

/// Returns the smallest program found that still fails. It removes steps with all steps that depend on them, and simplifies the
/// rest.
pub(super) fn shrink(program: &Program, mut fails: impl FnMut(&Program) -> bool) -> Program {
    let mut best = program.clone();
    loop {
        let before = (best.kept().count(), plainness(&best));
        for at in (0..best.steps.len()).rev() {
            let smaller = without(&best, at);
            if best.steps[at].kept && smaller.kept().count() > 0 && fails(&smaller) {
                best = smaller;
            }
        }
        for candidate in plainer(&best) {
            let mut next = best.clone();
            candidate(&mut next);
            if plainness(&next) < plainness(&best) && fails(&next) {
                best = next;
            }
        }
        if (best.kept().count(), plainness(&best)) == before {
            return best;
        }
    }
}

/// Returns the program without a step and without the steps that use its tile. If the step's operand has the same shape and type
/// and no larger range, the later steps stay and use the operand instead.
fn without(program: &Program, at: usize) -> Program {
    let mut smaller = program.clone();
    let step = &program.steps[at];
    let stand_in = step.from.first().copied().filter(|&from| {
        let (a, b) = (program.steps[from].value, step.value);
        a.shape == b.shape
            && a.dtype == b.dtype
            && a.range.magnitude() <= b.range.magnitude()
            && a.range.low >= b.range.low
    });
    smaller.steps[at].kept = false;
    for later in at + 1..smaller.steps.len() {
        let step = &mut smaller.steps[later];
        if let Some(from) = stand_in {
            step.from.iter_mut().filter(|taken| **taken == at).for_each(|taken| *taken = from);
        }
        let from = step.from.clone();
        if from.iter().any(|&from| !smaller.steps[from].kept) {
            smaller.steps[later].kept = false;
        }
    }
    smaller
}

type Change = Box<dyn Fn(&mut Program)>;

fn plainer(program: &Program) -> Vec<Change> {
    let mut changes: Vec<Change> = vec![Box::new(|p| p.blocks = 1), Box::new(|p| p.roles = false)];
    for at in 0..program.steps.len() {
        changes.push(Box::new(move |p| p.steps[at].store = Store::Direct));
        changes.push(Box::new(move |p| p.steps[at].stored = p.steps[at].value.shape));
        changes.push(Box::new(move |p| (p.steps[at].margin, p.steps[at].place) = (None, None)));
        changes.push(Box::new(move |p| {
            if let Op::Load { input, path } = &mut p.steps[at].op {
                *path = LoadPath::Load;
                plain(input);
            }
        }));
        changes.push(Box::new(move |p| {
            if let Op::Product { a, b, .. } | Op::Batch { a, b, .. } = &mut p.steps[at].op {
                plain(a);
                plain(b);
            }
        }));
        changes.push(Box::new(move |p| {
            if let Op::Product { asynchronous, .. } = &mut p.steps[at].op {
                *asynchronous = false;
            }
        }));
        changes.push(Box::new(move |p| match &mut p.steps[at].op {
            Op::Gemm { staged, places, walk, .. } => {
                (*staged, *places, *walk) = ([false; 2], [None; 2], None);
            }
            Op::Product { feed, asynchronous, .. } => {
                (*feed, *asynchronous) = (Feed::Registers, false);
            }
            Op::Batch { staged, .. } => *staged = false,
            Op::Stage { pin, place, .. } => (*pin, *place) = (None, None),
            Op::Fill { pin, .. } => *pin = None,
            Op::Window { start, .. } => *start = Start::Written,
            Op::Rearrange { layout } => *layout = None,
            Op::Placed(Place::Scatter { shared, .. } | Place::Atomic { shared, .. }) => *shared = true,
            Op::Viewed(View::Halo { launched, .. } | View::Windows { launched, .. }) => *launched = false,
            Op::Viewed(View::Pixels { launched, .. }) => *launched = false,
            Op::Viewed(View::Guarded { of_block, .. }) => *of_block = false,
            _ => {}
        }));
    }
    changes
}

fn plain(input: &mut Input) {
    let fits = input.pad.is_none_or(|pad| (input.range.low..=input.range.high).contains(&pad));
    input.pad = input.pad.filter(|_| !fits);
    input.extent = input.tile;
    (input.transposed, input.around) = (false, None);
    (input.skip, input.place) = (None, None);
}

/// Returns the number of features that can still be simplified.
fn plainness(program: &Program) -> usize {
    let of = |input: &Input| {
        usize::from(input.pad.is_some())
            + usize::from(input.extent != input.tile)
            + usize::from(input.transposed)
            + usize::from(input.around.is_some())
            + usize::from(input.skip.is_some())
            + usize::from(input.place.is_some())
    };
    let steps = program.kept().map(|(_, step)| {
        let op = match &step.op {
            Op::Load { input, path } => of(input) + usize::from(*path != LoadPath::Load),
            Op::Product { a, b, feed, asynchronous, .. } => {
                of(a) + of(b) + usize::from(*feed != Feed::Registers) + usize::from(*asynchronous)
            }
            Op::Batch { a, b, .. } => of(a) + of(b),
            Op::Gemm { staged, places, walk, .. } => {
                usize::from(*staged != [false; 2])
                    + usize::from(*places != [None; 2])
                    + usize::from(walk.is_some())
            }
            Op::Stage { pin, place, .. } => usize::from(pin.is_some()) + usize::from(place.is_some()),
            Op::Fill { pin, .. } => usize::from(pin.is_some()),
            Op::Window { start, .. } => usize::from(*start != Start::Written),
            Op::Rearrange { layout } => usize::from(layout.is_some()),
            Op::Placed(Place::Scatter { shared, .. } | Place::Atomic { shared, .. }) => usize::from(!shared),
            Op::Viewed(View::Halo { launched, .. } | View::Windows { launched, .. }) => {
                usize::from(*launched)
            }
            Op::Viewed(View::Pixels { launched, .. }) => usize::from(*launched),
            Op::Viewed(View::Guarded { of_block, .. }) => usize::from(*of_block),
            _ => 0,
        };
        op + usize::from(step.store != Store::Direct)
            + usize::from(step.stored != step.value.shape)
            + usize::from(step.margin.is_some())
            + usize::from(step.place.is_some())
    });
    steps.sum::<usize>() + program.blocks as usize + usize::from(program.roles)
}
