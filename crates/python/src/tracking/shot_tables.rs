//! Defenders, matchups and shot quality as tables.

use super::motion_tables::period_at;
use super::sessions::EventRow;
use super::write::Writer;
use arrow_array::RecordBatch;
use sideline::resource::tracking as declared;
use std::collections::{BTreeMap, HashSet};
use tracking::defenders::{Defender, Moment, Openness, Surroundings, defender, surroundings, time_of};
use tracking::intervals::wilson;
use tracking::matchups::{Guarding, matchups as matchups_of};
use tracking::quality::{QualityShot, qualities};
use tracking::reason::Reason;
use tracking::recording::RecordedSession;

type Batch = Result<RecordBatch, String>;

/// A row with its response.
struct Response<'a> {
    row: &'a EventRow,
    entry: Option<&'a RecordedSession>,
    /// In the clock of the positions.
    t_ms: Option<i64>,
    defender: Result<Defender, Reason>,
    surroundings: Surroundings,
}

fn find_defenders<'a>(sessions: &'a [RecordedSession], rows: &'a [EventRow], shift_s: f64) -> Vec<Response<'a>> {
    let shift_ms = (shift_s * 1000.0).round() as i64;
    let response = |row: &'a EventRow| {
        let entry = row.session(sessions);
        let names = row.service_defenders.as_deref().unwrap_or_default();
        let mut moment = row.moment;
        moment.t_ms = moment.t_ms.map(|t| t.saturating_add(shift_ms));
        // Only at the shot itself is the shooter at its place.
        moment.place = moment.place.filter(|_| shift_ms == 0);
        Response {
            row,
            entry,
            t_ms: entry.and_then(|entry| time_of(&entry.session, &moment).ok()),
            defender: entry.map_or(Err(Reason::ShooterNotTracked), |entry| defender(&entry.session, &moment)),
            surroundings: entry.map(|entry| surroundings(&entry.session, &moment, names)).unwrap_or_default(),
        }
    };
    rows.iter().map(response).collect()
}

/// The responses to the shots, without those of a shot that the tables have twice: it counts once.
fn find_shots<'a>(sessions: &'a [RecordedSession], shots: &'a [EventRow]) -> Vec<Response<'a>> {
    let mut known_shots = HashSet::new();
    let mut responses = find_defenders(sessions, shots, 0.0);
    responses.retain(|response| {
        let Moment { t_ms, player_id, place, .. } = response.row.moment;
        let place = place.map(|(x, y)| (x.to_bits(), y.to_bits()));
        let session = response.entry.map(|entry| &raw const *entry);
        known_shots.insert((session, t_ms, player_id, place))
    });
    responses
}

impl Response<'_> {
    fn session_id(&self) -> Option<&str> {
        self.entry.and_then(|entry| entry.session_id.as_deref()).or(self.row.session_id.as_deref())
    }

    fn game_id(&self) -> Option<&str> {
        self.row.game_id.as_deref().or_else(|| self.entry?.game_id.as_deref())
    }

    fn period(&self) -> Option<&str> {
        self.row.period.as_deref().or_else(|| period_at(self.entry?, self.t_ms?))
    }

    fn reason(&self) -> Option<Reason> {
        match self.defender {
            Err(reason) => Some(reason),
            Ok(defender) => defender.closing_mps.is_none().then_some(Reason::Gap),
        }
    }

    fn openness(&self) -> Option<Openness> {
        self.defender.ok().map(|defender| Openness::of(defender.distance_m))
    }
}

pub(super) fn defenders(sessions: &[RecordedSession], rows: &[EventRow], shift_s: f64) -> Batch {
    let responses = find_defenders(sessions, rows, shift_s);
    let rows = || responses.iter();
    let named_defenders = || responses.iter().map(|response| response.defender.ok());
    let mut writer = Writer::default();
    writer
        .texts(rows().map(Response::session_id))
        .texts(rows().map(Response::game_id))
        .positions((0..).map(Some).take(responses.len()))
        .integers(rows().map(|response| response.row.team_id))
        .integers(rows().map(|response| response.row.moment.player_id))
        .categories(rows().map(Response::period))
        .times(rows().map(|response| response.row.moment.t_ms.filter(|_| response.row.moment.is_event_time)))
        .times(rows().map(|response| response.t_ms))
        .integers(named_defenders().map(|defender| Some(defender?.defender_id)))
        .numbers(named_defenders().map(|defender| Some(defender?.distance_m)))
        .integers(named_defenders().map(|defender| Some(defender?.second_defender_id)))
        .numbers(named_defenders().map(|defender| Some(defender?.second_distance_m)))
        .numbers(named_defenders().map(|defender| defender?.closing_mps))
        .numbers(named_defenders().map(|defender| defender?.angle_deg))
        .categories(rows().map(|row| row.openness().map(Openness::name)))
        .id_lists(rows().map(|response| response.row.service_defenders.as_deref()))
        .numbers(rows().map(|response| response.entry?.session.offset_s.filter(|_| response.row.moment.is_event_time)))
        .categories(rows().map(|response| response.reason().map(Reason::name)));
    writer
        .flags(rows().map(|response| response.row.is_make))
        .flags(rows().map(|response| response.row.is_three))
        .integers(rows().map(|response| response.row.points))
        .integers(rows().map(|response| response.row.zone))
        .numbers(rows().map(|response| response.row.chart.0))
        .numbers(rows().map(|response| response.row.chart.1))
        .numbers(rows().map(|response| response.surroundings.place_error_m))
        .numbers(rows().map(|response| response.surroundings.ball_m))
        .numbers(rows().map(|response| response.surroundings.named_m))
        .finish(&declared::DEFENDERS)
}

