//! The extension module `sideline._core`. Optimisation across crates has this crate's level, and not that of `crates/python`.

pub use sideline_python::_core;
