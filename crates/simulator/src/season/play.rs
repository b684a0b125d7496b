//! Plays a game, possession by possession: within the clock, by chance weighted with the players' skills.

use super::ball_screens::{self, Begin, Screen};
use super::clocks::ClockFormat;
use super::court::{self, Chart, Range};
use super::game_log::{Act, CourtPoint, GameLog, GamePeriod, GamePossession, Hoop, PlayEvent, Side};
use super::rng::Rng;
use super::roster::Skills;
use super::schedule::MINUTE;
use super::substitutions::Substitutions;
use crate::model::possessions::PossessionAttributes;

/// Shot clock of the college game, and its minimum after an offensive rebound or a foul.
const SHOT_CLOCK: i64 = 30_000;
const SHORT_CLOCK: i64 = 20_000;
const HALF: i64 = 20 * MINUTE;
const OVERTIME: i64 = 5 * MINUTE;
/// Shorter than the real fifteen minutes, so that a half rarely takes more than two windows of locations.
const HALF_TIME: i64 = 8 * MINUTE;
const SHORT_BREAK: i64 = 2 * MINUTE;
/// Team fouls in a half that bring one-and-one, and two shots.
const BONUS: i64 = 7;
const DOUBLE_BONUS: i64 = 10;
/// The clock stops for advertising at the first whistle below each multiple of this.
const MEDIA: i64 = 4 * MINUTE;
/// Not an index of a side's members.
const NOBODY: usize = usize::MAX;

/// Plays a game from its tipoff to a winner. `id` gives the session of each part.
pub(super) fn game(
    rng: Rng,
    hoops: [Hoop; 2],
    version: i64,
    tipoff_at: i64,
    sides: [Side; 2],
    id: impl Fn(u64) -> String,
) -> GameLog {
    let mut floor = Floor::new(rng, hoops, version, tipoff_at, &sides, true);
    let clocks = ClockFormat::draw(&mut floor.rng);
    let tip = floor.rng.index(2);
    let mut periods: Vec<GamePeriod> = Vec::new();
    while periods.len() < 2 || floor.score[0] == floor.score[1] {
        let part = periods.len();
        let (name, length, first) = match part {
            0 => ("H1".to_owned(), HALF, tip),
            1 => ("H2".to_owned(), HALF, 1 - tip),
            more => (format!("OT{}", more - 1), OVERTIME, floor.rng.index(2)),
        };
        if part == 1 {
            floor.hoops.swap(0, 1);
            floor.team_fouls = [0; 2];
        }
        if let Some(last) = periods.last_mut() {
            // The break after a period belongs to it, so that sessions touch.
            floor.at += if part == 1 { HALF_TIME } else { SHORT_BREAK };
            last.ended_at = floor.at;
        }
        periods.push(floor.period(id(part as u64), name, length, first));
    }
    GameLog { sides, clocks, periods, corrections: Vec::new() }
}

/// Drills of five against five, `minutes` each, without free throws; ties are allowed.
pub(super) fn scrimmage(
    rng: Rng,
    hoops: [Hoop; 2],
    version: i64,
    starts_at: i64,
    sides: [Side; 2],
    drills: &[(&str, i64)],
    id: impl Fn(u64) -> String,
) -> GameLog {
    let mut floor = Floor::new(rng, hoops, version, starts_at, &sides, false);
    let clocks = ClockFormat::draw(&mut floor.rng);
    let mut periods: Vec<GamePeriod> = Vec::new();
    for (part, (name, minutes)) in drills.iter().enumerate() {
        if let Some(last) = periods.last_mut() {
            floor.at += SHORT_BREAK;
            last.ended_at = floor.at;
        }
        periods.push(floor.period(id(part as u64), (*name).to_owned(), minutes * MINUTE, part % 2));
    }
    GameLog { sides, clocks, periods, corrections: Vec::new() }
}

/// How the side got the ball.
enum Start {
    /// From out of bounds, after a whistle.
    Inbound,
    /// From under the own hoop, after a basket: the clock runs.
    Basket,
    Rebound(usize, CourtPoint),
    Steal(usize, CourtPoint),
}

