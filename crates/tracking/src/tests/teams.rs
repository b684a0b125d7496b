//! Ten players, substitutes beside the sideline, a ball, shots: a game whose truth is known at every moment.

use super::paths::{COURT, Random, START_MS};
use crate::lineups::Possession;
use crate::offset::Shot;
use crate::session::{Events, Session};
use crate::track::{Object, Samples, Track};
use std::f64::consts::TAU;

pub(crate) const HOME: i64 = 1;
pub(crate) const AWAY: i64 = 2;
pub(crate) const SECONDS: f64 = 600.0;

/// What is wrong with the sensors.
#[derive(Clone, Copy)]
pub(crate) struct Sensors {
    pub rate: f64,
    pub noise: f64,
    pub offset: f64,
    pub dropouts: f64,
    pub teleports: f64,
    pub substitutes: i64,
    pub has_lineups: bool,
    pub seed: u64,
}

pub(crate) const PERFECT: Sensors = Sensors {
    rate: 10.0,
    noise: 0.0,
    offset: 0.0,
    dropouts: 0.0,
    teleports: 0.0,
    substitutes: 0,
    has_lineups: true,
    seed: 1,
};

/// The players of a team: five on court, then substitutes.
pub(crate) fn id(team: i64, slot: i64) -> i64 {
    team * 100 + slot
}

/// Where a player is: attackers move around spots, defenders stay between them and the hoop, substitutes sit.
pub(crate) fn place(team: i64, slot: i64, t: f64) -> (f64, f64) {
    let phase = slot as f64 * TAU / 5.0;
    if slot >= 5 {
        let side = if team == HOME { -1.0 } else { 1.0 };
        return (9.0 + 0.1 * (t / 7.0 + phase).sin(), side * (3.0 + slot as f64 - 5.0));
    }
    let middle = 7.0 * (t / 12.0 * TAU).sin();
    let attacker = |slot: i64| {
        let phase = slot as f64 * TAU / 5.0;
        (4.5 * (phase + t / 5.0).cos(), middle + 4.0 * (phase + t / 5.0).sin() + 0.8 * (1.3 * t + phase).sin())
    };
    if team == HOME {
        return attacker(slot);
    }
    let (x, y) = attacker(slot);
    let distance = 1.3 + 0.9 * (t / 3.0 + 2.0 * phase).sin();
    let (dx, dy) = (-x, 12.7 - y);
    let length = dx.hypot(dy).max(0.1);
    (x + dx / length * distance, y + dy / length * distance)
}

/// The shots: the time in the clock of the positions and the shooter.
pub(crate) fn shots() -> Vec<(f64, i64)> {
    (0..60).map(|i| (5.0 + 9.7 * f64::from(i) + 0.1 * f64::from(i % 7), i64::from(i % 5))).collect()
}

pub(crate) fn game(sensors: Sensors) -> Session {
    let mut random = Random(sensors.seed);
    let mut tracks = Vec::new();
    for team in [HOME, AWAY] {
        for slot in 0..5 + sensors.substitutes {
            let object = Object::Player { team_id: team, player_id: id(team, slot) };
            tracks.push(Track::new(object, observe(sensors, team, slot, &mut random), &COURT));
        }
    }
    Session::new(tracks, events(sensors), COURT)
}

fn observe(sensors: Sensors, team: i64, slot: i64, random: &mut Random) -> Samples {
    let mut samples = Samples::default();
    for i in 0..=(SECONDS * sensors.rate) as i64 {
        let ms = (i as f64 * 1000.0 / sensors.rate).round();
        let (x, y) = place(team, slot, ms / 1000.0);
        let (mut x, y) = (x + sensors.noise * random.normal(), y + sensors.noise * random.normal());
        if random.uniform() < sensors.teleports {
            x = if x > 0.0 { x - 9.0 } else { x + 9.0 };
        }
        if random.uniform() >= sensors.dropouts {
            samples.push(START_MS + ms as i64, x, y, 1.0);
        }
    }
    samples
}

fn events(sensors: Sensors) -> Events {
    let in_events = |t: f64| START_MS + ((t - sensors.offset) * 1000.0).round() as i64;
    let shot = |(t, slot): (f64, i64)| {
        let (x, y) = place(HOME, slot, t);
        Shot { t_ms: in_events(t), player_id: id(HOME, slot), x, y }
    };
    let five = |team: i64| (0..5).map(|slot| id(team, slot)).collect::<Vec<i64>>();
    let possession = |number: i32| Possession {
        team_id: HOME,
        number: Some(number),
        start_ms: in_events(f64::from(number) * 20.0),
        end_ms: in_events(f64::from(number) * 20.0 + 20.0),
        players: five(HOME),
        opponents: five(AWAY),
    };
    let mut possessions: Vec<Possession> =
        if sensors.has_lineups { (0..30).map(possession).collect() } else { Vec::new() };
    if let Some(last) = possessions.last_mut() {
        (last.team_id, last.players, last.opponents) = (AWAY, five(AWAY), five(HOME));
    }
    Events { shots: shots().into_iter().map(shot).collect(), possessions, ..Events::default() }
}
