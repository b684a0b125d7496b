//! Stat occurrences of a session or a whole game.

use super::stats::PlayerDetails;
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct TeamDetails {
    pub id: i64,
    pub name: String,
    pub logo_image_link: String,
    pub player_stats: Vec<PlayerOccurrences>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PlayerOccurrences {
    pub id: i64,
    pub player_details: Option<PlayerDetails>,
    pub version: i64,
    /// Stat code to its occurrences, in the service's order.
    #[serde(serialize_with = "write_pairs")]
    pub stats: Vec<(String, Vec<Occurrence>)>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Occurrence {
    pub occurred_at: i64,
    pub value: f64,
    pub game_clock: Option<String>,
    pub shot_clock: Option<String>,
    pub period: String,
    pub x: Option<f64>,
    pub y: Option<f64>,
    pub z: Option<f64>,
    pub hoop_to_event_x: Option<f64>,
    pub hoop_to_event_y: Option<f64>,
}

/// An object written from pairs, so that the service's order is kept.
fn write_pairs<S: Serializer>(pairs: &[(String, Vec<Occurrence>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(code, occurrences)| (code, occurrences)))
}