/// One try to shoot; a possession has several after fouls and offensive rebounds.
struct Chance {
    time: i64,
    /// The first of the possession.
    opening: bool,
    /// Before the defence is set.
    fast: bool,
    /// The player who has just won the ball, and where.
    from: Option<(usize, CourtPoint)>,
}

/// The kind of shot.
enum Choice {
    Any,
    Layup,
    /// By the player who has just rebounded it.
    Putback(usize),
    /// From the own half as the clock runs out, by the player who has just won the ball, if any.
    Heave(Option<(usize, CourtPoint)>),
}

enum ChanceOutcome {
    /// The side keeps the ball.
    Again(Chance),
    /// The other side has it, or the period is over.
    Over(Start),
}

/// A game in progress.
struct Floor<'a> {
    rng: Rng,
    sides: &'a [Side; 2],
    /// The hoop that each side attacks.
    hoops: [Hoop; 2],
    free_throws: bool,
    at: i64,
    /// The last time of play: `at` without the dead time since.
    play_at: i64,
    clock: i64,
    shot_clock: Option<i64>,
    next_media: i64,
    /// Whether play has stopped, so that players may be changed.
    dead: bool,
    bench: [Substitutions; 2],
    team_fouls: [i64; 2],
    score: [i64; 2],
    version: i64,
    play_events: Vec<PlayEvent>,
    attributes: PossessionAttributes,
    screens: Vec<Screen>,
}

impl<'a> Floor<'a> {
    fn new(mut rng: Rng, hoops: [Hoop; 2], version: i64, at: i64, sides: &'a [Side; 2], free_throws: bool) -> Self {
        let bench = [Substitutions::new(&mut rng, &sides[0]), Substitutions::new(&mut rng, &sides[1])];
        Floor {
            rng,
            sides,
            hoops,
            free_throws,
            at,
            play_at: at,
            clock: 0,
            shot_clock: None,
            next_media: 0,
            dead: false,
            bench,
            team_fouls: [0; 2],
            score: [0; 2],
            version,
            play_events: Vec::new(),
            attributes: PossessionAttributes::default(),
            screens: Vec::new(),
        }
    }

    fn period(&mut self, id: String, name: String, length: i64, first: usize) -> GamePeriod {
        let started_at = self.at;
        self.clock = length;
        self.next_media = length - MEDIA;
        self.dead = false;
        self.bench.iter_mut().for_each(Substitutions::start_period);
        let mut possessions = Vec::new();
        let (mut side, mut start) = (first, Start::Inbound);
        while self.clock > 0 {
            if self.dead {
                self.bench.iter_mut().for_each(|bench| bench.substitute(&mut self.rng));
            }
            let possession;
            (possession, start) = self.possession(side, start);
            possessions.push(possession);
            side = 1 - side;
        }
        // The end of the period.
        self.at += 3000;
        GamePeriod { id, name, started_at, ended_at: self.at, possessions }
    }

    fn possession(&mut self, side: usize, start: Start) -> (GamePossession, Start) {
        let (started_at, start_clock) = (self.at, self.clock);
        self.play_events = Vec::new();
        self.reset_shot_clock(SHOT_CLOCK);
        let (fast, from) = match start {
            Start::Inbound => (false, None),
            Start::Basket => (self.rng.chance(60), None),
            Start::Rebound(member, place) => {
                self.happen(side, member, place, Act::Rebound { offensive: false });
                (self.rng.chance(170), Some((member, place)))
            }
            Start::Steal(member, place) => {
                self.happen(side, member, place, Act::Steal);
                (self.rng.chance(480), Some((member, place)))
            }
        };
        self.attributes = PossessionAttributes { half_court: !fast, ..Default::default() };
        let time = match fast {
            true => self.rng.within(4000, 8000),
            false => 5000 + self.rng.below(10_800) + self.rng.below(10_800),
        };
        let mut chance = Chance { time, opening: true, fast, from };
        let next = loop {
            match self.chance(side, chance) {
                ChanceOutcome::Again(next_chance) => chance = next_chance,
                ChanceOutcome::Over(next) => break next,
            }
        };
        self.version += 1;
        let possession = GamePossession {
            side,
            started_at,
            ended_at: self.play_at,
            start_clock,
            end_clock: self.clock,
            on_court: [self.bench[0].on_court, self.bench[1].on_court],
            hoop: self.hoops[side],
            play_events: std::mem::take(&mut self.play_events),
            attributes: std::mem::take(&mut self.attributes),
            screens: std::mem::take(&mut self.screens),
            version: self.version,
        };
        (possession, next)
    }

