//! Positions to answers: metres and seconds in, columns out. No clock, no I/O, no randomness that is not seeded.
//!
//! | module | content |
//! |---|---|
//! | [`court`] | dimensions that decide what is on court, in the paint, or impossible |
//! | [`track`] | the positions of one object in order, without impossible ones |
//! | [`curve`], [`filter`] | a curve through points; the zero-lag Butterworth filter |
//! | [`motion`], [`loads`] | speeds and accelerations along a track; distances, bands and efforts |
//! | [`frames`] | positions, speeds and accelerations at each frame |
//! | [`session`] | the tracks of a session with its rate, periods and frames |
//! | [`offset`] | the offset between the clock of events and that of positions |
//! | [`lineups`] | the five players of a team on court at a moment |
//! | [`opponents`], [`defenders`] | the nearest opponents at each frame; around a shot |
//! | [`matchups`], [`spacing`] | who guarded whom; how much room a team had |
//! | [`ball`] | touches and passes |
//! | [`recording`], [`quality`] | several sessions: their loads by group; the quality of their shots |
//! | `parallel` | the same work on many tracks at once |
//! | [`intervals`] | Wilson and bootstrap intervals |

pub mod ball;
pub mod court;
pub mod curve;
pub mod defenders;
pub mod filter;
pub mod frames;
pub mod intervals;
pub mod lineups;
pub mod loads;
pub mod matchups;
pub mod motion;
pub mod offset;
pub mod opponents;
mod parallel;
pub mod quality;
pub mod reason;
pub mod recording;
pub mod session;
pub mod spacing;
pub mod track;

/// Without the care of `hypot` for the largest and smallest numbers, which takes longer than all else.
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

#[cfg(test)]
mod tests;
