//! Absolute links, as the service writes them: they name the vendor's public host whatever the base is.

use crate::sport::Sport;

/// Maximum window of locations.
pub(super) const MAX_WINDOW_MS: i64 = 30 * 60_000;

fn host(sport: Sport) -> &'static str {
    match sport {
        Sport::Basketball => "https://api.shottracker.com",
        Sport::Football => "https://api-gridtracker.ddsports.com",
    }
}

pub(super) fn game(sport: Sport, event_id: &str) -> String {
    format!("{}/v1/data/games/{event_id}", host(sport))
}

pub(super) fn practice(sport: Sport, team_id: i64, event_id: &str) -> String {
    format!("{}/v1/data/teams/{team_id}/practices/{event_id}", host(sport))
}

pub(super) fn game_details(sport: Sport, event_id: &str) -> String {
    format!("{}/v1/data/stats/games/{event_id}/stats/details", host(sport))
}

/// A resource of a session: `stats`, `stats/details`, `shots`, `possessions`, `possessions/summary`.
pub(super) fn session(sport: Sport, session_id: &str, resource: &str) -> String {
    format!("{}/v1/data/stats/{session_id}/{resource}", host(sport))
}

pub(super) fn locations(sport: Sport, session_id: &str, from: i64, to: i64) -> String {
    format!("{}/v1/data/sensors/locations?id={session_id}&from={from}&to={to}", host(sport))
}

/// The windows that cover a session; each begins where the last one ends.
pub(super) fn windows(sport: Sport, session_id: &str, from: i64, to: i64) -> Vec<String> {
    let mut links = Vec::new();
    let mut start = from;
    while start < to {
        let end = (start + MAX_WINDOW_MS).min(to);
        links.push(locations(sport, session_id, start, end));
        start = end;
    }
    links
}

pub(super) fn image(path: &str) -> String {
    format!("https://images.shottracker.com/sim/{path}.png")
}

pub(super) fn logo(team_id: i64) -> String {
    image(&format!("teams/{team_id}/logo"))
}

pub(super) fn profile(player_id: i64) -> String {
    image(&format!("players/{player_id}/profile"))
}
