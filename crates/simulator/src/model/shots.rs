//! Shots of a session, and the table shared by all shots.

use super::stats::PlayerDetails;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TeamShots {
    pub id: i64,
    pub name: String,
    pub logo_image_link: String,
    pub player_shots: Vec<PlayerShots>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PlayerShots {
    pub id: i64,
    pub player_details: PlayerDetails,
    pub shots: Vec<Shot>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Shot {
    pub occurred_at: i64,
    pub is_make: bool,
    pub is_3point: bool,
    pub zone: i64,
    pub advanced_zone: i64,
    pub player_x: f64,
    pub player_y: f64,
    pub player_z: f64,
    pub hoop_x: f64,
    pub hoop_y: f64,
    pub hoop_z: f64,
    pub hoop_player_x: f64,
    pub hoop_player_y: f64,
    pub status: String,
    pub game_clock: Option<String>,
    pub shot_clock: Option<String>,
    pub period: String,
    pub attributes: Vec<String>,
}
