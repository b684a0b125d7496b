//! A team's roster.

use super::team;
use tables::{Col, Resource, Table, Ty::*, col, member, root, table};

pub(crate) static ROSTER: Resource =
    Resource::new("roster", &[root("").needs(&["id", "players[]"])], &[&PLAYERS, &SPECIAL_SERVICES, &TEAM]);

pub(super) static PLAYERS: Table =
    table("players", "players[]").doc("One row for each player of a roster.").columns(&PLAYER_COLUMNS);
pub(super) const PLAYER_COLUMNS: [Col; 22] = [
    col("team_id", Int64, "id").required().doc("Team id"),
    col("player_id", Int64, ".id").required().doc("Player id"),
    col("first_name", Text, ".first_name").doc("First name"),
    col("last_name", Text, ".last_name").doc("Last name"),
    col("display_name", Text, ".display_name").doc("Display name"),
    col("jersey_number", Count, ".jersey_number").doc("Jersey number"),
    col("jersey_number_str", Text, ".jersey_number_str").doc("Jersey number as text, which distinguishes 00 from 0"),
    col("position", Category, ".position")
        .doc("Position; in basketball G (guard), F (forward) or C (center), or a word such as center"),
    col("is_active", Bool, ".is_active")
        .doc("Whether the player is still on the team; false only in rosters of a game"),
    col("is_starter", Bool, ".is_starter").doc("Whether the player is a starter"),
    col("is_scout", Bool, ".is_scout").doc("Whether the player is on the scout team"),
    col("reference_id", Text, ".reference_id").doc("Id of the player in an external system"),
    col("sensor", Count, ".sensor").doc("Number of the player's sensor, which may change during a game"),
    col("profile_image_link", Text, ".profile_image_link").doc("Link to the profile image of the player"),
    col("image_light", Text, ".team_player_images.image_light").doc("Link to the player's image, light variant"),
    col("image_dark", Text, ".team_player_images.image_dark").doc("Link to the player's image, dark variant"),
    col("image_light_transparent", Text, ".team_player_images.image_light_transparent")
        .doc("Link to the player's image, light variant with transparency"),
    col("image_dark_transparent", Text, ".team_player_images.image_dark_transparent")
        .doc("Link to the player's image, dark variant with transparency"),
    col("headshot_light", Text, ".team_player_images.headshot_light")
        .doc("Link to the player's headshot, light variant"),
    col("headshot_dark", Text, ".team_player_images.headshot_dark").doc("Link to the player's headshot, dark variant"),
    col("headshot_transparent", Text, ".team_player_images.headshot_transparent")
        .doc("Link to the player's headshot with transparency"),
    col("image_profile", Text, ".team_player_images.image_profile")
        .doc("Link to the profile image in the team's set of player images"),
];

pub(super) static SPECIAL_SERVICES: Table = table("special_services", "players[].special_services[]")
    .doc("One row for each special service (microphone, video) of a player.")
    .columns(&[
        col("team_id", Int64, "id").required().doc("Team id"),
        col("player_id", Int64, "players[].id").required().doc("Player id"),
        col("type", Category, ".type").doc("Type of the service, MIC (microphone) or VIDEO"),
        col("value", Text, ".value").doc("Value of the service, such as mic6"),
    ]);

pub(super) static TEAM: Table = table("team", "").doc("One row: the team of a roster.").columns(&[
    team::TEAM_ID,
    team::NAME,
    team::GENDER,
    team::CONFERENCE,
    team::LEAGUE,
    team::SPORT,
    team::REFERENCE,
    member("logo_image_link", Text).doc("Link to the team's logo"),
    col("logo_small_light", Text, "team_images.logo_small_light").doc("Link to the small logo, light variant"),
    col("logo_small_dark", Text, "team_images.logo_small_dark").doc("Link to the small logo, dark variant"),
    col("logo_small_light_transparent", Text, "team_images.logo_small_light_transparent")
        .doc("Link to the small logo, light variant with transparency"),
    col("logo_small_dark_transparent", Text, "team_images.logo_small_dark_transparent")
        .doc("Link to the small logo, dark variant with transparency"),
    col("logo_light", Text, "team_images.logo_light").doc("Link to the logo, light variant"),
    col("logo_dark", Text, "team_images.logo_dark").doc("Link to the logo, dark variant"),
    col("logo_light_transparent", Text, "team_images.logo_light_transparent")
        .doc("Link to the logo, light variant with transparency"),
    col("logo_dark_transparent", Text, "team_images.logo_dark_transparent")
        .doc("Link to the logo, dark variant with transparency"),
]);
