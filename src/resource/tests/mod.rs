#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // tests stop at the first surprise

#[cfg(test)]
mod catalogue;
mod compare;
#[cfg(test)]
mod differential;
#[cfg(test)]
mod examples;
pub(crate) mod fuzz;
#[cfg(test)]
mod generator;
mod oracle;
#[cfg(test)]
mod skipping;
