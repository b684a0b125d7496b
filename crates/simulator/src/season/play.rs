//! Plays a game, possession by possession: within the clock, by chance weighted with the players' skills.

use super::ball_screens::{self, Begin, Screen};
use super::chances::{Chance, ChanceOutcome, Choice, Start};
use super::clocks::ClockFormat;
use super::court::{self, Chart, Range};
use super::figures::{self, ShotRates, ShotShares};
use super::form::{Form, scale};
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
/// Milliseconds to bring the ball up, and to do so from under the own hoop.
const ADVANCE: i64 = 6000;
const SLOW_ADVANCE: i64 = 7500;
/// A side that is behind fouls at once when so little of the game is left.
const LATE: i64 = 65_000;
/// A player does nothing else within this time, or does it at the same place.
const MOMENT: i64 = 1400;
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
        floor.late = part > 0;
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
    form: [Form; 2],
    /// The defender of the last shot, if it was taken far from the hoop.
    far_defender: usize,
    /// How much better each side shoots in these ten minutes, and which they are.
    streak: [i64; 2],
    streak_of: usize,
    /// Whether this is the last period, unless there is an overtime after it.
    late: bool,
    team_fouls: [i64; 2],
    score: [i64; 2],
    version: i64,
    play_events: Vec<PlayEvent>,
    attributes: PossessionAttributes,
    screens: Vec<Screen>,
}

fn rates_of(range: Range) -> ShotRates {
    match range {
        Range::Rim => figures::RIM,
        Range::Middle => figures::MIDDLE,
        Range::Three => figures::THREE,
        Range::Heave => figures::HEAVE,
    }
}

