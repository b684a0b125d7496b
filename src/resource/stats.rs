//! Box-score stats of a session, and of a team over a game or range.

use tables::{Col, PlanCache, Resource, Table, Ty::*, col, concat, key, request, root, table};

pub(crate) static STATS: Resource =
    Resource::new("stats", &[root("teams[]"), root("[]").not_empty()], &[&PLAYER_STATS, &BOX_SCORE]).paths(KNOWN_PATHS);

/// The same for one team, which is the body itself.
pub(crate) static TEAM_GAME_STATS: Resource = Resource::new(
    "team_game_stats",
    &[root("").needs(&["player_stats[]"]), root("teams[]"), root("[]").not_empty()],
    &[&PLAYER_STATS, &BOX_SCORE],
)
.paths(KNOWN_PATHS);

/// The same two bodies of football.
pub(crate) static FOOTBALL_STATS: Resource =
    Resource { tables: &[&PLAYER_STATS, &FOOTBALL_BOX_SCORE], cache: PlanCache::new(), ..STATS };
pub(crate) static FOOTBALL_TEAM_GAME_STATS: Resource =
    Resource { tables: &[&PLAYER_STATS, &FOOTBALL_BOX_SCORE], cache: PlanCache::new(), ..TEAM_GAME_STATS };

pub(super) const KNOWN_PATHS: &[&str] =
    &["logo_image_link", "player_stats[].player_details.id", "player_stats[].player_details.profile_image_link"];

pub(super) const SESSION_ID: Col = request("session_id", Text).doc("Id of the requested session");
pub(super) const GAME_ID: Col = request("game_id", Text).doc("Id of the requested game");
pub(super) const TEAM_ID: Col = col("team_id", Int64, "id").required().doc("Team id");
pub(super) const TEAM_NAME: Col = col("team_name", Text, "name").doc("Team name");
pub(super) const PLAYER_ID: Col =
    col("player_id", Int64, "player_stats[].id").required().doc("Player id; 0 marks a team total");
pub(super) const FIRST_NAME: Col =
    col("first_name", Text, "player_stats[].player_details.firstname").doc("First name of the player");
pub(super) const LAST_NAME: Col =
    col("last_name", Text, "player_stats[].player_details.lastname").doc("Last name of the player");
pub(super) const IS_TEAM_TOTAL: Col = col("is_team_total", IsTeamTotal, "player_stats[].id")
    .required()
    .doc("Whether the row is a team total, which must not be added to player rows");
pub(super) const VERSION: Col =
    col("version", Count, "player_stats[].version").doc("Version of the player's stats; the higher version is newer");
const GAMES_PLAYED: Col = col("games_played", Count, "player_stats[].games_played")
    .doc("Number of games in the requested range")
    .unit("games");

/// The player or team of a line.
pub(super) const PLAYER: [Col; 10] =
    [SESSION_ID, GAME_ID, TEAM_ID, TEAM_NAME, PLAYER_ID, FIRST_NAME, LAST_NAME, IS_TEAM_TOTAL, VERSION, GAMES_PLAYED];

/// The stat codes with a column of their own, in the object at a path from the row.
macro_rules! stat_codes {
    ($stats:literal) => {
        [
            col("FG", Float64, concat!($stats, ".FG")).doc("Field goals made, three-pointers included"),
            col("FGA", Float64, concat!($stats, ".FGA")).doc("Field goal attempts, three-pointers included"),
            col("FG2", Float64, concat!($stats, ".FG2")).doc("Two-point field goals made"),
            col("FGA2", Float64, concat!($stats, ".FGA2")).doc("Two-point field goal attempts"),
            col("FG3", Float64, concat!($stats, ".FG3")).doc("Three-point field goals made"),
            col("FGA3", Float64, concat!($stats, ".FGA3")).doc("Three-point field goal attempts"),
            col("FT", Float64, concat!($stats, ".FT")).doc("Free throws made"),
            col("FTA", Float64, concat!($stats, ".FTA")).doc("Free throw attempts"),
            col("PTS", Float64, concat!($stats, ".PTS")).doc("Points"),
            col("AST", Float64, concat!($stats, ".AST")).doc("Assists"),
            col("TO", Float64, concat!($stats, ".TO")).doc("Turnovers"),
            col("STL", Float64, concat!($stats, ".STL")).doc("Steals"),
            col("BLK", Float64, concat!($stats, ".BLK")).doc("Blocks"),
            col("REB", Float64, concat!($stats, ".REB")).doc("Rebounds, offensive and defensive"),
            col("OFFENSIVE_REB", Float64, concat!($stats, ".OFFENSIVE_REB")).doc("Offensive rebounds"),
            col("DEFENSIVE_REB", Float64, concat!($stats, ".DEFENSIVE_REB")).doc("Defensive rebounds"),
            col("FL", Float64, concat!($stats, ".FL")).doc("Fouls"),
            col("DIST", Float64, concat!($stats, ".DIST")).unit("cm").doc("Distance travelled"),
        ]
    };
}
pub(super) use stat_codes;
pub(super) const STAT_CODES: usize = stat_codes!("").len();

pub(super) static PLAYER_STATS: Table = table("player_stats", "player_stats[].stats{}")
    .doc("One row for each player or team total and stat code.")
    .columns(&LINES);
pub(super) const LINES: [Col; 12] = concat(
    PLAYER,
    [
        key("stat", "player_stats[].stats{}").required().doc("Stat code, such as FGA or PTS"),
        col("value", Float64, "@").doc("Value of the stat; DIST in cm, other codes are counts"),
    ],
);

pub(super) static BOX_SCORE: Table = Table {
    name: "box_score",
    doc: "One row for each player or team total, with a column for each stat code; unlisted codes follow in order of name.",
    rows: "player_stats[]",
    open: Some(".stats"),
    cols: &BOXES,
};
pub(super) const BOXES: [Col; PLAYER.len() + STAT_CODES] = concat(PLAYER, stat_codes!(".stats"));

/// Football's codes are not documented, so its fixed columns are those of the row's key and every code follows by name.
pub(super) static FOOTBALL_BOX_SCORE: Table = Table {
    doc: "One row for each player or team total; no code of football is documented, so all codes follow in order of \
          name.",
    cols: &PLAYER,
    ..BOX_SCORE
};
