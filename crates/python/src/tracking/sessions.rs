//! The sessions of a caller's tables: positions, shots, line-ups and periods, in metres.

use super::read::Columns;
use arrow_array::RecordBatch;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::HashMap;
use tracking::court::Court;
use tracking::defenders::Moment;
use tracking::lineups::Possession;
use tracking::offset::Shot;
use tracking::recording::RecordedSession;
use tracking::session::{Events, Session};
use tracking::track::{Object, Samples, known_team, tracks};

/// A shot or another row with a time and a player.
#[derive(Debug, Clone, Default)]
pub(super) struct EventRow {
    pub(super) session_id: Option<String>,
    pub(super) game_id: Option<String>,
    pub(super) team_id: Option<i64>,
    pub(super) period: Option<String>,
    pub(super) moment: Moment,
    pub(super) is_make: Option<bool>,
    pub(super) is_three: Option<bool>,
    pub(super) points: Option<i64>,
    pub(super) zone: Option<i64>,
    pub(super) chart: (Option<f64>, Option<f64>),
    pub(super) service_defenders: Option<Vec<i64>>,
}

/// Positions of three or more objects whose coordinates are all below this are in metres or feet: half a court is 47 feet long.
const MAX_WRONG_UNIT_MM: f64 = 60.0;
/// Those of ten or more that are all below this share of half the length are in centimetres or inches.
const MAX_WRONG_UNIT_SHARE: f64 = 0.115;

/// Milliseconds around a session's positions in which an event without a session id belongs to it.
const MAX_OUTSIDE_MS: i64 = 60_000;

impl EventRow {
    pub(super) fn session<'a>(&self, sessions: &'a [RecordedSession]) -> Option<&'a RecordedSession> {
        sessions.get(self.session_place(sessions)?)
    }

    pub(super) fn session_place(&self, sessions: &[RecordedSession]) -> Option<usize> {
        let ids = (self.session_id.as_deref(), self.game_id.as_deref());
        let sessions = sessions
            .iter()
            .map(|entry| ((entry.session_id.as_deref(), entry.game_id.as_deref()), || entry.session.extent_ms()));
        place_of(sessions, ids, self.moment.t_ms)
    }

    /// The points of a shot; if it has none, those that its result and kind give.
    pub(super) fn scored_points(&self) -> Option<i64> {
        self.points.or(match (self.is_make?, self.is_three) {
            (false, _) => Some(0),
            (true, is_three) => is_three.map(|is_three| 2 + i64::from(is_three)),
        })
    }
}

/// The id of a session, and of its game.
type Ids<'a> = (Option<&'a str>, Option<&'a str>);

/// The session that an event belongs to: that of its id, else the one of its game whose positions have its time, or begin or
/// end around it. Of a single session without an id, or for an event without one, no other is meant.
fn place_of<'a, E: FnOnce() -> Option<(i64, i64)>>(
    mut sessions: impl ExactSizeIterator<Item = (Ids<'a>, E)>,
    (session_id, game_id): Ids<'_>,
    t_ms: Option<i64>,
) -> Option<usize> {
    if sessions.len() == 1 {
        let ((only, _), _) = sessions.next()?;
        return (session_id.is_none() || only.is_none() || session_id == only).then_some(0);
    }
    if session_id.is_some() {
        return sessions.position(|((id, _), _)| id == session_id);
    }
    let t_ms = t_ms?;
    let outside_ms = |((_, session_game), extent): (Ids<'_>, E)| {
        let is_same_game = game_id.is_none() || session_game.is_none() || game_id == session_game;
        let (start, end) = if is_same_game { extent()? } else { return None };
        let ms = start.saturating_sub(t_ms).max(t_ms.saturating_sub(end)).max(0);
        (ms <= MAX_OUTSIDE_MS).then_some(ms)
    };
    let near = sessions.enumerate().filter_map(|(place, session)| Some((outside_ms(session)?, place)));
    near.min().map(|(_, place)| place)
}

