//! A game, possession by possession.

use super::flow::{Flow, Period, Side};
use super::ids::{Ids, Kind};
use super::rng::Rng;
use super::schedule::MINUTE;

/// The game of a number, from its tipoff on.
pub fn game(seed: u64, ids: Ids, index: usize, tipoff_at: i64, sides: [Side; 2]) -> Flow {
    let mut rng = Rng::keyed(seed, &[0x6A3E, index as u64]);
    let mut at = tipoff_at;
    let mut periods = Vec::new();
    for (part, name) in ["H1", "H2"].into_iter().enumerate() {
        let ended_at = at + rng.within(45 * MINUTE, 55 * MINUTE);
        periods.push(Period {
            id: ids.text(Kind::Period, index as u64, part as u64),
            name: name.to_owned(),
            started_at: at,
            ended_at,
            possessions: Vec::new(),
        });
        at = ended_at;
    }
    Flow { sides, periods }
}
