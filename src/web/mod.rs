//! What the browser gets: path to type and bytes.
