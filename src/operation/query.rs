//! The queries of operations whose parameters do not follow from their declaration alone.

use super::arguments::CheckedArguments;
use super::declared::PARTS;
use super::{Merge, ranges};
use crate::config::{Config, Sport};
use crate::error::{Error, Result};
use crate::resource::catch_up;

/// Makes the queries of a call; errors found before sending name its base and path.
pub(super) type QueryMaker = fn(&CheckedArguments, &Config, &str) -> Result<Queries>;

pub(super) type Query = Vec<(&'static str, String)>;

/// The query of each request of a call.
pub(super) struct Queries {
    pub requests: Vec<Query>,
    /// How their responses become one.
    pub join: Merge,
}

fn single(query: Query) -> Result<Queries> {
    Ok(Queries { requests: vec![query], join: Merge::Single })
}

fn range(from: i64, to: i64) -> Query {
    vec![("from", from.to_string()), ("to", to.to_string())]
}

/// The declared parameters, unchanged.
pub(super) fn declared_query(arguments: &CheckedArguments, _: &Config, _: &str) -> Result<Queries> {
    single(arguments.parameters()?)
}

pub(super) fn roster_query(arguments: &CheckedArguments, _: &Config, _: &str) -> Result<Queries> {
    let mut query = arguments.parameters()?;
    // The documented default; the vendor's newer pages put it into the path, so it is not sent.
    query.retain(|(name, value)| *name != "reference" || value != "SHOTTRACKER");
    single(query)
}

pub(super) fn schedule_query(arguments: &CheckedArguments, config: &Config, _: &str) -> Result<Queries> {
    let sport = arguments.get("sport").and_then(Sport::parse).unwrap_or(config.sport);
    let mut query = vec![("type", sport.name().to_ascii_uppercase())];
    query.extend(arguments.parameters()?);
    single(query)
}

pub(super) fn matchup_query(arguments: &CheckedArguments, _: &Config, _: &str) -> Result<Queries> {
    let teams: Vec<&str> = arguments.values("team_ids").collect();
    if !(1..=2).contains(&teams.len()) || teams.contains(&"") {
        return Err(Error::Argument(
            "team_ids is the id of one team, or a list of one or two: a matchup has no more, and no empty id".into(),
        ));
    }
    let mut query = vec![("from", arguments.required("start")?)];
    query.extend(arguments.get("end").map(|to| ("to", to)));
    query.extend(teams.into_iter().map(|team| ("team_id", team)));
    query.extend([("reference", arguments.required("reference")?), ("gender", arguments.required("gender")?)]);
    single(query.into_iter().map(|(name, value)| (name, value.to_owned())).collect())
}

/// The requested resources of a game, as a path segment.
pub(super) fn parts(arguments: &CheckedArguments) -> Result<String> {
    let names = arguments.values(PARTS).collect::<Vec<_>>().join(",");
    if catch_up::are_parts(&names) {
        return Ok(names);
    }
    let choices = catch_up::PARTS.join(", ");
    Err(Error::Argument(format!("resources is {names:?}; it must be one or more of {choices}, each once")))
}

pub(super) fn team_events_queries(arguments: &CheckedArguments, _: &Config, url: &str) -> Result<Queries> {
    let (from, to) = (arguments.required_time("start")?, arguments.required_time("end")?);
    ranges::check_rules(from, to, true, url)?;
    let flags = arguments.parameters()?;
    let query = |(from, to)| [range(from, to), flags.clone()].concat();
    Ok(Queries { requests: ranges::months(from, to).into_iter().map(query).collect(), join: Merge::Events })
}

/// A game needs `from=1&to=2`: the service requires both and ignores them.
pub(super) fn team_game_stats_query(arguments: &CheckedArguments, _: &Config, url: &str) -> Result<Queries> {
    match (arguments.get("game_id"), arguments.time("start"), arguments.time("end")) {
        (Some(game), None, None) => {
            let mut query = range(1, 2);
            query.push(("event_id", game.to_owned()));
            single(query)
        }
        (None, Some(from), Some(to)) => {
            ranges::check_rules(from, to, false, url)?;
            single(range(from, to))
        }
        _ => Err(Error::Argument("team_game_stats takes a game (game_id=) or a range (start= and end=)".into())),
    }
}

pub(super) fn locations_queries(arguments: &CheckedArguments, _: &Config, _: &str) -> Result<Queries> {
    let session = arguments.required("session_id")?;
    let (from, to) = (arguments.required_time("start")?, arguments.required_time("end")?);
    let query = |(from, to)| [vec![("id", session.to_owned())], range(from, to)].concat();
    Ok(Queries { requests: ranges::windows(from, to)?.into_iter().map(query).collect(), join: Merge::Locations })
}