impl<'a> Floor<'a> {
    fn new(mut rng: Rng, hoops: [Hoop; 2], version: i64, at: i64, sides: &'a [Side; 2], free_throws: bool) -> Self {
        let bench = [Substitutions::new(&mut rng, &sides[0]), Substitutions::new(&mut rng, &sides[1])];
        let strength = if free_throws { sides[0].strength - sides[1].strength + figures::form::HOME } else { 0 };
        let pace = rng.bell(figures::form::PACE);
        let form = [Form::draw(&mut rng, strength, pace), Form::draw(&mut rng, -strength, pace)];
        Floor {
            rng,
            sides,
            hoops,
            form,
            late: false,
            far_defender: NOBODY,
            streak: [0; 2],
            streak_of: usize::MAX,
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
        let (times, from, advance) = match start {
            Start::Inbound => (&figures::AFTER_WHISTLE, None, ADVANCE),
            Start::Basket => (&figures::AFTER_BASKET, None, SLOW_ADVANCE),
            Start::Rebound(member, place) => {
                self.happen(side, member, place, Act::Rebound { offensive: false });
                (&figures::AFTER_REBOUND, Some((member, place)), ADVANCE)
            }
            Start::Steal(member, place) => {
                self.happen(side, member, place, Act::Steal);
                (&figures::AFTER_STEAL, Some((member, place)), ADVANCE)
            }
        };
        // Nobody outruns the ball's way to the other hoop.
        let way = from.map_or(0, |(_, place)| (place.y - self.hoops[side].y).abs());
        let least = way / 6 + 700;
        let time = scale(self.rng.quantile(times), self.form[side].pace - 21).clamp(least, SHOT_CLOCK - 200);
        let fast = from.is_some() && time <= figures::FAST;
        self.attributes = PossessionAttributes { half_court: !fast, ..Default::default() };
        let mut chance = Chance { time, least, opening: true, advance, from };
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
        let Chance { mut time, least, opening, advance, from } = chance;
        if self.streak_of != self.stretch() {
            self.streak_of = self.stretch();
            self.streak = [0; 2].map(|_| self.rng.bell(figures::form::STREAK));
        }
        let behind = self.score[side] - self.score[1 - side];
        if self.late && self.free_throws && self.clock < LATE && (1..11).contains(&behind) && self.rng.chance(720) {
            time = time.min(self.rng.within(1500, 6000));
            if time < self.clock {
                self.run(time);
                return self.common_foul(side, time);
            }
        }
        let turnovers = figures::TURNOVERS + self.form[side].turnovers;
        let stretch = figures::FOULS_BY_STRETCH[self.stretch()];
        let fouls = turnovers + scale(figures::COMMON_FOULS, self.form[1 - side].fouls + stretch);
        let draw = self.rng.below(1000);
        if draw < fouls {
            time = (time * figures::BEFORE_SHOT / 100).max(least);
        }
        let is_hurried = self.clock <= time;
        if is_hurried {
            // From under the own hoop nobody gets anywhere in less.
            let least = if opening && from.is_none() { 4000 } else { 900 };
            if self.clock < least || self.rng.chance(430) {
                self.run(self.clock);
                return ChanceOutcome::Over(Start::Inbound);
            }
            time = self.clock - self.rng.within(100, 600);
        }
        self.screens(side, time, advance);
        self.run(time);
        match from {
            // There was no time to be anywhere else.
            Some((member, place)) if !opening && time < 3000 => {
                let place = (time < MOMENT).then(|| place.chart());
                self.shot(side, Choice::Putback(member, place), time)
            }
            _ if is_hurried && opening && time < 5500 => self.shot(side, Choice::Heave(from), time),
            _ if is_hurried => self.shot(side, Choice::Any, time),
            _ if draw < turnovers => self.turnover(side),
            _ if draw < fouls => self.common_foul(side, time),
            _ if time <= figures::FAST && from.is_some() && self.rng.chance(600) => {
                self.shot(side, Choice::Layup, time)
            }
            _ => self.shot(side, Choice::Any, time),
        }
    }

    /// Which ten minutes these are.
    fn stretch(&self) -> usize {
        2 * usize::from(self.late) + usize::from(self.clock < HALF / 2)
    }

    fn screens(&mut self, side: usize, time: i64, advance: i64) {
        let begin = Begin { at: self.at, clock: self.clock, shot_clock: self.shot_clock };
        let (on_court, members) = (self.bench[side].on_court, &self.sides[side].members);
        let pair = |rng: &mut Rng| {
            let handler = rng.choose_weighted(&on_court.map(|member| members[member].skills.passing)).unwrap_or(0);
            let mut boards = on_court.map(|member| members[member].skills.boards);
            boards[handler] = 0;
            [on_court[handler], on_court[rng.choose_weighted(&boards).unwrap_or(0)]]
        };
        self.screens.extend(ball_screens::work(&mut self.rng, &mut self.attributes, begin, time, advance, pair));
    }

    fn turnover(&mut self, side: usize) -> ChanceOutcome {
        let handler = self.pick(side, |skills| skills.usage);
        let point = court::anywhere(&mut self.rng);
        let live = self.rng.chance(figures::STEALS + self.form[1 - side].steals);
        self.attributes.turnover += 1;
        if live {
            self.act(side, handler, point, Act::Turnover { live });
            let thief = self.pick(1 - side, |skills| skills.hands);
            let place = self.place(side, point, 500);
            return ChanceOutcome::Over(Start::Steal(thief, place));
        }
        if self.bench[side].may_foul(handler) && self.rng.chance(figures::OFFENSIVE_FOULS) {
            self.foul(side, handler, side, point);
        }
        self.act(side, handler, point, Act::Turnover { live });
        self.whistle(16_000, 30_000);
        ChanceOutcome::Over(Start::Inbound)
    }

    /// A foul of the defence that is not on a shot.
    fn common_foul(&mut self, side: usize, time: i64) -> ChanceOutcome {
        let Some(fouler) = self.fouler(1 - side, NOBODY) else { return self.shot(side, Choice::Any, time) };
        let point = court::anywhere(&mut self.rng);
        self.foul(1 - side, fouler, side, point);
        self.team_fouls[1 - side] += 1;
        self.whistle(16_000, 30_000);
        let fouls = self.team_fouls[1 - side];
        if self.free_throws && fouls >= BONUS {
            let shooter = self.pick(side, |skills| skills.usage);
            return self.free_throws(side, shooter, 2, fouls < DOUBLE_BONUS);
        }
        self.reset_shot_clock(self.shot_clock.unwrap_or(0).max(SHORT_CLOCK));
        let time = self.rng.quantile(&figures::SECOND_CHANCE).max(3500);
        ChanceOutcome::Again(Chance { time, least: 0, opening: false, advance: 0, from: None })
    }

    /// A shot, `time` after the ball was won or brought in.
    fn shot(&mut self, side: usize, choice: Choice, time: i64) -> ChanceOutcome {
        let shooter = match choice {
            Choice::Putback(member, _) | Choice::Heave(Some((member, _))) => member,
            _ => self.pick(side, |skills| skills.usage),
        };
        let (range, point) = self.place_of_shot(side, shooter, &choice, time);
        let ShotRates { fouls, blocks, dribbles, makes, assists, bands } = rates_of(range);
        self.attributes.paint_touch |= point.in_paint();
        let is_quick = matches!(choice, Choice::Putback(..));
        let (mut defender, band, gap) = self.defence(side, shooter, range, is_quick);
        let dribble = self.rng.chance(dribbles);
        let foul_chance = if self.free_throws { scale(fouls, self.form[1 - side].fouls) } else { 0 };
        let fouler = if self.rng.chance(foul_chance) { self.fouler(1 - side, defender) } else { None };
        defender = fouler.unwrap_or(defender);
        let block_chance = scale(blocks, self.form[1 - side].blocks) * 17 / 10;
        let is_blocked = fouler.is_none() && band < 2 && self.rng.chance(block_chance);
        let dunk = range == Range::Rim && point.distance_cm() < 110.0 && !is_blocked && self.rng.chance(250);
        let makes = match (dunk, fouler) {
            (true, None) => 920,
            (_, None) => makes + self.touch(side, shooter, point) + bands[band],
            (_, Some(_)) => (makes + self.touch(side, shooter, point) + bands[band]) * figures::AND_ONE / 100,
        };
        let is_made = !is_blocked && self.rng.chance(makes);
        let three = point.is_three();
        if is_made || fouler.is_none() {
            let mut attributes = Vec::with_capacity(4);
            let guard = if gap < figures::BAND_BORDERS[2] { "GUARDED" } else { "UNGUARDED" };
            attributes.extend([if dribble { "OTD" } else { "CAS" }, guard, self.kind_of_shot(range, dunk)]);
            if is_made && !dunk && self.rng.chance(400) {
                attributes.push("CLEAN");
            }
            if is_made {
                self.score[side] += if three { 3 } else { 2 };
            }
            self.act(side, shooter, point, Act::Shot { is_made, three, attributes, defender, gap });
        }
        let is_unassisted = matches!(choice, Choice::Putback(..) | Choice::Heave(Some(_)));
        let assists = if point.is_corner_three() { figures::CORNER_ASSISTS } else { assists } + self.form[side].assists;
        if is_made && !is_unassisted && self.rng.chance(assists * if dribble { 45 } else { 155 } / 100) {
            self.assist(side, shooter);
        }
        if is_blocked {
            let place = self.place(side, point, 400);
            self.happen(1 - side, defender, place, Act::Block);
        }
        if let Some(fouler) = fouler {
            let shots = if is_made { 1 } else { 2 + usize::from(three) };
            return self.foul_on_shot(side, (shooter, fouler), point, shots);
        }
        if is_made {
            return ChanceOutcome::Over(Start::Basket);
        }
        self.far_defender = if point.distance_cm() > 200.0 { defender } else { NOBODY };
        // Players who are elsewhere cannot rebound.
        let away = if point.distance_cm() > 200.0 { [shooter, defender] } else { [NOBODY; 2] };
        self.rebound(side, away, usize::from(!three))
    }

    fn foul_on_shot(
        &mut self,
        side: usize,
        (shooter, fouler): (usize, usize),
        point: Chart,
        shots: usize,
    ) -> ChanceOutcome {
        self.foul(1 - side, fouler, side, point);
        self.team_fouls[1 - side] += 1;
        self.whistle(15_000, 26_000);
        self.free_throws(side, shooter, shots, false)
    }

    /// What the shooter's form adds to the chance of a shot.
    fn touch(&self, side: usize, shooter: usize, point: Chart) -> i64 {
        let skills = &self.sides[side].members[shooter].skills;
        (skills.touch + self.form[side].touch + self.streak[side]) / if point.is_three() { 4 } else { 1 }
            + figures::TOUCH_BY_STRETCH[self.stretch()]
    }

    fn kind_of_shot(&mut self, range: Range, dunk: bool) -> &'static str {
        match range {
            Range::Rim if dunk => "DUNK",
            Range::Rim => "LAYUP",
            Range::Middle if self.rng.chance(150) => "FADEAWAY",
            _ => "JUMPSHOT",
        }
    }

