//! Possessions of a session.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TeamPossessions {
    pub id: i64,
    pub name: String,
    pub team_player_details: Vec<PossessionPlayer>,
    pub possessions: Vec<Possession>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PossessionPlayer {
    pub id: i64,
    pub first_name: String,
    pub last_name: String,
    pub profile_image_link: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Possession {
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PossessionStat {
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

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ShotAttributes {
    pub shot_distance_cm: f64,
    pub x: f64,
    pub y: f64,
    pub z: f64,
    pub zone: i64,
    pub advanced_zone: i64,
    pub is_3point: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PossessionAttributes {
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
