//! Stats, details, possessions and shots, all derived from the same events so that they agree.

use super::corrections::Correction;
use super::game_log::{Act, GameLog, GamePeriod, GamePossession, PlayEvent};
use super::links;
use super::roster::TeamMember;
use crate::model::possessions::{self as wire, PossessionPlayer, PossessionStat, ShotAttributes, TeamPossessions};
use crate::model::shots::{PlayerShots, Shot, TeamShots};
use crate::model::stats::{PlayerDetails, PlayerStats, TeamStats};
use crate::model::stats_details::{Occurrence, PlayerOccurrences, TeamDetails};
use crate::model::team::Team;
use crate::sport::Sport;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Every counted code, in the order of the bodies (the `_OTD` ones are derived).
pub(super) const CODES: [&str; 20] = [
    "FGA",
    "FG",
    "FGA2",
    "FG2",
    "FGA3",
    "FG3",
    "FTA",
    "FT",
    "PTS",
    "AST",
    "TO",
    "LBTO",
    "STL",
    "REB",
    "OFFENSIVE_REB",
    "DEFENSIVE_REB",
    "BLK",
    "FL",
    "FGA_OTD",
    "FGA3_OTD",
];

/// Distance is measured, not counted.
pub(super) const DISTANCE: &str = "DIST";

/// The codes that an event adds, the naming one first: a possession has it as its type, the others as its details.
pub(super) fn codes(act: &Act) -> Vec<(&'static str, i64)> {
    match act {
        Act::Shot { is_made, three, attributes, .. } => {
            let off_the_dribble = attributes.contains(&"OTD");
            let mut codes = vec![("FGA", 1), (if *three { "FGA3" } else { "FGA2" }, 1)];
            if *is_made {
                let points = if *three { 3 } else { 2 };
                codes.extend([("FG", 1), (if *three { "FG3" } else { "FG2" }, 1), ("PTS", points)]);
            }
            if off_the_dribble {
                codes.push(("FGA_OTD", 1));
            }
            if off_the_dribble && *three {
                codes.push(("FGA3_OTD", 1));
            }
            codes
        }
        Act::FreeThrow { is_made: true } => vec![("FTA", 1), ("FT", 1), ("PTS", 1)],
        Act::FreeThrow { is_made: false } => vec![("FTA", 1)],
        Act::Assist => vec![("AST", 1)],
        Act::Turnover { live: true } => vec![("TO", 1), ("LBTO", 1)],
        Act::Turnover { live: false } => vec![("TO", 1)],
        Act::Steal => vec![("STL", 1)],
        Act::Rebound { offensive: true } => vec![("OFFENSIVE_REB", 1), ("REB", 1)],
        Act::Rebound { offensive: false } => vec![("DEFENSIVE_REB", 1), ("REB", 1)],
        Act::Block => vec![("BLK", 1)],
        Act::Foul => vec![("FL", 1)],
    }
}

pub(super) fn scores(act: &Act) -> bool {
    matches!(act, Act::Shot { is_made: true, .. } | Act::FreeThrow { is_made: true })
}

/// Periods with their visible possessions.
pub(super) type VisiblePeriods<'a> = Vec<(&'a GamePeriod, &'a [GamePossession])>;

/// A game log as one of its teams sees it.
struct View<'a> {
    game_log: &'a GameLog,
    team: usize,
    /// Both in a scrimmage.
    sides: Vec<usize>,
    visible: &'a VisiblePeriods<'a>,
}

impl<'a> View<'a> {
    fn new(game_log: &'a GameLog, team: usize, visible: &'a VisiblePeriods<'a>) -> Self {
        let sides = (0..2).filter(|side| game_log.sides[*side].team == team).collect();
        View { game_log, team, sides, visible }
    }

    /// A scrimmage has no score: the service attaches scores only in games.
    fn is_game(&self) -> bool {
        self.sides.len() == 1
    }

    fn possessions(&self) -> impl Iterator<Item = (&'a GamePeriod, &'a GamePossession)> {
        self.visible
            .iter()
            .flat_map(|(period, possessions)| possessions.iter().map(move |possession| (*period, possession)))
    }