#[derive(Default)]
struct SessionParts {
    game_id: Option<String>,
    tracks: HashMap<Object, Samples>,
    clocks: Vec<(i64, Option<f64>, Option<f64>)>,
    extent: Option<(i64, i64)>,
    /// The largest coordinate of a position, in millimetres.
    largest: f64,
    events: Events,
}

/// Positions without a team, given to the only team that the player has in others and in possessions.
fn with_teams(mut tracks: HashMap<Object, Samples>, possessions: &[Possession]) -> HashMap<Object, Samples> {
    let mut teams: HashMap<i64, Option<i64>> = HashMap::new();
    let of_tracks = tracks.keys().filter_map(|object| match *object {
        Object::Player { team_id, player_id } => Some((known_team(team_id)?, player_id)),
        Object::Ball => None,
    });
    let of_possession = |possession: &Possession| {
        let team_id = possession.team_id;
        possession.players.iter().map(move |player_id| (team_id, *player_id)).collect::<Vec<_>>()
    };
    for (team_id, player_id) in of_tracks.chain(possessions.iter().flat_map(of_possession)) {
        let team = teams.entry(player_id).or_insert(Some(team_id));
        *team = team.filter(|id| *id == team_id);
    }
    for (player_id, team_id) in teams.into_iter().filter(|(_, team_id)| team_id.is_some()) {
        if let Some(samples) = tracks.remove(&Object::player(None, player_id)) {
            tracks.entry(Object::player(team_id, player_id)).or_default().extend(samples);
        }
    }
    tracks
}

/// The tables of a `Tracking`, while they are read.
#[derive(Default)]
pub(super) struct SessionReader {
    places: HashMap<Option<String>, usize>,
    sessions: Vec<(Option<String>, SessionParts)>,
}

impl SessionReader {
    fn place(&mut self, session_id: Option<&str>) -> usize {
        let id = session_id.map(str::to_owned);
        *self.places.entry(id.clone()).or_insert_with(|| {
            self.sessions.push((id, SessionParts::default()));
            self.sessions.len() - 1
        })
    }

    pub(super) fn add_locations(&mut self, batch: &RecordBatch) -> PyResult<()> {
        let columns = Columns { argument: "locations", batch };
        columns.require(&["t", "player_id", "x", "y"])?;
        let (sessions, games) = (columns.texts("session_id")?, columns.texts("game_id")?);
        let (times, kinds) = (columns.times("t")?, columns.texts("type")?);
        let (teams, players) = (columns.integers("team_id")?, columns.integers("player_id")?);
        let [x, y, z] = [columns.numbers("x")?, columns.numbers("y")?, columns.numbers("z")?];
        let (game_clock, shot_clock) = (columns.numbers("game_clock_s")?, columns.numbers("shot_clock_s")?);
        let mut last: Option<(Option<String>, usize)> = None;
        for row in 0..batch.num_rows() {
            let id = sessions.get(row);
            let place = match &last {
                Some((last_id, place)) if last_id.as_deref() == id => *place,
                _ => self.place(id),
            };
            if last.as_ref().is_none_or(|(_, last_place)| *last_place != place) {
                last = Some((id.map(str::to_owned), place));
            }
            let parts = &mut self.sessions[place].1;
            if parts.game_id.is_none() {
                parts.game_id = games.get(row).map(str::to_owned);
            }
            let Some(t_ms) = times.get(row) else { continue };
            parts.extent = Some(parts.extent.map_or((t_ms, t_ms), |(a, b)| (a.min(t_ms), b.max(t_ms))));
            let clocks = (t_ms, game_clock.get(row), shot_clock.get(row));
            if (clocks.1.is_some() || clocks.2.is_some()) && parts.clocks.last() != Some(&clocks) {
                parts.clocks.push(clocks);
            }
            let object = match (kinds.get(row), players.get(row)) {
                (Some("BALL"), _) => Object::Ball,
                (_, Some(player_id)) => Object::player(teams.get(row), player_id),
                _ => continue,
            };
            let metres = |value: Option<f64>| value.map_or(f64::NAN, |value| value / 1000.0);
            let samples = parts.tracks.entry(object).or_default();
            parts.largest = [x.get(row), y.get(row)].into_iter().flatten().map(f64::abs).fold(parts.largest, f64::max);
            samples.push(t_ms, metres(x.get(row)), metres(y.get(row)), metres(z.get(row)));
        }
        Ok(())
    }

