//! The goals of `docs/tracking.md`, on analytic paths.

mod cleaning;
mod distances;
mod intervals;
mod named_defenders;
mod paths;
mod sessions;
mod standing;
mod symmetries;
mod teams;
mod touches;
