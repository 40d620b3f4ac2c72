//! Thin: one system call's worth per function. Knows nothing of terminals or protocols.

pub mod git;
pub mod listen;
pub mod lock;
pub mod metadata;
pub mod new_file;
pub mod proc;
pub mod programs;
pub mod pty;
pub mod shell_integration;
pub mod signals;
pub mod spawn;
pub mod state;