    fn assist(&mut self, side: usize, shooter: usize) {
        let passer = self.pick_but(side, [shooter, NOBODY], |skills| skills.passing);
        let from = court::spot(&mut self.rng, Range::Three, figures::SHOT_SHARES);
        self.attributes.passes = self.attributes.passes.max(1);
        self.act(side, passer, from, Act::Assist);
    }

    fn place_of_shot(&mut self, side: usize, shooter: usize, choice: &Choice, time: i64) -> (Range, Chart) {
        let own_form = &self.form[side];
        let threes = self.sides[side].members[shooter].skills.threes + own_form.threes;
        let shares = ShotShares {
            corners: figures::SHOT_SHARES.corners + own_form.corners,
            beyond_5_m: figures::SHOT_SHARES.beyond_5_m + own_form.beyond_5_m,
        };
        let range = match choice {
            Choice::Putback(_, Some(place)) if place.distance_cm() < 300.0 => return (Range::Rim, *place),
            Choice::Putback(_, Some(place)) => return (Range::Middle, *place),
            Choice::Putback(..) | Choice::Layup => Range::Rim,
            Choice::Heave(Some((_, place))) => {
                return (Range::Heave, court::on_the_way(*place, self.hoops[side], time));
            }
            Choice::Heave(None) => Range::Heave,
            Choice::Any if self.rng.chance(threes) => Range::Three,
            Choice::Any if self.rng.chance(figures::LONG_TWOS + own_form.long_twos) => Range::Middle,
            Choice::Any => Range::Rim,
        };
        (range, court::spot(&mut self.rng, range, shares))
    }