    fn chance(&mut self, side: usize, chance: Chance) -> ChanceOutcome {
        let Chance { mut time, opening, fast, from } = chance;
        let is_hurried = self.clock <= time;
        if is_hurried {
            if self.clock < 900 || self.rng.chance(400) {
                self.run(self.clock);
                return ChanceOutcome::Over(Start::Inbound);
            }
            time = self.clock - self.rng.within(100, 600);
        }
        let begin = Begin { at: self.at, clock: self.clock, shot_clock: self.shot_clock };
        self.screens.extend(ball_screens::work(&mut self.rng, &mut self.attributes, begin, time));
        self.run(time);
        match (from, self.rng.below(1000)) {
            // There was no time to be anywhere else.
            (Some((member, _)), _) if !opening && time < 3000 => self.shot(side, Choice::Putback(member), time),
            _ if is_hurried && opening && time < 4000 => self.shot(side, Choice::Heave(from), time),
            _ if is_hurried => self.shot(side, Choice::Any, time),
            (_, 0..160) => self.turnover(side),
            (_, 160..235) => self.common_foul(side, time),
            _ if fast && self.rng.chance(550) => self.shot(side, Choice::Layup, time),
            _ => self.shot(side, Choice::Any, time),
        }
    }

    fn turnover(&mut self, side: usize) -> ChanceOutcome {
        let handler = self.pick(side, |skills| skills.usage);
        let point = court::anywhere(&mut self.rng);
        let live = self.rng.chance(560);
        self.attributes.turnover += 1;
        if live {
            self.act(side, handler, point, Act::Turnover { live });
            let thief = self.pick(1 - side, |skills| skills.hands);
            let place = self.place(side, point, 500);
            return ChanceOutcome::Over(Start::Steal(thief, place));
        }
        if self.bench[side].may_foul(handler) && self.rng.chance(200) {
            self.foul(side, handler, side, point);
        }
        self.act(side, handler, point, Act::Turnover { live });
        self.whistle(22_000, 38_000);
        ChanceOutcome::Over(Start::Inbound)
    }

    /// A foul of the defence that is not on a shot.
    fn common_foul(&mut self, side: usize, time: i64) -> ChanceOutcome {
        let Some(fouler) = self.fouler(1 - side) else { return self.shot(side, Choice::Any, time) };
        let point = court::anywhere(&mut self.rng);
        self.foul(1 - side, fouler, side, point);
        self.team_fouls[1 - side] += 1;
        self.whistle(22_000, 38_000);
        let fouls = self.team_fouls[1 - side];
        if self.free_throws && fouls >= BONUS {
            let shooter = self.pick(side, |skills| skills.usage);
            return self.free_throws(side, shooter, 2, fouls < DOUBLE_BONUS);
        }
        self.reset_shot_clock(self.shot_clock.unwrap_or(0).max(SHORT_CLOCK));
        let time = self.rng.within(3000, 13_000);
        ChanceOutcome::Again(Chance { time, opening: false, fast: false, from: None })
    }

