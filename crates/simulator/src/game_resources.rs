//! Resources of a whole game.

use super::Privileges;
use super::call::EndpointCall;
use super::response::{EndpointResponse, ErrorResponse, json_of};
use super::rest::no_access;
use super::season::{GameSnapshot, Season};
use crate::model::ball_screens::BallScreen;
use crate::model::catch_up::GameLine;
use crate::model::game_shots::GameShot;
use crate::model::game_totals::GameTotals;
use crate::model::play_by_play::Play;
use crate::model::possessions::TeamPossessions;
use crate::model::videos::Video;
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The parts of a catch-up.
const PARTS: [&str; 4] = ["stats", "details", "shots", "possessions"];
const BALL_SCREENS: &str = "ballscreens";
const VIDEOS: &str = "videos";

/// Whether these are parts of a catch-up, each once.
fn are_parts(names: &str) -> bool {
    let names: Vec<&str> = names.split(',').collect();
    names.iter().enumerate().all(|(at, name)| PARTS.contains(name) && !names[..at].contains(name))
}

/// Whether these privileges cover all requested parts: shots need a privilege of their own.
pub(super) fn is_open(parts: &str, privileges: &Privileges) -> bool {
    parts.split(',').all(|part| if part == "shots" { privileges.shots } else { privileges.stats })
}

/// A single game resource is served as a one-part catch-up; ball screens and videos are not available in catch-up.
pub(super) fn respond(
    season: &Season,
    game: &str,
    parts: &str,
    call: &EndpointCall,
) -> Result<EndpointResponse, ErrorResponse> {
    if parts != BALL_SCREENS && parts != VIDEOS && !are_parts(parts) {
        return Err(ErrorResponse::new(404, "Not found"));
    }
    let game_view = season.whole(game, call.now).ok_or_else(no_access)?;
    let parts = parts.split(',').map(|name| (name, part(&game_view, name)));
    let body = GameBody { parts: parts.collect(), totals: game_view.totals() };
    json_of(&body, game_view.ended_at().unwrap_or(i64::MAX), call.now)
}

/// Each requested part under its own key, in that order. The body of `possessions` is not documented; it is assumed to be
/// that of a session's possessions, without its outer object.
struct GameBody<'a> {
    parts: Vec<(&'a str, GamePart)>,
    totals: GameTotals,
}

#[derive(serde::Serialize)]
#[serde(untagged)]
enum GamePart {
    Stats(Vec<GameLine>),
    Details(Vec<Play>),
    Shots(Vec<GameShot>),
    Possessions(Vec<TeamPossessions>),
    BallScreens(Vec<BallScreen>),
    Videos(Vec<Video>),
}

fn part(game_view: &GameSnapshot, name: &str) -> GamePart {
    match name {
        "stats" => GamePart::Stats(game_view.lines()),
        "details" => GamePart::Details(game_view.plays()),
        "shots" => GamePart::Shots(game_view.shots()),
        BALL_SCREENS => GamePart::BallScreens(game_view.ball_screens()),
        VIDEOS => GamePart::Videos(game_view.videos()),
        _ => GamePart::Possessions(game_view.possessions()),
    }
}

impl Serialize for GameBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(Some(self.parts.len() + 1))?;
        for (name, part) in &self.parts {
            body.serialize_entry(name, part)?;
        }
        body.serialize_entry("gameTotals", &self.totals)?;
        body.end()
    }
}
