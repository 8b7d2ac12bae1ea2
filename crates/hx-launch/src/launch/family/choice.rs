//! The members of a family for one launch, with their times or the reasons against them.

use hx_hir::Member;
use serde::{Deserialize, Serialize};

/// The member that a launch of a kernel with a family runs, and the others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Choice {
    /// The members that were measured, then those that were only estimated, then those that the launch does not fit; fastest first.
    pub members: Vec<Considered>,
}

/// A member that a choice considered.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Considered {
    /// The position in the family.
    pub(super) index: usize,
    /// The member as `gemm_split<BN = 128>`.
    pub name: String,
    pub fit: Fit,
}

/// The time of a launch with a member, or the reason why the launch does not fit it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Fit {
    /// Microseconds by the cost model.
    Estimated(f64),
    /// Microseconds on the GPU, and by the cost model.
    Measured { micros: f64, estimate: f64 },
    /// The reason why the launch does not fit the member.
    Unfit(String),
}

impl Fit {
    /// Orders measured members before estimated ones, and those before members that do not fit.
    fn rank(&self) -> (u8, f64) {
        match self {
            Fit::Measured { micros, .. } => (0, *micros),
            Fit::Estimated(micros) => (1, *micros),
            Fit::Unfit(_) => (2, 0.0),
        }
    }
}

impl Considered {
    /// Returns the time in microseconds by which the member was compared; `None` if the launch does not fit it.
    pub fn micros(&self) -> Option<f64> {
        match self.fit {
            Fit::Estimated(micros) | Fit::Measured { micros, .. } => Some(micros),
            Fit::Unfit(_) => None,
        }
    }

    /// Returns the microseconds by the cost model; `None` if the launch does not fit the member.
    pub fn estimate(&self) -> Option<f64> {
        match self.fit {
            Fit::Estimated(estimate) | Fit::Measured { estimate, .. } => Some(estimate),
            Fit::Unfit(_) => None,
        }
    }

    /// Returns the member among those of the family.
    pub fn of<'m>(&self, members: &'m [Member]) -> Option<&'m Member> {
        members.get(self.index)
    }

    /// Formats the member and its time.
    fn with_time(&self) -> String {
        format!("`{}`, {:.1} µs", self.name, self.micros().unwrap_or(f64::INFINITY))
    }
}

impl Choice {
    /// Orders members by their times. Members of equal times keep the order of the family.
    pub(super) fn of(mut members: Vec<Considered>) -> Choice {
        members.sort_by(|a, b| {
            let ((class, micros), (other_class, other)) = (a.fit.rank(), b.fit.rank());
            class.cmp(&other_class).then(micros.total_cmp(&other))
        });
        Choice { members }
    }

    /// Returns the member that the launch runs; `None` if the launch fits none, so that the kernel itself runs.
    pub fn first(&self) -> Option<&Considered> {
        self.fitting().next()
    }

    /// Returns the members that the launch fits, fastest first.
    pub fn fitting(&self) -> impl Iterator<Item = &Considered> {
        self.members.iter().filter(|member| member.micros().is_some())
    }

    /// Reports whether the choice is of a family of this many members.
    pub(super) fn is_of(&self, members: usize) -> bool {
        self.members.len() == members && self.members.iter().all(|member| member.index < members)
    }

    /// Reports whether members were measured.
    pub fn is_measured(&self) -> bool {
        self.measured() > 0
    }

    /// Returns the number of measured members.
    fn measured(&self) -> usize {
        self.members.iter().filter(|member| matches!(member.fit, Fit::Measured { .. })).count()
    }

    /// Says in one line which member of `head`'s family the launch runs, and which one is next.
    pub fn remark(&self, head: &str) -> String {
        let mut fitting = self.fitting();
        let Some(first) = fitting.next() else {
            return format!("`{head}` runs itself, because no member of its family fits the launch");
        };
        let next = fitting.next().map(|next| format!("; next is {}", next.with_time())).unwrap_or_default();
        let (by, among) = match (self.measured(), self.fitting().count()) {
            (0, 1) => ("by the cost model", "the one member of its family that fits".to_owned()),
            (0, fit) => ("by the cost model", format!("the fastest of {fit} members of its family that fit")),
            (measured, fit) => (
                "as measured",
                format!("the fastest of {measured} measured, of {fit} members of its family that fit"),
            ),
        };
        format!("`{head}` runs as {} {by}, {among}{next}", first.with_time())
    }

    /// Lists all members, one a line: the time, how far it is from the fastest, or the reason against the member.
    pub fn table(&self) -> String {
        let best = self.first().and_then(Considered::micros).unwrap_or(1.0);
        let width = self.members.iter().map(|member| member.name.len()).max().unwrap_or(0);
        let line = |member: &Considered| match &member.fit {
            Fit::Estimated(micros) => {
                format!("{micros:>10.1} µs  {:>5.2}  {:width$}  estimated", micros / best, member.name)
            }
            Fit::Measured { micros, estimate } => format!(
                "{micros:>10.1} µs  {:>5.2}  {:width$}  measured, {estimate:.1} µs by the cost model",
                micros / best,
                member.name
            ),
            Fit::Unfit(reason) => format!("{:>10}             {:width$}  {reason}", "-", member.name),
        };
        self.members.iter().map(|member| line(member).trim_end().to_owned() + "\n").collect()
    }
}
