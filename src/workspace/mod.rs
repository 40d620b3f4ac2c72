//! What surrounds terminals: plain values and changes.

pub mod events;
pub mod panes;

pub use events::{Event, EventLog, Since};
pub use panes::{Change, Pane, PaneKey, Registry, RegistryError, Workspace};