    fn place_of(&self, session_id: Option<&str>, game_id: Option<&str>, t_ms: i64) -> Option<usize> {
        let sessions = self.sessions.iter();
        let sessions = sessions.map(|(id, parts)| ((id.as_deref(), parts.game_id.as_deref()), || parts.extent));
        place_of(sessions, (session_id, game_id), Some(t_ms))
    }

    pub(super) fn add_shots(&mut self, rows: &[EventRow]) {
        for row in rows {
            let Some(t_ms) = row.moment.t_ms else { continue };
            let place = self.place_of(row.session_id.as_deref(), row.game_id.as_deref(), t_ms);
            let Some((_, parts)) = place.and_then(|place| self.sessions.get_mut(place)) else { continue };
            if let (Some(player_id), Some((x, y))) = (row.moment.player_id, row.moment.place) {
                parts.events.shots.push(Shot { t_ms, player_id, x, y });
            }
            parts.game_id = parts.game_id.take().or_else(|| row.game_id.clone());
            parts.events.periods.extend(row.period.clone().map(|period| (t_ms, period)));
        }
    }

    pub(super) fn add_events(&mut self, batch: &RecordBatch) -> PyResult<()> {
        let columns = Columns { argument: "stat_events", batch };
        columns.require(&["occurred_at"])?;
        let (sessions, games) = (columns.texts("session_id")?, columns.texts("game_id")?);
        let (times, periods) = (columns.times("occurred_at")?, columns.texts("period")?);
        for row in 0..batch.num_rows() {
            let (Some(t_ms), Some(period)) = (times.get(row), periods.get(row)) else { continue };
            let place = self.place_of(sessions.get(row), games.get(row), t_ms);
            if let Some((_, parts)) = place.and_then(|place| self.sessions.get_mut(place)) {
                parts.events.periods.push((t_ms, period.to_owned()));
            }
        }
        Ok(())
    }

    pub(super) fn add_possessions(&mut self, batch: &RecordBatch) -> PyResult<()> {
        let columns = Columns { argument: "possessions", batch };
        columns.require(&["team_id", "start_timestamp", "end_timestamp"])?;
        let (sessions, games) = (columns.texts("session_id")?, columns.texts("game_id")?);
        let (teams, numbers) = (columns.integers("team_id")?, columns.integers("possession")?);
        let (starts, ends) = (columns.times("start_timestamp")?, columns.times("end_timestamp")?);
        let (own_players, others) = (columns.id_lists("player_ids")?, columns.id_lists("opposing_player_ids")?);
        let periods = columns.texts("period")?;
        for row in 0..batch.num_rows() {
            let Some(team_id) = teams.get(row) else { continue };
            let (start_ms, end_ms) = match (starts.get(row), ends.get(row)) {
                (Some(start_ms), Some(end_ms)) => (start_ms, end_ms),
                (Some(t_ms), None) | (None, Some(t_ms)) => (t_ms, t_ms.saturating_sub(1)),
                (None, None) => continue,
            };
            let place = self.place_of(sessions.get(row), games.get(row), start_ms);
            let Some((_, parts)) = place.and_then(|place| self.sessions.get_mut(place)) else { continue };
            parts.game_id = parts.game_id.take().or_else(|| games.get(row).map(str::to_owned));
            if let Some(period) = periods.get(row) {
                // Its middle: two possessions meet at the border of two periods.
                parts.events.periods.push((start_ms.midpoint(end_ms), period.to_owned()));
            }
            let number = numbers.get(row).and_then(|number| i32::try_from(number).ok());
            let (players, opponents) = (own_players.get(row).unwrap_or_default(), others.get(row).unwrap_or_default());
            parts.events.possessions.push(Possession { team_id, number, start_ms, end_ms, players, opponents });
        }
        Ok(())
    }