/// What an attacker did against a defender.
#[derive(Default)]
struct Pair {
    team_id: Option<i64>,
    guarding: Option<Guarding>,
    shots: u64,
    makes: u64,
    points: i64,
}

pub(super) fn matchups(sessions: &[RecordedSession], shots: &[EventRow]) -> Batch {
    let mut pairs: BTreeMap<(i64, i64), Pair> = BTreeMap::new();
    for entry in sessions {
        for ((team_id, attacker, defender), guarding) in matchups_of(&entry.session) {
            let pair = pairs.entry((attacker, defender)).or_default();
            pair.team_id = Some(team_id);
            let sum = pair.guarding.get_or_insert_default();
            sum.seconds += guarding.seconds;
            sum.metre_seconds += guarding.metre_seconds;
        }
    }
    for response in find_shots(sessions, shots) {
        let (Some(attacker), Ok(defender)) = (response.row.moment.player_id, response.defender) else { continue };
        let (Some(is_make), Some(points)) = (response.row.is_make, response.row.scored_points()) else { continue };
        let pair = pairs.entry((attacker, defender.defender_id)).or_default();
        pair.team_id = pair.team_id.or(response.row.team_id);
        pair.shots += 1;
        pair.makes += u64::from(is_make);
        pair.points += points;
    }
    // Without the possessions of one session, or the time of one, the sum would be a part of the time only.
    let has_possessions = sessions.iter().all(|entry| entry.session.has_times_of_possessions());
    let guarding = |pair: &Pair| has_possessions.then(|| pair.guarding.unwrap_or_default());
    let mean_distance = |sum: Guarding| (sum.seconds > 0.0).then(|| sum.metre_seconds / sum.seconds);
    let rows = || pairs.values();
    let count = |count: u64| i64::try_from(count).ok();
    Writer::default()
        .integers(pairs.keys().map(|key| Some(key.0)))
        .integers(pairs.keys().map(|key| Some(key.1)))
        .numbers(rows().map(|pair| Some(guarding(pair)?.seconds)))
        .numbers(rows().map(|pair| mean_distance(guarding(pair)?)))
        .integers(rows().map(|pair| count(pair.shots)))
        .integers(rows().map(|pair| count(pair.makes)))
        .integers(rows().map(|pair| Some(pair.points)))
        .numbers(rows().map(|pair| wilson(pair.makes, pair.shots).map(|interval| interval.0)))
        .numbers(rows().map(|pair| wilson(pair.makes, pair.shots).map(|interval| interval.1)))
        .integers(rows().map(|pair| pair.team_id))
        .finish(&declared::MATCHUPS)
}

/// Shooter, team, defender, openness and zone; `None` where the groups have several.
type GroupKey = (Option<i64>, Option<i64>, Option<i64>, Option<Openness>, Option<i64>);

pub(super) fn shot_quality(sessions: &[RecordedSession], shots: &[EventRow], by: &[String]) -> Batch {
    let has_column = |name: &str| by.iter().any(|column| column == name);
    let mut groups: BTreeMap<GroupKey, Vec<QualityShot>> = BTreeMap::new();
    for response in find_shots(sessions, shots) {
        let (Ok(defender), Some(openness)) = (response.defender, response.openness()) else { continue };
        let (Some(is_make), Some(is_three)) = (response.row.is_make, response.row.is_three) else { continue };
        let key = (
            response.row.moment.player_id.filter(|_| has_column("player_id")),
            response.row.team_id.filter(|_| has_column("team_id")),
            Some(defender.defender_id).filter(|_| has_column("defender_id")),
            Some(openness).filter(|_| has_column("openness")),
            response.row.zone.filter(|_| has_column("zone")),
        );
        let shot = QualityShot { group: 0, zone: response.row.zone, openness, is_make, is_three };
        groups.entry(key).or_default().push(shot);
    }

    let shots: Vec<QualityShot> = groups
        .values()
        .enumerate()
        .flat_map(|(group, shots)| shots.iter().map(move |shot| QualityShot { group, ..shot.clone() }))
        .collect();
    let rows = qualities(&shots, groups.len());
    let rows = || groups.keys().zip(rows.iter().flatten());
    Writer::default()
        .integers(rows().map(|(key, _)| key.0))
        .integers(rows().map(|(key, _)| key.1))
        .integers(rows().map(|(key, _)| key.2))
        .categories(rows().map(|(key, _)| key.3.map(Openness::name)))
        .integers(rows().map(|(key, _)| key.4))
        .integers(rows().map(|(_, row)| i64::try_from(row.shots).ok()))
        .numbers(rows().map(|(_, row)| Some(row.efg)))
        .numbers(rows().map(|(_, row)| Some(row.expected_efg)))
        .numbers(rows().map(|(_, row)| Some(row.efg - row.expected_efg)))
        .numbers(rows().map(|(_, row)| Some(row.interval.0)))
        .numbers(rows().map(|(_, row)| Some(row.interval.1)))
        .finish(&declared::SHOT_QUALITY)
}
