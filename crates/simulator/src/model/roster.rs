//! A team's roster.

use super::team::Team;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Roster {
    #[serde(flatten)]
    pub team: Team,
    pub logo_image_link: String,
    pub team_images: TeamImages,
    pub players: Vec<Player>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct TeamImages {
    pub logo_small_light: String,
    pub logo_small_dark: String,
    pub logo_small_light_transparent: String,
    pub logo_small_dark_transparent: String,
    pub logo_light: String,
    pub logo_dark: String,
    pub logo_light_transparent: String,
    pub logo_dark_transparent: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Player {
    pub id: i64,
    pub first_name: String,
    pub last_name: String,
    pub jersey_number: i64,
    pub jersey_number_str: String,
    pub position: String,
    pub profile_image_link: String,
    pub display_name: String,
    pub is_active: bool,
    pub special_services: Vec<SpecialService>,
    pub reference_id: String,
    pub sensor: i64,
    pub is_starter: bool,
    pub is_scout: bool,
    pub team_player_images: PlayerImages,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct SpecialService {
    #[serde(rename = "type")]
    pub kind: String,
    pub value: String,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct PlayerImages {
    pub image_light: String,
    pub image_dark: String,
    pub image_light_transparent: String,
    pub image_dark_transparent: String,
    pub headshot_light: String,
    pub headshot_dark: String,
    pub headshot_transparent: String,
    pub image_profile: String,
}
