//! The queries of operations whose parameters do not follow from their declaration alone.

use super::arguments::ArgumentReader;
use super::declared::PARTS;
use super::{Merge, ranges};
use crate::config::{Config, Sport};
use crate::error::{Error, Result};
use crate::resource::catch_up;

/// The request that queries belong to.
pub(super) struct QueryTarget<'a> {
    pub config: &'a Config,
    /// Base and path, for errors found before sending.
    pub url: String,
}

pub(super) type Query = Vec<(&'static str, String)>;

/// The query of each request of a call.
pub(super) struct Queries {
    pub each: Vec<Query>,
    /// How their responses become one.
    pub join: Merge,
}

impl QueryTarget<'_> {
    /// Rejects a range as the service would.
    fn refuse(&self, violated: &[&'static str], status: u16, from: i64, to: i64) -> Result<()> {
        ranges::refuse(violated, status, format!("{}?from={from}&to={to}", self.url))
    }
}

fn one(query: Query) -> Result<Queries> {
    Ok(Queries { each: vec![query], join: Merge::Single })
}

fn range(from: i64, to: i64) -> Query {
    vec![("from", from.to_string()), ("to", to.to_string())]
}

/// The declared parameters, unchanged.
pub(super) fn declared_query(reader: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    one(reader.parameters()?)
}

pub(super) fn roster_query(reader: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let mut query = reader.parameters()?;
    // The documented default; the vendor's newer pages put it into the path, so it is not sent.
    query.retain(|(name, value)| *name != "reference" || value != "SHOTTRACKER");
    one(query)
}

pub(super) fn schedule_query(reader: &mut ArgumentReader, target: &QueryTarget) -> Result<Queries> {
    let sport = reader.wire("sport")?.and_then(|sport| Sport::parse(&sport)).unwrap_or(target.config.sport);
    let mut query = vec![("type", sport.wire_name().into())];
    query.extend(reader.parameters()?);
    one(query)
}

pub(super) fn matchup_query(reader: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let teams = reader.all("team_ids")?;
    if !(1..=2).contains(&teams.len()) || teams.iter().any(String::is_empty) {
        return Err(Error::Argument(
            "team_ids is the id of one team, or a list of one or two: a matchup has no more, and no empty id".into(),
        ));
    }
    let mut query = range_of(reader)?;
    query.extend(teams.into_iter().map(|team| ("team_id", team)));
    for name in ["reference", "gender"] {
        query.push((name, reader.required(name)?));
    }
    one(query)
}

/// A range with an optional end.
fn range_of(reader: &mut ArgumentReader) -> Result<Query> {
    let mut query = vec![("from", reader.required("start")?)];
    query.extend(reader.wire("end")?.map(|to| ("to", to)));
    Ok(query)
}

/// The requested resources of a game, as a path segment.
pub(super) fn parts(reader: &mut ArgumentReader) -> Result<String> {
    let names = reader.all(PARTS)?.join(",");
    if catch_up::are_parts(&names) {
        return Ok(names);
    }
    let known = catch_up::PARTS.join(", ");
    Err(Error::Argument(format!("resources is {names:?}; it must be one or more of {known}, each once")))
}

pub(super) fn team_events_queries(reader: &mut ArgumentReader, target: &QueryTarget) -> Result<Queries> {
    let (from, to) = (reader.required_time("start")?, reader.required_time("end")?);
    target.refuse(&ranges::order_rules(from, to), 422, from, to)?;
    let (games, workouts) = (reader.flag("games_only")?, reader.flag("workouts_only")?);
    let query = |(from, to)| {
        let mut query = range(from, to);
        query.extend(games.then(|| ("gamesonly", "true".into())));
        query.extend(workouts.then(|| ("workoutsonly", "true".into())));
        query
    };
    Ok(Queries { each: ranges::months(from, to).into_iter().map(query).collect(), join: Merge::Events })
}

/// A game needs `from=1&to=2`: the service requires both and ignores them.
pub(super) fn team_game_stats_query(reader: &mut ArgumentReader, target: &QueryTarget) -> Result<Queries> {
    match (reader.wire("game_id")?, reader.time("start")?, reader.time("end")?) {
        (Some(game), None, None) => {
            let mut query = range(1, 2);
            query.push(("event_id", game));
            one(query)
        }
        (None, Some(from), Some(to)) => {
            target.refuse(&ranges::bounded_rules(from, to), 422, from, to)?;
            one(range(from, to))
        }
        _ => Err(Error::Argument("team_game_stats takes a game (game_id=) or a range (start= and end=)".into())),
    }
}

pub(super) fn locations_queries(reader: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let session = reader.required("session_id")?;
    let (from, to) = (reader.required_time("start")?, reader.required_time("end")?);
    let query = |(from, to)| {
        let mut query = vec![("id", session.clone())];
        query.extend(range(from, to));
        query
    };
    Ok(Queries { each: ranges::windows(from, to)?.into_iter().map(query).collect(), join: Merge::Locations })
}