    /// Raises if the objects of a session are always so near to the centre that their unit is another one.
    pub(super) fn check_unit(&self, court: &Court) -> PyResult<()> {
        let limit = |parts: &SessionParts| match parts.tracks.len() {
            0..3 => 0.0,
            3..10 => MAX_WRONG_UNIT_MM,
            _ => MAX_WRONG_UNIT_SHARE * 1000.0 * court.half_length,
        };
        let is_small = |parts: &SessionParts| parts.largest > 0.0 && parts.largest < limit(parts);
        match self.sessions.iter().find(|(_, parts)| is_small(parts)) {
            Some((_, parts)) => Err(PyValueError::new_err(format!(
                "locations: no x or y is larger than {}; they must be millimetres from the centre of the court",
                parts.largest
            ))),
            None => Ok(()),
        }
    }

    /// The sessions in the order of their times.
    pub(super) fn finish(self, court: Court) -> Vec<RecordedSession> {
        let mut parts = self.sessions;
        parts.sort_unstable_by(|a, b| (a.1.extent, &a.0).cmp(&(b.1.extent, &b.0)));
        let record = |(session_id, mut parts): (Option<String>, SessionParts)| {
            parts.clocks.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.partial_cmp(&b.1).unwrap_or(std::cmp::Ordering::Equal)));
            parts.clocks.dedup_by_key(|clock| clock.0);
            parts
                .events
                .possessions
                .sort_by_key(|possession| (possession.start_ms, possession.team_id, possession.end_ms));
            let session =
                Session::new(tracks(with_teams(parts.tracks, &parts.events.possessions), &court), parts.events, court);
            RecordedSession { session_id, game_id: parts.game_id, session, clocks: parts.clocks }
        };
        parts.into_iter().map(record).collect()
    }
}

/// The column with the times of rows, and whether it has the clock of the events.
const TIMES: [(&str, bool); 4] = [("occurred_at", true), ("timestamp", true), ("start_timestamp", true), ("t", false)];

/// Shots, or other rows that have a time and a player.
pub(super) fn event_rows(argument: &'static str, batch: &RecordBatch) -> PyResult<Vec<EventRow>> {
    let columns = Columns { argument, batch };
    let time = TIMES.into_iter().find(|(name, _)| columns.has(name));
    let (time, is_event_time) = match time {
        Some(time) => time,
        None => return Err(columns.require(&["occurred_at or t"]).err().unwrap_or_else(|| columns_missing(argument))),
    };
    columns.require(&["player_id"])?;
    let (sessions, games) = (columns.texts("session_id")?, columns.texts("game_id")?);
    let (teams, players, times) = (columns.integers("team_id")?, columns.integers("player_id")?, columns.times(time)?);
    let numbers = |name: &str| columns.numbers(name);
    let [x, y, hoop_x, hoop_y] = [numbers("player_x")?, numbers("player_y")?, numbers("hoop_x")?, numbers("hoop_y")?];
    let [chart_x, chart_y] = [numbers("hoop_player_x")?, numbers("hoop_player_y")?];
    let (makes, threes) = (columns.flags("is_make")?, columns.flags("is_3point")?);
    let (points, zones) = (columns.integers("points")?, columns.integers("zone")?);
    let (periods, defenders) = (columns.texts("period")?, columns.id_lists("defender_ids")?);
    let metres = |x: Option<f64>, y: Option<f64>| Some((x? / 1000.0, y? / 1000.0));
    let row = |row: usize| EventRow {
        session_id: sessions.get(row).map(str::to_owned),
        game_id: games.get(row).map(str::to_owned),
        team_id: teams.get(row),
        period: periods.get(row).map(str::to_owned),
        moment: Moment {
            t_ms: times.get(row),
            is_event_time,
            player_id: players.get(row),
            place: metres(x.get(row), y.get(row)),
            hoop: metres(hoop_x.get(row), hoop_y.get(row)),
        },
        is_make: makes.get(row),
        is_three: threes.get(row),
        points: points.get(row),
        zone: zones.get(row),
        chart: (chart_x.get(row), chart_y.get(row)),
        service_defenders: defenders.get(row),
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

fn columns_missing(argument: &str) -> PyErr {
    PyValueError::new_err(format!("{argument} has no column with times"))
}
