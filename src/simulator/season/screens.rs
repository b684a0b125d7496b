//! What an offence does before it shoots: passes, reversals and ball screens.

use super::rng::Rng;
use crate::resource::possessions::PossessionAttributes as Attributes;

type Counter = fn(&mut Attributes) -> &mut i64;

const WINGS: [Counter; 3] =
    [|a| &mut a.ball_screens_left_wing, |a| &mut a.ball_screens_middle_wing, |a| &mut a.ball_screens_right_wing];
const WING_WEIGHTS: [i64; 3] = [32, 36, 32];

/// Each kind of ball screen: how often, and the counters that it raises.
const KINDS: &[(i64, &[Counter])] = &[
    (260, &[|a| &mut a.ball_screens_pick_n_roll, |a| &mut a.ball_screens_roll]),
    (120, &[|a| &mut a.ball_screens_pick_n_pop, |a| &mut a.ball_screens_pop]),
    (80, &[|a| &mut a.ball_screens_pick_n_short_roll, |a| &mut a.ball_screens_short_roll]),
    (70, &[|a| &mut a.ball_screens_screened_shot]),
    (110, &[|a| &mut a.ball_screens_handoff]),
    (60, &[|a| &mut a.ball_screens_drag, |a| &mut a.ball_screens_roll]),
    (50, &[|a| &mut a.ball_screens_slip]),
    (50, &[|a| &mut a.ball_screens_reject]),
    (50, &[|a| &mut a.ball_screens_re_screen]),
    (40, &[|a| &mut a.ball_screens_stay]),
    (40, &[|a| &mut a.ball_screens_step_up]),
    (30, &[|a| &mut a.ball_screens_snake]),
    (20, &[|a| &mut a.ball_screens_split]),
    (20, &[|a| &mut a.ball_screens_other]),
];

/// `time` milliseconds of offence.
pub fn work(rng: &mut Rng, attributes: &mut Attributes, time: i64) {
    let passes = time / 3600 + rng.below(2);
    attributes.passes += passes;
    attributes.ball_reversals += (0..passes / 2).filter(|_| rng.chance(280)).count() as i64;
    attributes.paint_touch |= rng.chance(260);
    if !attributes.half_court {
        return;
    }
    for _ in 0..(time / 6500).min(3) {
        if rng.chance(620) {
            screen(rng, attributes);
        }
    }
}

fn screen(rng: &mut Rng, attributes: &mut Attributes) {
    attributes.ball_screens += 1;
    let wing = rng.weighted(&WING_WEIGHTS).unwrap_or(1);
    *WINGS[wing](attributes) += 1;
    let weights: Vec<i64> = KINDS.iter().map(|kind| kind.0).collect();
    let kind = rng.weighted(&weights).unwrap_or(0);
    for counter in KINDS[kind].1 {
        *counter(attributes) += 1;
    }
}
