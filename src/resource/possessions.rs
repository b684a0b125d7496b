//! Possessions of a session.

use crate::table::{Col, Resource, Table, Ty::*, col, index, request, root};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeamPossessions {
    pub id: i64,
    pub name: String,
    pub team_player_details: Vec<PossessionPlayer>,
    pub possessions: Vec<Possession>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PossessionPlayer {
    pub id: i64,
    pub first_name: String,
    pub last_name: String,
    pub profile_image_link: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Possession {
    pub _locations: String,
    pub start_timestamp: i64,
    pub end_timestamp: i64,
    pub start_game_clock: String,
    pub end_game_clock: String,
    pub period: String,
    pub player_ids: Vec<i64>,
    pub opposing_player_ids: Vec<i64>,
    pub stats: Vec<PossessionStat>,
    pub possession_attributes: PossessionAttributes,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PossessionStat {
    pub timestamp: i64,
    pub possession_type: String,
    pub details: Vec<String>,
    pub player_id: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub game_clock: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shot_clock: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shot_attributes: Option<ShotAttributes>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShotAttributes {
    pub shot_distance_cm: f64,
    pub x: f64,
    pub y: f64,
    pub z: f64,
    pub zone: i64,
    pub advanced_zone: i64,
    pub is_3point: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PossessionAttributes {
    pub turnover: i64,
    pub passes: i64,
    pub half_court: bool,
    pub paint_touch: bool,
    pub ball_reversals: i64,
    pub ball_screens: i64,
    pub ball_screens_left_wing: i64,
    pub ball_screens_middle_wing: i64,
    pub ball_screens_right_wing: i64,
    pub ball_screens_pick_n_pop: i64,
    pub ball_screens_pick_n_roll: i64,
    pub ball_screens_pick_n_short_roll: i64,
    pub ball_screens_screened_shot: i64,
    pub ball_screens_handoff: i64,
    pub ball_screens_drag: i64,
    pub ball_screens_pop: i64,
    pub ball_screens_roll: i64,
    pub ball_screens_slip: i64,
    pub ball_screens_short_roll: i64,
    pub ball_screens_reject: i64,
    pub ball_screens_re_screen: i64,
    pub ball_screens_stay: i64,
    pub ball_screens_step_up: i64,
    pub ball_screens_snake: i64,
    pub ball_screens_split: i64,
    pub ball_screens_other: i64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PossessionsBody {
    pub teams: Vec<TeamPossessions>,
}

pub static POSSESSIONS: Resource = Resource {
    name: "possessions",
    roots: &[root("teams[]"), root("[]").not_empty()],
    tables: &[&TABLE, &EVENTS, &PLAYERS],
    known: &["logo_image_link"],
};

const SESSION_ID: Col =
    request("session_id", Text).required().doc("session; of the request where the body does not say");
const GAME_ID: Col = request("game_id", Text).doc("game of the request");
const TEAM_ID: Col = col("team_id", Int64, "id").required().doc("team");
const POSSESSION: Col = index("possession", "possessions[]").doc("place in the team's list, from 0");

/// A counter of the attributes; all are declared alike.
macro_rules! count {
    ($name:literal, $doc:literal) => {
        col($name, Count, concat!(".possession_attributes.", $name)).doc($doc)
    };
}
pub(super) static TABLE: Table = Table {
    name: "possessions",
    doc: "One row for each possession of a team.",
    rows: "possessions[]",
    open: None,
    cols: &COLUMNS,
};
pub(super) const COLUMNS: [Col; 43] = [
    SESSION_ID,
    GAME_ID,
    TEAM_ID,
    col("team_name", Text, "name").doc("team name"),
    POSSESSION,
    col("start_timestamp", TimestampMs, ".start_timestamp").doc("start"),
    col("end_timestamp", TimestampMs, ".end_timestamp").doc("end"),
    col("start_game_clock", Text, ".start_game_clock").doc("game clock at the start, as sent"),
    col("start_game_clock_s", ClockSeconds, ".start_game_clock").unit("s").doc("game clock at the start: time left"),
    col("end_game_clock", Text, ".end_game_clock").doc("game clock at the end, as sent"),
    col("end_game_clock_s", ClockSeconds, ".end_game_clock").unit("s").doc("game clock at the end: time left"),
    col("period", Category, ".period").doc("such as Q1 or H1"),
    col("player_ids", ListInt64, ".player_ids").doc("the team's players on court"),
    col("opposing_player_ids", ListInt64, ".opposing_player_ids").doc("the opponent's players on court"),
    col("lineup_id", LineupId, ".player_ids").doc("player_ids sorted and joined by -"),
    col("opposing_lineup_id", LineupId, ".opposing_player_ids").doc("opposing_player_ids sorted and joined by -"),
    count!("turnover", "turnovers"),
    count!("passes", "passes"),
    col("half_court", Bool, ".possession_attributes.half_court").doc("whether the half-court offence was set up"),
    col("paint_touch", Bool, ".possession_attributes.paint_touch").doc("whether the ball reached the paint"),
    count!("ball_reversals", "reversals of the ball from side to side"),
    count!("ball_screens", "ball screens of every kind"),
    count!("ball_screens_left_wing", "ball screens on the left wing"),
    count!("ball_screens_middle_wing", "ball screens in the middle"),
    count!("ball_screens_right_wing", "ball screens on the right wing"),
    count!("ball_screens_pick_n_pop", "ball screens: pick and pop"),
    count!("ball_screens_pick_n_roll", "ball screens: pick and roll"),
    count!("ball_screens_pick_n_short_roll", "ball screens: pick and short roll"),
    count!("ball_screens_screened_shot", "ball screens: screened shot"),
    count!("ball_screens_handoff", "ball screens: hand-off"),
    count!("ball_screens_drag", "ball screens: drag"),
    count!("ball_screens_pop", "ball screens: pop"),
    count!("ball_screens_roll", "ball screens: roll"),
    count!("ball_screens_slip", "ball screens: slip"),
    count!("ball_screens_short_roll", "ball screens: short roll"),
    count!("ball_screens_reject", "ball screens: reject"),
    count!("ball_screens_re_screen", "ball screens: re-screen"),
    count!("ball_screens_stay", "ball screens: stay"),
    count!("ball_screens_step_up", "ball screens: step up"),
    count!("ball_screens_snake", "ball screens: snake"),
    count!("ball_screens_split", "ball screens: split"),
    count!("ball_screens_other", "ball screens of another kind"),
    col("locations_link", Links, "._locations").doc("link to the sensor locations of the possession"),
];

pub(super) static EVENTS: Table = Table {
    name: "possession_events",
    doc: "One row for each stat of a possession.",
    rows: "possessions[].stats[]",
    open: None,
    cols: &EVENT_COLUMNS,
};
pub(super) const EVENT_COLUMNS: [Col; 20] = [
    SESSION_ID,
    GAME_ID,
    TEAM_ID,
    POSSESSION,
    index("position", "possessions[].stats[]").doc("place in the possession, from 0"),
    col("timestamp", TimestampMs, ".timestamp").doc("when it happened"),
    col("possession_type", Category, ".possession_type").doc("such as FGA or DEFENSIVE_REB"),
    col("details", ListText, ".details").doc("codes such as REB, FGA3, FGA_OTD"),
    col("player_id", Int64, ".player_id").doc("player"),
    col("game_clock", Text, ".game_clock").doc("game clock as sent"),
    col("game_clock_s", ClockSeconds, ".game_clock").unit("s").doc("game clock: time left in the period"),
    col("shot_clock", Text, ".shot_clock").doc("shot clock as sent"),
    col("shot_clock_s", ClockSeconds, ".shot_clock").unit("s").doc("shot clock: time left"),
    col("shot_distance_cm", Float64, ".shot_attributes.shot_distance_cm")
        .unit("cm")
        .doc("shots: distance from the hoop"),
    col("x", Float64, ".shot_attributes.x").unit("mm").frame("court").doc("shots: across the court, from its centre"),
    col("y", Float64, ".shot_attributes.y").unit("mm").frame("court").doc("shots: along the court, from its centre"),
    col("z", Float64, ".shot_attributes.z").unit("mm").frame("court").doc("shots: above the floor"),
    col("zone", Count, ".shot_attributes.zone").doc("shots: zone, 1 to 14"),
    col("advanced_zone", Count, ".shot_attributes.advanced_zone").doc("shots: advanced zone, 1 to 23"),
    col("is_3point", Bool, ".shot_attributes.is_3point").doc("shots: whether from beyond the arc"),
];

pub(super) static PLAYERS: Table = Table {
    name: "possession_players",
    doc: "One row for each player that a session's possessions name.",
    rows: "team_player_details[]",
    open: None,
    cols: &PLAYER_COLUMNS,
};
pub(super) const PLAYER_COLUMNS: [Col; 7] = [
    request("session_id", Text).doc("session of the request; null in a catch-up, which has a game's players"),
    GAME_ID,
    TEAM_ID,
    col("player_id", Int64, ".id").required().doc("player"),
    col("first_name", Text, ".first_name").doc("first name"),
    col("last_name", Text, ".last_name").doc("last name"),
    col("profile_image_link", Text, ".profile_image_link").doc("link"),
];
