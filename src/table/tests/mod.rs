#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests stop at the first surprise

mod differential;
mod generator;
mod known;
mod oracle;