    /// The team's players who appear in the visible part.
    fn corrections(&self) -> impl Iterator<Item = &'a Correction> {
        self.game_log.corrections.iter().filter(|correction| {
            self.sides.contains(&correction.side)
                && self.visible.iter().any(|(period, _)| period.id == correction.session_id)
        })
    }

    /// What players of the team did.
    fn play_events(&self) -> impl Iterator<Item = (&'a GamePeriod, &'a TeamMember, &'a PlayEvent)> {
        let game_log = self.game_log;
        self.possessions()
            .flat_map(|(period, possession)| possession.play_events.iter().map(move |play_event| (period, play_event)))
            .filter(|(_, play_event)| self.sides.contains(&play_event.side))
            .map(move |(period, play_event)| {
                (period, &*game_log.sides[play_event.side].members[play_event.member], play_event)
            })
    }

    /// Players of the team who were on court.
    fn on_court(&self, possession: &'a GamePossession) -> impl Iterator<Item = &'a TeamMember> {
        let game_log = self.game_log;
        self.sides.iter().flat_map(move |side| {
            possession.on_court[*side].iter().map(move |place| &*game_log.sides[*side].members[*place])
        })
    }
}

/// A player's line of a box score, or the team's.
#[derive(Debug, Clone, Default)]
pub(super) struct StatLine {
    player: Option<PlayerDetails>,
    /// `None`: never counted.
    counts: [Option<i64>; CODES.len()],
    /// In cm. It is whole for each possession, so the sessions of a game add up to the game.
    distance: i64,
    /// The team's score and the opponent's when the player last scored.
    scores: Option<[i64; 2]>,
    version: i64,
    games: i64,
}

impl StatLine {
    fn count(&mut self, code: &str, value: i64) {
        if let Some(place) = CODES.iter().position(|other| *other == code) {
            *self.counts[place].get_or_insert(0) += value;
        }
    }

    fn add(&mut self, other: &StatLine) {
        for (sum, more) in self.counts.iter_mut().zip(other.counts) {
            *sum = more.map(|more| sum.unwrap_or(0) + more).or(*sum);
        }
        self.distance += other.distance;
        self.version = self.version.max(other.version);
    }

    fn wire(&self, id: i64, games_played: Option<i64>) -> PlayerStats {
        let mut stats = Map::new();
        for (code, count) in CODES.iter().zip(self.counts) {
            if let Some(count) = count {
                stats.insert((*code).to_owned(), Value::from(count));
            }
        }
        stats.insert(DISTANCE.to_owned(), Value::from(self.distance));
        if let Some([own_score, opposing_score]) = self.scores {
            stats.insert("TEAM_SCORE".to_owned(), Value::from(own_score));
            stats.insert("OPPOSING_TEAM_SCORE".to_owned(), Value::from(opposing_score));
        }
        PlayerStats { id, player_details: self.player.clone(), version: self.version, games_played, stats }
    }
}

/// The lines of a team's players, by player.
pub(super) type StatLines = BTreeMap<i64, StatLine>;

fn lines(view: &View) -> StatLines {
    let mut lines = StatLines::new();
    for (_, possession) in view.possessions() {
        for member in view.on_court(possession) {
            let line = lines.entry(member.player.id).or_insert_with(|| StatLine {
                player: Some(member.details()),
                games: 1,
                ..StatLine::default()
            });
            line.distance += possession.distance(member.skills.pace);
            line.version = possession.version;
        }
    }
    for (_, member, play_event) in view.play_events() {
        let Some(line) = lines.get_mut(&member.player.id) else { continue };
        for (code, value) in codes(&play_event.act) {
            line.count(code, value);
        }
        if scores(&play_event.act) && view.is_game() {
            line.scores = Some([play_event.score[play_event.side], play_event.score[1 - play_event.side]]);
        }
    }
    for correction in view.corrections() {
        let Some(line) = lines.get_mut(&correction.player_id) else { continue };
        match correction.code {
            DISTANCE => line.distance += correction.delta,
            code => line.count(code, correction.delta),
        }
        line.version = line.version.max(correction.version);
    }
    lines
}

/// A player's value of a code in the visible part; `None`: the player was not on court, or the code is unknown.
pub(super) fn value(
    game_log: &GameLog,
    team: usize,
    visible: &VisiblePeriods,
    player_id: i64,
    code: &str,
) -> Option<i64> {
    let line = lines(&View::new(game_log, team, visible)).remove(&player_id)?;
    match code {
        DISTANCE => Some(line.distance),
        code => Some(line.counts[CODES.iter().position(|other| *other == code)?].unwrap_or(0)),
    }
}

/// A team's total, then its players. Empty before anyone has played.
fn with_total(lines: &StatLines, scores: Option<[i64; 2]>, games: Option<i64>) -> Vec<PlayerStats> {
    let mut total = StatLine { scores, ..StatLine::default() };
    lines.values().for_each(|line| total.add(line));
    let players = lines.iter().map(|(id, line)| line.wire(*id, games.map(|_| line.games)));
    let total = (!lines.is_empty()).then(|| total.wire(0, games));
    total.into_iter().chain(players).collect()
}

