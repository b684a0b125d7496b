//! The operations, as data.

use super::arguments::{ArgumentReader, missing};
use super::ranges;
use super::{Auth, Call, MOCK, Merge, Request, SUBSCRIPTION_TOKEN, encode};
use crate::config::{Config, Sport};
use crate::error::{Error, Result};
use crate::resource::{
    Resource, ball_screens, broadcast, catch_up, event, game_shots, locations, play_by_play, possessions, roster,
    schedule, shots, stats, stats_details, team, videos,
};
use crate::table::Context;

/// One operation of the service.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) name: &'static str,
    pub(super) auth: Auth,
    /// With `{argument}` in place of an id.
    pub(super) path: &'static str,
    /// Request values for tables: the name in the path or query, and the tables' name.
    pub(super) context_params: &'static [(&'static str, &'static str)],
    pub(super) resource: Option<&'static Resource>,
    /// Ids that only fill tables and are not sent.
    pub(super) keys: &'static [&'static str],
    /// Reached only by links.
    pub(super) follow_only: bool,
    query: fn(&mut ArgumentReader, &QueryTarget) -> Result<Queries>,
}

/// The input of an operation's queries.
struct QueryTarget<'a> {
    config: &'a Config,
    /// Base and path, for errors found before sending.
    url: String,
}

