//! How a side plays in a game.

use super::figures::form;
use super::rng::Rng;

/// How a side plays in a game: shifts of probabilities in permille, drawn for each game.
pub(super) struct Form {
    pub(super) pace: i64,
    pub(super) threes: i64,
    pub(super) corners: i64,
    pub(super) long_twos: i64,
    pub(super) beyond_5_m: i64,
    pub(super) touch: i64,
    pub(super) free_throws: i64,
    pub(super) boards: i64,
    pub(super) turnovers: i64,
    pub(super) steals: i64,
    pub(super) fouls: i64,
    pub(super) blocks: i64,
    pub(super) assists: i64,
}

impl Form {
    /// `touch`: how much better it is than the other side; `pace`: that of the game.
    pub(super) fn draw(rng: &mut Rng, touch: i64, pace: i64) -> Self {
        let threes = rng.bell(form::THREES);
        Form {
            pace: pace + rng.bell(form::PACE * 2 / 3),
            threes,
            corners: rng.bell(form::CORNERS) - threes * form::CORNERS_BY_THREES / 100,
            long_twos: rng.bell(form::LONG_TWOS) - threes * form::LONG_TWOS_BY_THREES / 100,
            beyond_5_m: rng.bell(form::BEYOND_5_M),
            touch: touch + rng.bell(form::TOUCH),
            free_throws: rng.bell(form::FREE_THROWS),
            boards: rng.bell(form::BOARDS),
            turnovers: rng.bell(form::TURNOVERS),
            steals: rng.bell(form::STEALS),
            fouls: rng.bell(form::FOULS),
            blocks: rng.bell(form::BLOCKS),
            assists: rng.bell(form::ASSISTS),
        }
    }
}

/// Permille of a chance that a form multiplies.
pub(super) fn scale(chance: i64, form: i64) -> i64 {
    chance * (1000 + form).max(100) / 1000
}