    /// The opponent nearest to the shooter at the release: most often who guards him. And the band and distance.
    fn defence(&mut self, side: usize, shooter: usize, range: Range, is_quick: bool) -> (usize, usize, i64) {
        let seat = self.bench[side].on_court.iter().position(|member| *member == shooter).unwrap_or(0);
        let seat = if self.rng.chance(760) { seat } else { self.rng.index(5) };
        // Who was far from the hoop a moment ago is not here yet.
        let is_far = is_quick && self.bench[1 - side].on_court[seat] == self.far_defender;
        let seat = if is_far { (seat + 1) % 5 } else { seat };
        let bands = match range {
            Range::Rim => &figures::RIM_BANDS,
            Range::Middle => &figures::MIDDLE_BANDS,
            Range::Three | Range::Heave => &figures::THREE_BANDS,
        };
        let band = self.rng.choose_weighted(bands).unwrap_or(1);
        let (low, high) = (figures::BAND_BORDERS[band], figures::BAND_BORDERS[band + 1]);
        // Near the borders a frame beside the release may show another band.
        let gap = self.rng.within(low + 20, high - 90);
        (self.bench[1 - side].on_court[seat], band, gap)
    }

    /// Free throws; with `one_and_one` the second needs a made first.
    fn free_throws(&mut self, side: usize, shooter: usize, shots: usize, one_and_one: bool) -> ChanceOutcome {
        self.shot_clock = None;
        let good = self.sides[side].members[shooter].skills.free_throws + self.form[side].free_throws;
        let mut is_made = false;
        for shot in 0..shots {
            self.at += self.rng.within(10_000, 15_000);
            is_made = self.rng.chance(good);
            self.score[side] += i64::from(is_made);
            self.act(side, shooter, Chart { x: 0, y: court::LINE }, Act::FreeThrow { is_made });
            if one_and_one && shot == 0 && !is_made {
                break;
            }
        }
        if !is_made {
            return self.rebound(side, [shooter, NOBODY], 2);
        }
        self.dead = true;
        ChanceOutcome::Over(Start::Inbound)
    }

