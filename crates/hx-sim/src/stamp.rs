//! The agent and the time of an access to global memory.

use hx_thread::{Clock, Epoch};

use crate::between::Heard;
use crate::code::SiteId;

/// The time and operation of an access to a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccessStamp<'c> {
    pub(crate) site: SiteId,
    pub(crate) epoch: Epoch,
    /// The number of the run of its block: of the block, or of its cluster.
    pub(crate) run: u32,
    /// `None` if races are not checked.
    pub(crate) clock: Option<&'c Clock>,
    /// The messages of other blocks that the run has acquired; `None` if blocks do not communicate.
    pub(crate) heard: Option<&'c Heard>,
}

/// Makes the [`AccessStamp`] of an access by a block, in an operation, at an epoch. A macro borrows single fields of the block, so that
/// its overlays can be changed at the same time.
macro_rules! stamp {
    ($block:expr, $site:expr, $epoch:expr) => {
        $crate::stamp::AccessStamp {
            epoch: $epoch,
            site: $site,
            run: $block.run,
            clock: $block.config.check_races.then_some(&$block.clock),
            heard: $block.world.as_ref().and_then(|world| world.heard.get(&$block.run)),
        }
    };
}
pub(crate) use stamp;