pub(super) fn stats(game_log: &GameLog, team: usize, wire: &Team, visible: &VisiblePeriods) -> TeamStats {
    let view = View::new(game_log, team, visible);
    // The current score, including what the opponent scored since.
    let side = view.sides[0];
    let scores = game_log.score(visible).filter(|_| view.is_game()).map(|score| [score[side], score[1 - side]]);
    team_stats(wire, with_total(&lines(&view), scores, None))
}

/// The lines of one game, to be summed with those of others.
pub(super) fn game_lines(game_log: &GameLog, team: usize, visible: &VisiblePeriods) -> StatLines {
    lines(&View::new(game_log, team, visible))
}

/// Sums over games.
pub(super) fn sum(team: &Team, games: &[StatLines]) -> TeamStats {
    let mut sums = StatLines::new();
    for (id, line) in games.iter().flatten() {
        let sum = sums.entry(*id).or_insert_with(|| StatLine { player: line.player.clone(), ..StatLine::default() });
        sum.add(line);
        sum.games += line.games;
    }
    // A score belongs to one moment of one game: sums have none.
    team_stats(team, with_total(&sums, None, Some(games.iter().filter(|lines| !lines.is_empty()).count() as i64)))
}

fn team_stats(team: &Team, player_stats: Vec<PlayerStats>) -> TeamStats {
    TeamStats { id: team.id, name: team.name.clone(), logo_image_link: links::logo(team.id), player_stats }
}

pub(super) fn details(game_log: &GameLog, team: usize, wire: &Team, visible: &VisiblePeriods) -> TeamDetails {
    let view = View::new(game_log, team, visible);
    let lines = lines(&view);
    // By player and code; 0 is the team.
    let mut all: BTreeMap<i64, Vec<Vec<Occurrence>>> = BTreeMap::new();
    let (own_score, opposing_score) = (CODES.len(), CODES.len() + 1);
    for (period, member, play_event) in view.play_events() {
        let mut values: Vec<(usize, i64)> = codes(&play_event.act)
            .into_iter()
            .filter_map(|(code, value)| Some((CODES.iter().position(|other| *other == code)?, value)))
            .collect();
        if scores(&play_event.act) && view.is_game() {
            values.push((own_score, play_event.score[play_event.side]));
            values.push((opposing_score, play_event.score[1 - play_event.side]));
        }
        for (code, value) in values {
            let occurrence = occurrence(game_log, period, play_event, value);
            for id in [0, member.player.id] {
                let lists = all.entry(id).or_insert_with(|| vec![Vec::new(); CODES.len() + 2]);
                lists[code].push(occurrence.clone());
            }
        }
    }
    for correction in view.corrections() {
        let Some(code) = CODES.iter().position(|other| *other == correction.code) else { continue };
        for id in [0, correction.player_id] {
            let lists = all.entry(id).or_insert_with(|| vec![Vec::new(); CODES.len() + 2]);
            lists[code].push(correction.occurrence());
        }
    }
    let names = || CODES.iter().chain(&["TEAM_SCORE", "OPPOSING_TEAM_SCORE"]);
    let player_stats = all.into_iter().map(|(id, lists)| PlayerOccurrences {
        id,
        player_details: lines.get(&id).and_then(|line| line.player.clone()),
        version: match lines.get(&id) {
            Some(line) => line.version,
            None => lines.values().map(|line| line.version).max().unwrap_or(0),
        },
        stats: names()
            .zip(lists)
            .filter(|(_, list)| !list.is_empty())
            .map(|(code, list)| ((*code).to_owned(), list))
            .collect(),
    });
    TeamDetails {
        id: wire.id,
        name: wire.name.clone(),
        logo_image_link: links::logo(wire.id),
        player_stats: player_stats.collect(),
    }
}

fn occurrence(game_log: &GameLog, period: &GamePeriod, play_event: &PlayEvent, value: i64) -> Occurrence {
    let (place, chart) = (play_event.shown_place(), play_event.shown_place().chart());
    Occurrence {
        occurred_at: play_event.at,
        value: value as f64,
        game_clock: Some(game_log.clocks.game(play_event.clock)),
        shot_clock: play_event.shot_clock.map(|left| game_log.clocks.shot(left)),
        period: period.name.clone(),
        x: Some(place.x as f64),
        y: Some(place.y as f64),
        z: Some(place.z as f64),
        hoop_to_event_x: Some(chart.x as f64),
        hoop_to_event_y: Some(chart.y as f64),
    }
}