    /// A miss is rebounded by a player unless it goes out of bounds or the clock runs out first. `away`: the
    /// members of either side who cannot be there. `kind`: a three, two or free throw.
    fn rebound(&mut self, side: usize, away: [usize; 2], kind: usize) -> ChanceOutcome {
        let time = self.rng.quantile(&figures::REBOUND);
        if self.clock <= time {
            self.run(self.clock);
            return ChanceOutcome::Over(Start::Inbound);
        }
        self.run(time);
        if self.rng.chance(figures::OUT_OF_BOUNDS) {
            self.whistle(9000, 16_000);
            if self.rng.chance(figures::OUT_OF_BOUNDS_KEPT) {
                self.reset_shot_clock(SHORT_CLOCK);
                let time = self.rng.quantile(&figures::SECOND_CHANCE).max(3500);
                return ChanceOutcome::Again(Chance { time, least: 0, opening: false, advance: 0, from: None });
            }
            return ChanceOutcome::Over(Start::Inbound);
        }
        let place = self.place(side, Chart { x: 0, y: 900 }, 2000);
        let boards = self.form[side].boards - self.form[1 - side].boards / 3;
        if self.rng.chance(figures::OFFENSIVE_REBOUNDS[kind] + boards) {
            let member = self.pick_but(side, [away[0], NOBODY], |skills| skills.boards);
            self.reset_shot_clock(SHORT_CLOCK);
            self.happen(side, member, place, Act::Rebound { offensive: true });
            let time = self.rng.quantile(&figures::SECOND_CHANCE);
            return ChanceOutcome::Again(Chance {
                time,
                least: 0,
                opening: false,
                advance: 0,
                from: Some((member, place)),
            });
        }
        let member = self.pick_but(1 - side, [away[1], NOBODY], |skills| skills.boards);
        ChanceOutcome::Over(Start::Rebound(member, place))
    }

    /// The player of the side who fouls: this one, if he may.
    fn fouler(&mut self, side: usize, first: usize) -> Option<usize> {
        let bench = &self.bench[side];
        if first != NOBODY && bench.may_foul(first) {
            return Some(first);
        }
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
            self.at += self.rng.within(115_000, 140_000);
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
        self.pick_but(side, [NOBODY; 2], weight)
    }

    fn pick_but(&mut self, side: usize, but: [usize; 2], weight: impl Fn(&Skills) -> i64) -> usize {
        let on_court = self.bench[side].on_court;
        let members = &self.sides[side].members;
        let weights = on_court.map(|member| if but.contains(&member) { 0 } else { weight(&members[member].skills) });
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
        let player_at = Default::default();
        self.play_events.push(PlayEvent { at, clock, shot_clock, side, member, place, player_at, act, score });
    }
}
