//! How bytes wait. Knows no protocol, no screen.
//!
//! Output is appended to a bounded, numbered [`Stream`]. A reader is a [`Follower`]: a cursor into it. A
//! socket has a bounded queue, [`Outbound`], of bytes that it has not taken. Whenever the queue has room,
//! the cursor moves forward. Attaching, reconnecting and catching up after a stall are that one rule.

mod deadlines;
mod follower;
mod link;
mod outbound;
mod pace;
mod queued;
mod stream;
mod token_bucket;

pub use deadlines::Deadlines;
pub use follower::{Follower, Step};
pub use link::Link;
pub use outbound::Outbound;
pub use pace::Pace;
pub use queued::Queued;
pub(crate) use stream::cut;
pub use stream::{After, Stream};
pub use token_bucket::TokenBucket;
