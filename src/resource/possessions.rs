//! Possessions of a session.

use tables::{Col, Resource, Table, Ty::*, col, index, request, root, table};

pub(crate) static POSSESSIONS: Resource =
    Resource::new("possessions", &[root("teams[]"), root("[]").not_empty()], &[&TABLE, &EVENTS, &PLAYERS])
        .paths(&["logo_image_link"]);

const SESSION_ID: Col =
    request("session_id", Text).required().doc("Session id, from the request if the response has none");
const GAME_ID: Col = request("game_id", Text).doc("Id of the requested game");
const TEAM_ID: Col = col("team_id", Int64, "id").required().doc("Team id");
const POSSESSION: Col = index("possession", "possessions[]").doc("Position in the team's list of possessions, from 0");

/// A counter of the attributes; all are declared alike.
macro_rules! count {
    ($name:literal, $doc:literal) => {
        col($name, Count, concat!(".possession_attributes.", $name)).doc($doc)
    };
}
pub(super) static TABLE: Table =
    table("possessions", "possessions[]").doc("One row for each possession of a team.").columns(&COLUMNS);
pub(super) const COLUMNS: [Col; 43] = [
    SESSION_ID,
    GAME_ID,
    TEAM_ID,
    col("team_name", Text, "name").doc("Team name"),
    POSSESSION,
    col("start_timestamp", TimestampMs, ".start_timestamp").doc("Start of the possession"),
    col("end_timestamp", TimestampMs, ".end_timestamp").doc("End of the possession"),
    col("start_game_clock", Text, ".start_game_clock").doc("Game clock at the start, as sent"),
    col("start_game_clock_s", ClockSeconds, ".start_game_clock").doc("Time left in the period at the start"),
    col("end_game_clock", Text, ".end_game_clock").doc("Game clock at the end, as sent"),
    col("end_game_clock_s", ClockSeconds, ".end_game_clock").doc("Time left in the period at the end"),
    col("period", Category, ".period").doc("Period, such as Q1 or H1"),
    col("player_ids", ListInt64, ".player_ids").doc("Ids of the team's players on court"),
    col("opposing_player_ids", ListInt64, ".opposing_player_ids").doc("Ids of the opponent's players on court"),
    col("lineup_id", LineupId, ".player_ids").doc("Lineup of the team: player_ids, sorted and joined by hyphens"),
    col("opposing_lineup_id", LineupId, ".opposing_player_ids")
        .doc("Lineup of the opponent: opposing_player_ids, sorted and joined by hyphens"),
    count!("turnover", "Number of turnovers"),
    count!("passes", "Number of passes"),
    col("half_court", Bool, ".possession_attributes.half_court").doc("Whether the possession had a half-court offence"),
    col("paint_touch", Bool, ".possession_attributes.paint_touch").doc("Whether the possession had a paint touch"),
    count!("ball_reversals", "Number of ball reversals"),
    count!("ball_screens", "Number of ball screens of all kinds"),
    count!("ball_screens_left_wing", "Number of ball screens on the left wing"),
    count!("ball_screens_middle_wing", "Number of ball screens in the middle"),
    count!("ball_screens_right_wing", "Number of ball screens on the right wing"),
    count!("ball_screens_pick_n_pop", "Number of ball screens classified as pick and pop"),
    count!("ball_screens_pick_n_roll", "Number of ball screens classified as pick and roll"),
    count!("ball_screens_pick_n_short_roll", "Number of ball screens classified as pick and short roll"),
    count!("ball_screens_screened_shot", "Number of ball screens classified as screened shot"),
    count!("ball_screens_handoff", "Number of ball screens classified as hand-off"),
    count!("ball_screens_drag", "Number of ball screens classified as drag"),
    count!("ball_screens_pop", "Number of ball screens classified as pop"),
    count!("ball_screens_roll", "Number of ball screens classified as roll"),
    count!("ball_screens_slip", "Number of ball screens classified as slip"),
    count!("ball_screens_short_roll", "Number of ball screens classified as short roll"),
    count!("ball_screens_reject", "Number of ball screens classified as reject"),
    count!("ball_screens_re_screen", "Number of ball screens classified as re-screen"),
    count!("ball_screens_stay", "Number of ball screens classified as stay"),
    count!("ball_screens_step_up", "Number of ball screens classified as step-up"),
    count!("ball_screens_snake", "Number of ball screens classified as snake"),
    count!("ball_screens_split", "Number of ball screens classified as split"),
    count!("ball_screens_other", "Number of ball screens classified as other"),
    col("locations_link", Links, "._locations").doc("Link to the sensor locations of the possession"),
];

pub(super) static EVENTS: Table = table("possession_events", "possessions[].stats[]")
    .doc("One row for each stat event of a possession.")
    .columns(&EVENT_COLUMNS);
pub(super) const EVENT_COLUMNS: [Col; 20] = [
    SESSION_ID,
    GAME_ID,
    TEAM_ID,
    POSSESSION,
    index("position", "possessions[].stats[]").doc("Position in the possession's list of events, from 0"),
    col("timestamp", TimestampMs, ".timestamp").doc("Time of the event"),
    col("possession_type", Category, ".possession_type").doc("Type of the event, such as FGA or DEFENSIVE_REB"),
    col("details", ListText, ".details").doc("Stat codes of the event, such as REB, FGA3 or FGA_OTD"),
    col("player_id", Int64, ".player_id").doc("Player id"),
    col("game_clock", Text, ".game_clock").doc("Game clock as sent"),
    col("game_clock_s", ClockSeconds, ".game_clock").doc("Time left in the period"),
    col("shot_clock", Text, ".shot_clock").doc("Shot clock as sent"),
    col("shot_clock_s", ClockSeconds, ".shot_clock").doc("Time left on the shot clock"),
    col("shot_distance_cm", Float64, ".shot_attributes.shot_distance_cm")
        .unit("cm")
        .doc("Distance of the shot from the hoop; shots only"),
    col("x", Float64, ".shot_attributes.x").court().doc("Position across the court, from its centre; shots only"),
    col("y", Float64, ".shot_attributes.y").court().doc("Position along the court, from its centre; shots only"),
    col("z", Float64, ".shot_attributes.z").court().doc("Height above the floor; shots only"),
    col("zone", Count, ".shot_attributes.zone").doc("Court zone, 1 to 14; shots only"),
    col("advanced_zone", Count, ".shot_attributes.advanced_zone").doc("Advanced court zone, 1 to 23; shots only"),
    col("is_3point", Bool, ".shot_attributes.is_3point").doc("Whether the shot was a three-point attempt; shots only"),
];

pub(super) static PLAYERS: Table = table("possession_players", "team_player_details[]")
    .doc("One row for each player in the possessions of a session or game.")
    .columns(&PLAYER_COLUMNS);
pub(super) const PLAYER_COLUMNS: [Col; 7] = [
    request("session_id", Text)
        .doc("Id of the requested session; null in a catch-up response, which covers a whole game"),
    GAME_ID,
    TEAM_ID,
    col("player_id", Int64, ".id").required().doc("Player id"),
    col("first_name", Text, ".first_name").doc("First name"),
    col("last_name", Text, ".last_name").doc("Last name"),
    col("profile_image_link", Text, ".profile_image_link").doc("Link to the profile image of the player"),
];