    /// A shot, `time` after the ball was won or brought in.
    fn shot(&mut self, side: usize, choice: Choice, time: i64) -> ChanceOutcome {
        let shooter = match choice {
            Choice::Putback(member) | Choice::Heave(Some((member, _))) => member,
            _ => self.pick(side, |skills| skills.usage),
        };
        let skills = self.sides[side].members[shooter].skills.clone();
        let range = match choice {
            Choice::Putback(_) | Choice::Layup => Range::Rim,
            Choice::Heave(_) => Range::Heave,
            Choice::Any if self.rng.chance(skills.threes) => Range::Three,
            Choice::Any if self.rng.chance(580) => Range::Rim,
            Choice::Any => Range::Middle,
        };
        // Permille: fouled, blocked, off the dribble, made.
        let (foul_chance, block_chance, dribble, good) = match range {
            Range::Rim => (170, 85, 550, 615),
            Range::Middle => (60, 35, 650, 395),
            Range::Three => (22, 8, 250, 350),
            Range::Heave => (0, 10, 900, 15),
        };
        let point = match choice {
            Choice::Heave(Some((_, place))) => court::on_the_way(place, self.hoops[side], time),
            _ => court::spot(&mut self.rng, range),
        };
        self.attributes.paint_touch |= point.in_paint();
        let dribble = self.rng.chance(dribble);
        let is_guarded = self.rng.chance(620);
        let fouler = if self.free_throws && self.rng.chance(foul_chance) { self.fouler(1 - side) } else { None };
        let is_blocked = fouler.is_none() && self.rng.chance(block_chance);
        let dunk = range == Range::Rim && point.distance_cm() < 110.0 && !is_blocked && self.rng.chance(250);
        let good = if dunk { 920 } else { good + skills.touch + if is_guarded { -30 } else { 50 } };
        let good = if fouler.is_some() { good * 55 / 100 } else { good };
        let is_made = !is_blocked && self.rng.chance(good);
        let three = point.is_three();
        if is_made || fouler.is_none() {
            let kind = match range {
                Range::Rim if dunk => "DUNK",
                Range::Rim => "LAYUP",
                Range::Middle if self.rng.chance(150) => "FADEAWAY",
                _ => "JUMPSHOT",
            };
            let mut attributes =
                vec![if dribble { "OTD" } else { "CAS" }, if is_guarded { "GUARDED" } else { "UNGUARDED" }];
            attributes.push(kind);
            if is_made && !dunk && self.rng.chance(400) {
                attributes.push("CLEAN");
            }
            if is_made {
                self.score[side] += if three { 3 } else { 2 };
            }
            self.act(side, shooter, point, Act::Shot { is_made, three, attributes });
        }
        let is_unassisted = matches!(choice, Choice::Putback(_) | Choice::Heave(Some(_)));
        if is_made && !is_unassisted && self.rng.chance(if dribble { 150 } else { 880 }) {
            let passer = self.pick_but(side, shooter, |skills| skills.passing);
            let from = court::anywhere(&mut self.rng);
            self.attributes.passes = self.attributes.passes.max(1);
            self.act(side, passer, from, Act::Assist);
        }
        // Players far from the hoop cannot rebound.
        let is_far = point.distance_cm() > 300.0;
        let mut away = [if is_far { shooter } else { NOBODY }, NOBODY];
        if is_blocked {
            let blocker = self.pick(1 - side, |skills| skills.boards);
            let place = self.place(side, point, 400);
            self.happen(1 - side, blocker, place, Act::Block);
            away[1] = if is_far { blocker } else { NOBODY };
        }
        if let Some(fouler) = fouler {
            self.foul(1 - side, fouler, side, point);
            self.team_fouls[1 - side] += 1;
            self.whistle(21_000, 34_000);
            let shots = if is_made { 1 } else { 2 + usize::from(three) };
            return self.free_throws(side, shooter, shots, false);
        }
        if is_made { ChanceOutcome::Over(Start::Basket) } else { self.rebound(side, away) }
    }

    /// Free throws; with `one_and_one` the second needs a made first.
    fn free_throws(&mut self, side: usize, shooter: usize, shots: usize, one_and_one: bool) -> ChanceOutcome {
        self.shot_clock = None;
        let good = self.sides[side].members[shooter].skills.free_throws;
        let mut is_made = false;
        for shot in 0..shots {
            self.at += self.rng.within(11_000, 18_000);
            is_made = self.rng.chance(good);
            self.score[side] += i64::from(is_made);
            self.act(side, shooter, Chart { x: 0, y: court::LINE }, Act::FreeThrow { is_made });
            if one_and_one && shot == 0 && !is_made {
                break;
            }
        }
        if !is_made {
            return self.rebound(side, [shooter, NOBODY]);
        }
        self.dead = true;
        ChanceOutcome::Over(Start::Inbound)
    }

