//! How bytes wait. Knows no protocol, no screen.
