//! Box-score stats of a session, and of a team over a game or range.

use crate::table::{Col, Resource, Table, Ty::*, col, concat, key, request, root};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeamStats {
    pub id: i64,
    pub name: String,
    pub logo_image_link: String,
    pub player_stats: Vec<PlayerStats>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayerStats {
    /// 0 for the team's own totals.
    pub id: i64,
    pub player_details: Option<PlayerDetails>,
    pub version: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub games_played: Option<i64>,
    /// Stat code to number, in the service's order.
    pub stats: Map<String, Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayerDetails {
    pub id: i64,
    pub firstname: String,
    pub lastname: String,
    pub profile_image_link: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatsBody {
    pub teams: Vec<TeamStats>,
}

pub static STATS: Resource = Resource {
    name: "stats",
    roots: &[root("teams[]"), root("[]").not_empty()],
    tables: &[&PLAYER_STATS, &BOX_SCORE],
    known: KNOWN,
};

/// The same for one team, which is the body itself.
pub static TEAM_GAME_STATS: Resource = Resource {
    name: "team_game_stats",
    roots: &[root("").needs(&["player_stats[]"]), root("teams[]"), root("[]").not_empty()],
    tables: &[&PLAYER_STATS, &BOX_SCORE],
    known: KNOWN,
};

/// The same two bodies of football.
pub static FOOTBALL_STATS: Resource = Resource { tables: &[&PLAYER_STATS, &FOOTBALL_BOX_SCORE], ..STATS };
pub static FOOTBALL_TEAM_GAME_STATS: Resource =
    Resource { tables: &[&PLAYER_STATS, &FOOTBALL_BOX_SCORE], ..TEAM_GAME_STATS };

const KNOWN: &[&str] =
    &["logo_image_link", "player_stats[].player_details.id", "player_stats[].player_details.profile_image_link"];

pub(super) const SESSION_ID: Col = request("session_id", Text).doc("session of the request");
pub(super) const GAME_ID: Col = request("game_id", Text).doc("game of the request");
pub(super) const TEAM_ID: Col = col("team_id", Int64, "id").required().doc("team");
pub(super) const TEAM_NAME: Col = col("team_name", Text, "name").doc("team name");
pub(super) const PLAYER_ID: Col =
    col("player_id", Int64, "player_stats[].id").required().doc("player; 0 is the team's own total");
pub(super) const FIRST_NAME: Col =
    col("first_name", Text, "player_stats[].player_details.firstname").doc("player's first name");
pub(super) const LAST_NAME: Col =
    col("last_name", Text, "player_stats[].player_details.lastname").doc("player's last name");
pub(super) const IS_TEAM_TOTAL: Col = col("is_team_total", IsTeamTotal, "player_stats[].id")
    .required()
    .doc("true on the team's own totals: never sum them with players");
pub(super) const VERSION: Col =
    col("version", Count, "player_stats[].version").doc("orders the states of a player's line; higher is newer");
const GAMES_PLAYED: Col =
    col("games_played", Count, "player_stats[].games_played").doc("games in the range").unit("games");

/// Whose line it is.
pub(super) const PLAYER: [Col; 10] =
    [SESSION_ID, GAME_ID, TEAM_ID, TEAM_NAME, PLAYER_ID, FIRST_NAME, LAST_NAME, IS_TEAM_TOTAL, VERSION, GAMES_PLAYED];

/// The stat codes with a column of their own, in the object at a path from the row.
macro_rules! stat_codes {
    ($stats:literal) => {
        [
            col("FG", Float64, concat!($stats, ".FG")).doc("field goals made"),
            col("FGA", Float64, concat!($stats, ".FGA")).doc("field goal attempts"),
            col("FG2", Float64, concat!($stats, ".FG2")).doc("two-point field goals made"),
            col("FGA2", Float64, concat!($stats, ".FGA2")).doc("two-point field goal attempts"),
            col("FG3", Float64, concat!($stats, ".FG3")).doc("three-point field goals made"),
            col("FGA3", Float64, concat!($stats, ".FGA3")).doc("three-point field goal attempts"),
            col("FT", Float64, concat!($stats, ".FT")).doc("free throws made"),
            col("FTA", Float64, concat!($stats, ".FTA")).doc("free throw attempts"),
            col("PTS", Float64, concat!($stats, ".PTS")).doc("points"),
            col("AST", Float64, concat!($stats, ".AST")).doc("assists"),
            col("TO", Float64, concat!($stats, ".TO")).doc("turnovers"),
            col("STL", Float64, concat!($stats, ".STL")).doc("steals"),
            col("BLK", Float64, concat!($stats, ".BLK")).doc("blocks"),
            col("REB", Float64, concat!($stats, ".REB")).doc("rebounds"),
            col("OFFENSIVE_REB", Float64, concat!($stats, ".OFFENSIVE_REB")).doc("offensive rebounds"),
            col("DEFENSIVE_REB", Float64, concat!($stats, ".DEFENSIVE_REB")).doc("defensive rebounds"),
            col("FL", Float64, concat!($stats, ".FL")).doc("fouls"),
            col("DIST", Float64, concat!($stats, ".DIST")).unit("cm").doc("distance travelled"),
        ]
    };
}
pub(super) use stat_codes;
pub(super) const STAT_CODES: usize = stat_codes!("").len();

pub(super) static PLAYER_STATS: Table = Table {
    name: "player_stats",
    doc: "One row for each player (or team total) and stat code.",
    rows: "player_stats[].stats{}",
    open: None,
    cols: &LINES,
};
pub(super) const LINES: [Col; 12] = concat(
    PLAYER,
    [
        key("stat", "player_stats[].stats{}").required().doc("stat code"),
        col("value", Float64, "@").doc("value; DIST in cm, the others counts"),
    ],
);

pub(super) static BOX_SCORE: Table = Table {
    name: "box_score",
    doc: "One row for each player (or team total), a column for each stat code; codes not listed here follow by name.",
    rows: "player_stats[]",
    open: Some(".stats"),
    cols: &BOXES,
};
pub(super) const BOXES: [Col; PLAYER.len() + STAT_CODES] = concat(PLAYER, stat_codes!(".stats"));

/// Football's codes are not documented, so its fixed columns are those of the row's key and every code follows by name.
pub(super) static FOOTBALL_BOX_SCORE: Table = Table {
    doc: "One row for each player (or team total); no code of football is documented, so each one of the bodies follows by \
          name.",
    cols: &PLAYER,
    ..BOX_SCORE
};
