#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests stop at the first surprise

mod compare;
#[cfg(test)]
mod differential;
pub(crate) mod fuzz;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod known;
mod oracle;
#[cfg(test)]
mod passed;