type Query = Vec<(&'static str, String)>;

/// The query of each request of a call.
struct Queries {
    each: Vec<Query>,
    join: Merge,
}

const TEAM: (&str, &str) = ("team_id", "team_id");
const GAME: (&str, &str) = ("game_id", "game_id");
const SESSION: (&str, &str) = ("session_id", "session_id");

const fn signed(name: &'static str, path: &'static str) -> Operation {
    Operation {
        name,
        auth: Auth::Signed,
        path,
        context_params: &[],
        resource: None,
        keys: &[],
        follow_only: false,
        query: no_query,
    }
}

const fn keyed(name: &'static str, path: &'static str) -> Operation {
    Operation { auth: Auth::ApiKey, ..signed(name, path) }
}

/// The resources of a session.
const fn of_session(name: &'static str, path: &'static str, resource: &'static Resource) -> Operation {
    Operation { context_params: &[SESSION], resource: Some(resource), keys: &["game_id"], ..signed(name, path) }
}

/// The resources of a game.
const fn of_game(name: &'static str, path: &'static str, resource: &'static Resource) -> Operation {
    Operation { context_params: &[GAME], resource: Some(resource), ..signed(name, path) }
}

pub(super) static OPERATIONS: &[Operation] = &[
    Operation { resource: Some(&team::TEAMS), ..signed("teams", "/v1/data/teams") },
    Operation {
        context_params: &[TEAM],
        resource: Some(&roster::ROSTER),
        query: roster_query,
        ..signed("roster", "/v1/data/teams/{team_id}")
    },
    Operation {
        resource: Some(&schedule::SCHEDULE),
        query: schedule_query,
        ..signed("schedule", "/v1/data/schedule/games")
    },
    Operation {
        context_params: &[TEAM],
        resource: Some(&event::TEAM_EVENTS),
        query: team_events_queries,
        ..signed("team_events", "/v1/data/teams/{team_id}/events")
    },
    Operation {
        context_params: &[TEAM, ("event_id", "game_id")],
        resource: Some(&stats::TEAM_GAME_STATS),
        query: team_game_stats_query,
        ..signed("team_game_stats", "/v1/data/teams/{team_id}/players/game/stats")
    },
    Operation {
        context_params: &[GAME, TEAM],
        query: game_events_query,
        ..signed("game_events", "/v1/data/games/{game_id}/events")
    },
    of_game("game", "/v1/data/games/{game_id}", &event::GAME),
    of_session("stats", "/v1/data/stats/{session_id}/stats", &stats::STATS),
    of_session("stats_details", "/v1/data/stats/{session_id}/stats/details", &stats_details::STATS_DETAILS),
    of_session("possessions", "/v1/data/stats/{session_id}/possessions", &possessions::POSSESSIONS),
    of_session("shots", "/v1/data/stats/{session_id}/shots", &shots::SHOTS),
    Operation {
        context_params: &[("id", "session_id")],
        keys: &["game_id"],
        resource: Some(&locations::LOCATIONS),
        query: locations_queries,
        ..signed("locations", "/v1/data/sensors/locations")
    },
    of_game("game_stats_details", "/v1/data/stats/games/{game_id}/stats/details", &stats_details::GAME_STATS_DETAILS),
    of_game("game_shots", "/v1/data/stats/games/{game_id}/shots", &game_shots::GAME_SHOTS),
    of_game("play_by_play", "/v1/data/stats/games/{game_id}/details", &play_by_play::PLAY_BY_PLAY),
    of_game("ball_screens", "/v1/data/stats/games/{game_id}/ballscreens", &ball_screens::BALL_SCREENS),
    of_game("videos", "/v1/data/stats/games/{game_id}/videos", &videos::VIDEOS),
    // After the single resources, which a link matches first.
    Operation {
        context_params: &[GAME, (PARTS, PARTS)],
        ..of_game("catch_up", "/v1/data/stats/games/{game_id}/{resources}", &catch_up::CATCH_UP)
    },
    Operation {
        resource: Some(&schedule::MATCHUP),
        query: matchup_query,
        ..signed("matchup", "/v1/data/schedule/games/matchup")
    },
    // The self link of a practice: an event like a game, without tables.
    Operation {
        context_params: &[TEAM],
        resource: Some(&event::GAME),
        follow_only: true,
        ..signed("practice", "/v1/data/teams/{team_id}/practices/{event_id}")
    },
    signed(SUBSCRIPTION_TOKEN, "/v1/data/schedule/games/{game_id}/_subscribe"),
    Operation { query: broadcast_schedule_query, ..keyed("broadcast_schedule", "/broadcast/v1/games/schedule") },
    keyed("broadcast_teams", "/broadcast/v1/games/teams"),
    Operation {
        context_params: &[TEAM],
        resource: Some(&broadcast::BROADCAST_ROSTER),
        query: broadcast_roster_query,
        ..keyed("broadcast_roster", "/broadcast/v1/games/teams/{team_id}")
    },
    Operation { query: broadcast_stats_query, ..keyed("broadcast_stats", "/broadcast/v1/stats") },
    keyed("broadcast_colors", "/broadcast/v1/games/active/{schedule_id}/colors"),
    Operation { query: broadcast_locomotion_query, ..keyed("broadcast_locomotion", "/broadcast/v1/locomotion") },
];

/// The resources of a catch-up: the name in the path, and the tables' name.
pub(super) const PARTS: &str = "resources";

/// The name in `{name}`.
pub(super) fn placeholder(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

impl Operation {
    /// Adds a value of the path or query to the context.
    pub(super) fn add_context(&self, context: Context, name: &str, value: &str) -> Context {
        match self.context_params.iter().find(|(wire, _)| *wire == name) {
            Some((_, known_as)) => context.with(known_as, value),
            None => context,
        }
    }

    /// The resource; for a catch-up with the tables of the requested parts.
    pub(super) fn resource_for(&self, context: &Context) -> Option<&'static Resource> {
        context.get(PARTS).map_or(self.resource, catch_up::of)
    }

    pub(super) fn call(&'static self, given: &mut ArgumentReader, config: &Config) -> Result<Call> {
        let mut context = Context::default();
        let mut segments = Vec::new();
        let template = if self.name == SUBSCRIPTION_TOKEN { &config.token_path } else { self.path };
        for segment in template.split('/') {
            match placeholder(segment) {
                None => segments.push(segment.to_string()),
                Some(name) => {
                    let value = if name == PARTS { parts(given)? } else { given.required_id(name)? };
                    context = self.add_context(context, name, &value);
                    segments.push(value);
                }
            }
        }
        for key in self.keys {
            if let Some(id) = given.id(key)? {
                context = context.with(key, id);
            }
        }
        let path = segments.join("/");
        let base = match self.auth {
            Auth::Signed => &config.base_url,
            Auth::ApiKey => &config.broadcast_base_url,
        };
        let queries = (self.query)(given, &QueryTarget { config, url: format!("{base}{path}") })?;
        let request = |query: Query| Request {
            operation: self.name,
            auth: self.auth,
            path: path.clone(),
            query: encode(&query),
            resource: self.resource_for(&context),
            context: query
                .iter()
                .fold(context.clone(), |context, (name, value)| self.add_context(context, name, value)),
        };
        Ok(Call { requests: queries.each.into_iter().map(request).collect(), join: queries.join })
    }
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

/// Adds a parameter if it is set.
fn push(query: &mut Query, name: &'static str, value: Option<String>) {
    query.extend(value.map(|value| (name, value)));
}

fn no_query(_: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    one(Query::new())
}

fn roster_query(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let mut query = Query::new();
    push(&mut query, "game_event_id", given.id("game_id")?);
    // The documented default. The vendor's newer pages put it into the path, so it is not sent.
    push(&mut query, "reference", given.text("reference")?.filter(|reference| reference != "SHOTTRACKER"));
    one(query)
}

fn schedule_query(given: &mut ArgumentReader, target: &QueryTarget) -> Result<Queries> {
    let from = given.required_time("start")?;
    let to = given.time("end")?;
    let sport = match given.text("sport")? {
        None => target.config.sport,
        Some(text) => Sport::parse(&text)
            .ok_or_else(|| Error::Argument(format!(r#"sport is {text:?}; it must be "basketball" or "football""#)))?,
    };
    let mut query = vec![("type", sport.wire_name().into()), ("from", from.to_string())];
    push(&mut query, "to", to.map(|to| to.to_string()));
    push(&mut query, "team_id", given.id("team_id")?);
    push(&mut query, "location_id", given.text("location_id")?);
    push(&mut query, "seasonType", given.word("season_type", &["EXH", "PRE", "REG", "POST"])?);
    push(&mut query, "weekNumber", given.positive("week")?);
    one(query)
}

/// These ids belong to another system: they are texts, not path segments.
fn matchup_query(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let teams = given.texts("team_ids")?;
    if !(1..=2).contains(&teams.len()) || teams.iter().any(String::is_empty) {
        return Err(Error::Argument(
            "team_ids is the id of one team, or a list of one or two: a matchup has no more, and no empty id".into(),
        ));
    }
    let from = given.required_time("start")?;
    let to = given.time("end")?;
    let mut query = vec![("from", from.to_string())];
    push(&mut query, "to", to.map(|to| to.to_string()));
    query.extend(teams.into_iter().map(|team| ("team_id", team)));
    query.push(("reference", given.required_text("reference")?));
    query.push(("gender", given.word("gender", &["MEN", "WOMEN"])?.ok_or_else(|| missing("gender"))?));
    one(query)
}

/// The requested resources of a game, as a path segment.
fn parts(given: &mut ArgumentReader) -> Result<String> {
    let names = given.texts(PARTS)?.join(",");
    match catch_up::of(&names) {
        Some(_) => Ok(names),
        None => Err(Error::Argument(format!(
            "resources is {names:?}; it must be one or more of {}, each once",
            catch_up::PARTS.join(", ")
        ))),
    }
}

fn broadcast_roster_query(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let mut query = Query::new();
    push(&mut query, "game_event_id", given.id("game_id")?);
    one(query)
}

fn broadcast_stats_query(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let mut query = vec![("schedule_id", given.required_id("schedule_id")?)];
    push(&mut query, MOCK, given.mock()?);
    one(query)
}

fn team_events_queries(given: &mut ArgumentReader, target: &QueryTarget) -> Result<Queries> {
    let (from, to) = (given.required_time("start")?, given.required_time("end")?);
    target.refuse(&ranges::order_rules(from, to), 422, from, to)?;
    let (games, workouts) = (given.flag("games_only")?, given.flag("workouts_only")?);
    let query = |(from, to)| {
        let mut query = range(from, to);
        push(&mut query, "gamesonly", games.then(|| "true".into()));
        push(&mut query, "workoutsonly", workouts.then(|| "true".into()));
        query
    };
    Ok(Queries { each: ranges::months(from, to).into_iter().map(query).collect(), join: Merge::Events })
}

/// A game needs `from=1&to=2`: the service requires both and ignores them.
fn team_game_stats_query(given: &mut ArgumentReader, target: &QueryTarget) -> Result<Queries> {
    match (given.id("game_id")?, given.time("start")?, given.time("end")?) {
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

/// `team_id` has no documented place; the query is the only one left.
fn game_events_query(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let mut query = Query::new();
    push(&mut query, "team_id", given.id("team_id")?);
    one(query)
}

fn locations_queries(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let session = given.required_id("session_id")?;
    let (from, to) = (given.required_time("start")?, given.required_time("end")?);
    let query = |(from, to)| {
        let mut query = vec![("id", session.clone())];
        query.extend(range(from, to));
        query
    };
    Ok(Queries { each: ranges::windows(from, to)?.into_iter().map(query).collect(), join: Merge::Locations })
}

/// Without `from` and `to` the service returns the coming day.
fn broadcast_schedule_query(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    let mut query = Query::new();
    push(&mut query, "from", given.time("start")?.map(|from| from.to_string()));
    push(&mut query, "to", given.time("end")?.map(|to| to.to_string()));
    push(&mut query, MOCK, given.mock()?);
    one(query)
}

fn broadcast_locomotion_query(given: &mut ArgumentReader, _: &QueryTarget) -> Result<Queries> {
    one(vec![("schedule_id", given.required_id("schedule_id")?), ("team_id", given.required_id("team_id")?)])
}