    /// Every miss is rebounded by a player unless the clock runs out first; there are no team rebounds. `away`: the
    /// members of either side who cannot be there.
    fn rebound(&mut self, side: usize, away: [usize; 2]) -> ChanceOutcome {
        let time = self.rng.within(700, 1900);
        if self.clock <= time {
            self.run(self.clock);
            return ChanceOutcome::Over(Start::Inbound);
        }
        self.run(time);
        let place = self.place(side, Chart { x: 0, y: 900 }, 2400);
        if self.rng.chance(275) {
            let member = self.pick_but(side, away[0], |skills| skills.boards);
            self.reset_shot_clock(SHORT_CLOCK);
            self.happen(side, member, place, Act::Rebound { offensive: true });
            let at_once = self.rng.chance(450);
            let time = if at_once { self.rng.within(800, 2500) } else { self.rng.within(3000, 13_000) };
            return ChanceOutcome::Again(Chance { time, opening: false, fast: false, from: Some((member, place)) });
        }
        let member = self.pick_but(1 - side, away[1], |skills| skills.boards);
        ChanceOutcome::Over(Start::Rebound(member, place))
    }

    fn fouler(&mut self, side: usize) -> Option<usize> {
        let bench = &self.bench[side];
        let weights = bench.on_court.map(|member| i64::from(bench.may_foul(member)));
        self.rng.choose_weighted(&weights).map(|seat| self.bench[side].on_court[seat])
    }

    fn foul(&mut self, side: usize, member: usize, attacking: usize, point: Chart) {
        self.bench[side].fouls[member] += 1;
        let place = self.place(attacking, point, 500);
        self.happen(side, member, place, Act::Foul);
    }

    /// The game clocks and the wall time run.
    fn run(&mut self, time: i64) {
        self.at += time;
        self.clock -= time;
        self.shot_clock = self.shot_clock.map(|left| left - time);
        self.play_at = self.at;
        self.dead = false;
        self.bench.iter_mut().for_each(|bench| bench.play(time));
    }

    /// Play has stopped.
    fn whistle(&mut self, shortest: i64, longest: i64) {
        self.dead = true;
        self.at += self.rng.within(shortest, longest);
        if self.free_throws && self.clock <= self.next_media {
            self.at += self.rng.within(130_000, 160_000);
            self.next_media = (self.clock - 1).div_euclid(MEDIA) * MEDIA;
        } else if self.rng.chance(50) {
            self.at += self.rng.within(45_000, 75_000);
        }
    }

    /// The shot clock is off once it would outlast the period.
    fn reset_shot_clock(&mut self, time: i64) {
        self.shot_clock = (time < self.clock).then_some(time);
    }

    fn pick(&mut self, side: usize, weight: impl Fn(&Skills) -> i64) -> usize {
        self.pick_but(side, NOBODY, weight)
    }

    fn pick_but(&mut self, side: usize, but: usize, weight: impl Fn(&Skills) -> i64) -> usize {
        let on_court = self.bench[side].on_court;
        let members = &self.sides[side].members;
        let weights = on_court.map(|member| if member == but { 0 } else { weight(&members[member].skills) });
        on_court[self.rng.choose_weighted(&weights).unwrap_or(0)]
    }

    /// A point near another in the half that a side attacks.
    fn place(&mut self, attacking: usize, point: Chart, reach: i64) -> CourtPoint {
        let point = court::near(&mut self.rng, point, reach);
        let height = self.rng.within(900, 1300);
        self.hoops[attacking].at(point, height)
    }

    fn act(&mut self, side: usize, member: usize, point: Chart, act: Act) {
        let height = self.rng.within(900, 1300);
        let place = self.hoops[side].at(point, height);
        self.happen(side, member, place, act);
    }

    fn happen(&mut self, side: usize, member: usize, place: CourtPoint, act: Act) {
        self.version += 1;
        self.play_at = self.at;
        let (at, clock, shot_clock, score) = (self.at, self.clock, self.shot_clock, self.score);
        self.play_events.push(PlayEvent { at, clock, shot_clock, side, member, place, act, score });
    }
}