pub(super) fn possessions(game_log: &GameLog, team: usize, wire: &Team, visible: &VisiblePeriods) -> TeamPossessions {
    let view = View::new(game_log, team, visible);
    let mut players = BTreeMap::new();
    for (_, possession) in view.possessions() {
        for member in view.on_court(possession) {
            players.entry(member.player.id).or_insert_with(|| PossessionPlayer {
                id: member.player.id,
                first_name: member.player.first_name.clone(),
                last_name: member.player.last_name.clone(),
                profile_image_link: member.player.profile_image_link.clone(),
            });
        }
    }
    let own_possessions =
        view.possessions().filter(|(_, possession)| game_log.sides[possession.side].team == view.team);
    TeamPossessions {
        id: wire.id,
        name: wire.name.clone(),
        team_player_details: players.into_values().collect(),
        possessions: own_possessions.map(|(period, possession)| possession_of(game_log, period, possession)).collect(),
    }
}

fn possession_of(game_log: &GameLog, period: &GamePeriod, possession: &GamePossession) -> wire::Possession {
    let five = |side: usize| {
        possession.on_court[side].iter().map(|place| game_log.sides[side].members[*place].player.id).collect()
    };
    let (from, to) = (possession.started_at, possession.ended_at);
    wire::Possession {
        _locations: links::locations(Sport::Basketball, &period.id, from, to),
        start_timestamp: from,
        end_timestamp: to,
        start_game_clock: game_log.clocks.game(possession.start_clock),
        end_game_clock: game_log.clocks.game(possession.end_clock),
        period: period.name.clone(),
        player_ids: five(possession.side),
        opposing_player_ids: five(1 - possession.side),
        stats: possession.play_events.iter().map(|play_event| possession_stat(game_log, play_event)).collect(),
        possession_attributes: possession.attributes.clone(),
    }
}

fn possession_stat(game_log: &GameLog, play_event: &PlayEvent) -> PossessionStat {
    let mut codes = codes(&play_event.act).into_iter().map(|(code, _)| code.to_owned());
    PossessionStat {
        timestamp: play_event.at,
        possession_type: codes.next().unwrap_or_default(),
        details: codes.collect(),
        player_id: game_log.sides[play_event.side].members[play_event.member].player.id,
        game_clock: Some(game_log.clocks.game(play_event.clock)),
        shot_clock: play_event.shot_clock.map(|left| game_log.clocks.shot(left)),
        shot_attributes: match play_event.act {
            Act::Shot { three, .. } => Some(shot_attributes(play_event, three)),
            _ => None,
        },
    }
}

fn shot_attributes(play_event: &PlayEvent, is_3point: bool) -> ShotAttributes {
    let (place, chart) = (play_event.place, play_event.place.chart());
    ShotAttributes {
        shot_distance_cm: chart.distance_cm(),
        x: place.x as f64,
        y: place.y as f64,
        z: place.z as f64,
        zone: chart.zone(),
        advanced_zone: chart.advanced_zone(),
        is_3point,
    }
}

pub(super) fn shots(game_log: &GameLog, team: usize, wire: &Team, visible: &VisiblePeriods) -> TeamShots {
    let mut shooters: BTreeMap<i64, PlayerShots> = BTreeMap::new();
    for (period, member, play_event) in View::new(game_log, team, visible).play_events() {
        let Some(shot) = shot(game_log, period, play_event) else { continue };
        let id = member.player.id;
        let shooter = shooters.entry(id).or_insert_with(|| PlayerShots {
            id,
            player_details: member.details(),
            shots: Vec::new(),
        });
        shooter.shots.push(shot);
    }
    TeamShots {
        id: wire.id,
        name: wire.name.clone(),
        logo_image_link: links::logo(wire.id),
        player_shots: shooters.into_values().collect(),
    }
}

/// The shot of an event, if it is one.
pub(super) fn shot(game_log: &GameLog, period: &GamePeriod, play_event: &PlayEvent) -> Option<Shot> {
    let Act::Shot { is_made, three, attributes, .. } = &play_event.act else { return None };
    let (place, chart) = (play_event.place, play_event.place.chart());
    Some(Shot {
        occurred_at: play_event.at,
        is_make: *is_made,
        is_3point: *three,
        zone: chart.zone(),
        advanced_zone: chart.advanced_zone(),
        player_x: place.x as f64,
        player_y: place.y as f64,
        player_z: place.z as f64,
        hoop_x: place.hoop.x as f64,
        hoop_y: place.hoop.y as f64,
        hoop_z: place.hoop.z as f64,
        hoop_player_x: chart.x as f64,
        hoop_player_y: chart.y as f64,
        status: "RECORDED".to_owned(),
        game_clock: Some(game_log.clocks.game(play_event.clock)),
        shot_clock: play_event.shot_clock.map(|left| game_log.clocks.shot(left)),
        period: period.name.clone(),
        attributes: attributes.iter().map(|attribute| (*attribute).to_owned()).collect(),
    })
}
