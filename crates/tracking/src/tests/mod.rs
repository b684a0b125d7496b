//! The goals of `docs/tracking.md`, on analytic paths.

mod cleaning;
mod distances;
mod paths;
