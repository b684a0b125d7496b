//! The box score of a whole game: what `box_score` of the clients returns.

use super::stats::{STAT_CODES, stat_codes};
use tables::{Col, PlanCache, Resource, Table, Ty::*, col, concat, member};

pub(crate) static GAME_BOX_SCORE: Resource = Resource::of_rows("game_box_score", &[&TABLE]);

/// Football's codes are not documented: all of them follow by name.
pub(crate) static FOOTBALL_GAME_BOX_SCORE: Resource =
    Resource { tables: &[&FOOTBALL_TABLE], cache: PlanCache::new(), ..GAME_BOX_SCORE };

const LINE: [Col; 8] = [
    member("game_id", Text).required().doc("Game id"),
    member("team_id", Int64).required().doc("Team id"),
    member("team_name", Text).doc("Team name"),
    member("player_id", Int64).required().doc("Player id; 0 marks a team total"),
    member("player_name", Text).doc("Name of the player, or \"Team total\""),
    member("is_team_total", Bool)
        .required()
        .doc("Whether the row is a team total, which must not be added to player rows"),
    member("did_not_play", Bool).required().doc("Whether the bodies list the player without counts"),
    member("source", Category)
        .required()
        .doc("Source of the counts: service for its own sum, sessions for those of the sessions"),
];
const COLUMNS: [Col; LINE.len() + STAT_CODES] = concat(LINE, stat_codes!("stats"));

static TABLE: Table = Table {
    name: "game_box_score",
    doc: "One row for each player or team total of a whole game, with a column for each stat code; a code that a row of \
          the game has is 0, not null, for a player who played.",
    rows: "",
    open: Some("stats"),
    cols: &COLUMNS,
};

static FOOTBALL_TABLE: Table = Table { cols: &LINE, ..TABLE };
