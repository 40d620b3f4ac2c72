//! What surrounds terminals: plain values and changes.

pub mod auto_continue;
pub mod events;
pub mod metadata;
pub mod notifications;
pub mod panels;
pub mod panes;
pub mod plans;
pub mod settings;
pub mod sidebar;

pub use events::{Event, EventLog, Since};
pub use panes::{Change, Pane, PaneKey, Registry, RegistryError, Workspace};
