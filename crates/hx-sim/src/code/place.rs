//! The operation that each step belongs to.

use super::{SiteId, Step};

impl Step {
    /// Returns the operation that the step belongs to; 0 for none.
    pub(crate) fn site(&self) -> SiteId {
        match self {
            Step::SetSlot { site, .. }
            | Step::SetLanes { site, .. }
            | Step::For { site, .. }
            | Step::If { site, .. }
            | Step::While { site, .. }
            | Step::Barrier { site }
            | Step::WarpBarrier { site }
            | Step::Fence { site, .. }
            | Step::CommitProducts { site }
            | Step::WaitProducts { site, .. }
            | Step::Commit { site }
            | Step::Wait { site, .. }
            | Step::BulkCommit { site }
            | Step::BulkWait { site, .. }
            | Step::Await { site, .. }
            | Step::Arrive { site, .. }
            | Step::Expect { site, .. }
            | Step::Log { site, .. }
            | Step::Roles { site, .. }
            | Step::NamedSync { site, .. }
            | Step::NamedArrive { site, .. } => *site,
            Step::SetNumber(number) => number.value.site,
            Step::LoadIndex(load) => load.site,
            Step::ReadIndex(read) => read.site,
            Step::LoadInteger(load) => load.site,
            Step::Transfer(transfer) => transfer.site,
            Step::Multiply(product) => product.site,
            Step::MultiplyAsync(product) => product.site,
            Step::Convert(convert) => convert.site,
            Step::Fill(fill) => fill.site,
            Step::Compute(compute) => compute.value.site,
            Step::LaneExchange(exchange) => exchange.site,
            Step::AsyncCopy(copy) => copy.site,
            Step::BulkLoad { copy, .. } | Step::BulkStore(copy) => copy.site,
            Step::Send(send) => send.site,
            Step::Draw(draw) => draw.site,
            Step::Drawn(drawn) => drawn.site,
            Step::Put(put) => put.site,
        }
    }
}
