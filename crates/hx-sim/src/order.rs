//! A drawn or a fixed order of choices, which follows from a seed.

/// The most steps that an agent makes at once if the order is drawn.
const MOST_STEPS: u64 = 48;

/// Chooses the agent that runs.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    choice: Choice,
    /// Steps until another choice.
    pub(crate) left: u64,
}

#[derive(Clone, Debug)]
enum Choice {
    Lowest,
    Highest,
    /// The state of a generator of random numbers; never 0.
    Drawn(u64),
}

impl Order {
    pub(crate) fn new(seed: u64, block: [u32; 3]) -> Order {
        let choice = match seed {
            0 => Choice::Lowest,
            1 => Choice::Highest,
            seed => {
                let mix = |state: u64, part: u64| {
                    (state ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
                };
                Choice::Drawn(block.iter().fold(mix(seed, 1), |state, i| mix(state, u64::from(*i))) | 1)
            }
        };
        let mut order = Order { choice, left: 0 };
        order.begin();
        order
    }

    /// Returns a number below `count`, and 0 unless the order is drawn.
    pub(crate) fn draw(&mut self, count: u64) -> u64 {
        let Choice::Drawn(state) = &mut self.choice else { return 0 };
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state % count
    }

    pub(crate) fn begin(&mut self) {
        self.left = match self.choice {
            Choice::Lowest | Choice::Highest => u64::MAX,
            Choice::Drawn(_) => 1 + self.draw(MOST_STEPS),
        };
    }

    /// Counts a step of the running agent. Returns true if its turn ends, which it never does inside of a print or an
    /// assertion.
    pub(crate) fn ends_turn(&mut self, is_logging: bool) -> bool {
        self.left -= 1;
        let ends = self.left == 0 && !is_logging;
        self.left = self.left.max(1);
        ends
    }

    /// Chooses one of the agents with these numbers. Returns its position in `numbers`.
    pub(crate) fn choose(&mut self, numbers: &[usize]) -> usize {
        let by_number = |at: &usize| numbers[*at];
        let at = match self.choice {
            Choice::Lowest => (0..numbers.len()).min_by_key(by_number),
            Choice::Highest => (0..numbers.len()).max_by_key(by_number),
            Choice::Drawn(_) => Some(self.draw(numbers.len() as u64) as usize),
        };
        at.unwrap_or(0)
    }
}
