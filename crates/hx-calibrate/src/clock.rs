//! The frequency of the clock while other kernels are timed: it turns their times into cycles.

/// The name of the kernel that measures the clock.
pub const CLOCK_SYMBOL: &str = "clock_rate";
/// Bytes of its argument, zero at the start.
pub const CLOCK_BYTES: u64 = 24;

/// The CUDA text of a kernel of one thread. It runs for some microseconds, and adds to its argument the cycles, the nanoseconds,
/// and 1. Run in turns with other kernels, it tells the frequency that they had.
pub const CLOCK_TEXT: &str = r#"
extern "C" __global__ void clock_rate(long long *sums) {
    long long from, until, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    // The timer of some devices advances in steps: begin and end at one.
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(from)); } while (from == now);
    long long start = clock64();
    do { asm volatile("mov.u64 %0, %globaltimer;" : "=l"(until)); } while (until - from < 20000);
    long long end = clock64();
    sums[0] += end - start;
    sums[1] += until - from;
    sums[2] += 1;
}
"#;

/// The sums that the kernel wrote.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    pub cycles: i64,
    pub nanoseconds: i64,
    pub launches: i64,
}

impl Clock {
    /// Reads the sums; `None` if the kernel did not run.
    pub fn read(bytes: &[u8]) -> Option<Clock> {
        let word = |at: usize| Some(i64::from_le_bytes(bytes.get(at * 8..at * 8 + 8)?.try_into().ok()?));
        let clock = Clock { cycles: word(0)?, nanoseconds: word(1)?, launches: word(2)? };
        (clock.launches > 0 && clock.nanoseconds > 0).then_some(clock)
    }

    /// Returns the cycles of a microsecond.
    pub fn rate(&self) -> f64 {
        1e3 * self.cycles as f64 / self.nanoseconds as f64
    }
}
