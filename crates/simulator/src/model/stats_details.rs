//! Stat occurrences of a session or a whole game.

use super::stats::PlayerDetails;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TeamDetails {
    pub id: i64,
    pub name: String,
    pub logo_image_link: String,
    pub player_stats: Vec<PlayerOccurrences>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlayerOccurrences {
    pub id: i64,
    pub player_details: Option<PlayerDetails>,
    pub version: i64,
    /// Stat code to its occurrences, in the service's order.
    #[serde(with = "pairs")]
    pub stats: Vec<(String, Vec<Occurrence>)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Occurrence {
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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DetailsBody {
    pub teams: Vec<TeamDetails>,
}

/// An object written from pairs, so that the service's order is kept.
mod pairs {
    use super::Occurrence;
    use serde::{Deserializer, Serializer, de, ser::SerializeMap};

    type Pairs = Vec<(String, Vec<Occurrence>)>;

    pub fn serialize<S: Serializer>(pairs: &Pairs, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(pairs.len()))?;
        for (key, value) in pairs {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Pairs;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("an object of stat codes")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
