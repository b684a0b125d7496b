//! What holds for every season, read off the bodies that the service shows.
#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod agreement;
mod cost;
mod game;
mod game_view;
mod live;
mod play;
mod same;
mod season;
mod tracking;

use super::*;
use crate::model::stats_details::Occurrence;
use std::collections::{BTreeMap, BTreeSet};

const NOW: i64 = 1_772_020_000_000;
const NEVER_COUNTED: [&str; 3] = ["DIST", "TEAM_SCORE", "OPPOSING_TEAM_SCORE"];

fn small() -> Season {
    Season::new(7, Sport::Basketball, 16, 40, NOW)
}

/// Every event that has begun, of every team.
fn events(season: &Season) -> Vec<Event> {
    let mut events: BTreeMap<String, Event> = BTreeMap::new();
    for team in season.teams() {
        for event in season.team_events(team.id, 0, i64::MAX / 2, NOW) {
            events.insert(event.id.clone(), event);
        }
    }
    events.into_values().collect()
}

fn games(season: &Season) -> Vec<Event> {
    events(season).into_iter().filter(|event| event.is_game_event).collect()
}

/// Every session of every event that has begun.
fn sessions(season: &Season) -> Vec<(Event, Arc<Session>)> {
    let all = events(season);
    let of_event = |event: Event| {
        let ids: Vec<String> = event.results.iter().map(|result| result.id.clone()).collect();
        ids.into_iter().map(move |id| (event.clone(), season.session(&id, NOW).unwrap()))
    };
    all.into_iter().flat_map(of_event).collect()
}

fn locations(season: &Season, session_id: &str, from: i64, to: i64, now: i64) -> Option<Vec<LocationBatch>> {
    let mut batches = Vec::new();
    season.locations(session_id, from, to, now, |batch| batches.push(batch))?;
    Some(batches)
}

fn sums(lists: &[(String, Vec<Occurrence>)]) -> BTreeMap<String, f64> {
    lists.iter().map(|(code, list)| (code.clone(), list.iter().map(|occurrence| occurrence.value).sum())).collect()
}

fn counts_of(stats: &serde_json::Map<String, serde_json::Value>) -> BTreeMap<String, f64> {
    let counts = stats.iter().filter(|(code, _)| !NEVER_COUNTED.contains(&code.as_str()));
    counts.map(|(code, value)| (code.clone(), value.as_f64().unwrap())).collect()
}

fn clock(text: &str) -> f64 {
    text.split(':').fold(0.0, |sum, part| sum * 60.0 + part.parse::<f64>().unwrap())
}
