//! What an offence does before it shoots: passes, reversals and ball screens.

use super::court::Chart;
use super::rng::Rng;
use crate::model::possessions::PossessionAttributes as Attributes;

type Counter = fn(&mut Attributes) -> &mut i64;

const WINGS: [Counter; 3] =
    [|a| &mut a.ball_screens_left_wing, |a| &mut a.ball_screens_middle_wing, |a| &mut a.ball_screens_right_wing];
const WING_WEIGHTS: [i64; 3] = [32, 36, 32];

/// Each kind of ball screen: its frequency, and its counters by name and by place.
const KINDS: [(i64, &[&str], &[Counter]); 14] = [
    (260, &["PICK_N_ROLL", "ROLL"], &[|a| &mut a.ball_screens_pick_n_roll, |a| &mut a.ball_screens_roll]),
    (120, &["PICK_N_POP", "POP"], &[|a| &mut a.ball_screens_pick_n_pop, |a| &mut a.ball_screens_pop]),
    (
        80,
        &["PICK_N_SHORT_ROLL", "SHORT_ROLL"],
        &[|a| &mut a.ball_screens_pick_n_short_roll, |a| &mut a.ball_screens_short_roll],
    ),
    (70, &["SCREENED_SHOT"], &[|a| &mut a.ball_screens_screened_shot]),
    (110, &["HANDOFF"], &[|a| &mut a.ball_screens_handoff]),
    (60, &["DRAG", "ROLL"], &[|a| &mut a.ball_screens_drag, |a| &mut a.ball_screens_roll]),
    (50, &["SLIP"], &[|a| &mut a.ball_screens_slip]),
    (50, &["REJECT"], &[|a| &mut a.ball_screens_reject]),
    (50, &["RE_SCREEN"], &[|a| &mut a.ball_screens_re_screen]),
    (40, &["STAY"], &[|a| &mut a.ball_screens_stay]),
    (40, &["STEP_UP"], &[|a| &mut a.ball_screens_step_up]),
    (30, &["SNAKE"], &[|a| &mut a.ball_screens_snake]),
    (20, &["SPLIT"], &[|a| &mut a.ball_screens_split]),
    (20, &["OTHER"], &[|a| &mut a.ball_screens_other]),
];

/// A ball screen as it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Screen {
    /// 0 left, 1 middle, 2 right.
    pub wing: usize,
    kind: usize,
    pub at: i64,
    /// Milliseconds left in the period, and on the shot clock.
    pub clock: i64,
    pub shot_clock: Option<i64>,
    /// Members of the side, and where the screener stands.
    pub handler: usize,
    pub screener: usize,
    pub place: Chart,
    pub lasts: i64,
}

impl Screen {
    /// The outcome for the offence, as the counters call it.
    pub(crate) fn actions(&self) -> &'static [&'static str] {
        KINDS[self.kind].1
    }

    /// So much later than it was.
    fn after(self, time: i64) -> Self {
        Screen {
            at: self.at + time,
            clock: self.clock - time,
            shot_clock: self.shot_clock.map(|left| left - time),
            ..self
        }
    }
}

/// When an offence begins: wall time and clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Begin {
    pub at: i64,
    pub clock: i64,
    pub shot_clock: Option<i64>,
}

/// Minimum milliseconds of offence for each screen.
const SLOT: i64 = 4800;

/// The ball screens in `time` milliseconds of offence, of which the first `advance` bring the ball up. `pair` draws the
/// handler and the screener.
pub(super) fn work(
    rng: &mut Rng,
    attributes: &mut Attributes,
    begin: Begin,
    time: i64,
    advance: i64,
    pair: impl Fn(&mut Rng) -> [usize; 2],
) -> Vec<Screen> {
    let passes = time / 3600 + rng.below(2);
    attributes.passes += passes;
    attributes.ball_reversals += (0..passes / 2).filter(|_| rng.chance(280)).count() as i64;
    attributes.paint_touch |= rng.chance(260);
    if !attributes.half_court {
        return Vec::new();
    }
    let offence = time - advance;
    let slots = (offence / SLOT).min(3);
    let mut screens = Vec::new();
    for slot in 0..slots {
        if rng.chance(620) {
            // A third into its slot: none begins before the last one is over.
            let after = advance + offence * (3 * slot + 1) / (3 * slots);
            let pair = pair(rng);
            screens.push(screen(rng, attributes, begin, pair).after(after));
        }
    }
    screens
}

fn screen(
    rng: &mut Rng,
    attributes: &mut Attributes,
    Begin { at, clock, shot_clock }: Begin,
    [handler, screener]: [usize; 2],
) -> Screen {
    attributes.ball_screens += 1;
    let wing = rng.choose_weighted(&WING_WEIGHTS).unwrap_or(1);
    *WINGS[wing](attributes) += 1;
    let kind = rng.choose_weighted(&KINDS.map(|kind| kind.0)).unwrap_or(0);
    for counter in KINDS[kind].2 {
        *counter(attributes) += 1;
    }
    let place = Chart { x: [-4500, 0, 4500][wing] + rng.within(-900, 900), y: rng.within(4800, 7600) };
    Screen { wing, kind, at, clock, shot_clock, handler, screener, place, lasts: rng.within(900, 1900) }
}
