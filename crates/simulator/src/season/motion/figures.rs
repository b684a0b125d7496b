//! What motion is drawn from: each parameter beside the figure of real frames that it reproduces.

use crate::season::court::Chart;
use crate::season::figures::Quantiles;

const fn spot(x: i64, y: i64) -> Chart {
    Chart { x, y }
}

/// Sets of an offence, seen from the hoop: the one with the ball first, the one near the hoop last. Attackers stand at
/// 2.8, 6.6 and 9.2 m from the hoop (10, 50, 90 %); the hull of five has 26, 44, 62 m².
pub(super) const SETS: [[Chart; 5]; 6] = [
    // Four out, one in.
    [spot(300, 8600), spot(-5900, 4700), spot(5700, 5000), spot(6500, 400), spot(-2100, 1900)],
    // Three out, two in.
    [spot(-900, 8300), spot(-6200, 4200), spot(6100, 4300), spot(1800, 4400), spot(-2600, 1000)],
    // Two at the elbows.
    [spot(0, 8800), spot(-6400, 600), spot(6400, 500), spot(-2200, 4700), spot(2300, 4500)],
    // One in the post, one short of the corner.
    [spot(1700, 8200), spot(-6000, 4800), spot(-2900, 7400), spot(5900, 600), spot(2500, 1800)],
    // A pick and roll on top.
    [spot(-1900, 7900), spot(6500, 300), spot(-6300, 700), spot(4300, 6100), spot(-700, 5600)],
    // Five out.
    [spot(1200, 8400), spot(-4300, 6600), spot(5500, 4600), spot(-6400, 300), spot(3900, 2600)],
];

/// Permille by which a set is nearer to mid-court or farther.
pub(super) const DEPTH: (i64, i64) = (780, 1180);
pub(super) const WIDTH: i64 = 1130;

/// Milliseconds in which the ball comes up: in 5 % of the frames after 8 s not all ten are in the attacked half.
pub(super) const ADVANCE: Quantiles = [3900, 4700, 5400, 6500, 7900, 9600, 11_400, 12_200, 12_900];
/// Milliseconds between passes: a team has 368 touches a game.
pub(super) const TOUCH: Quantiles = [400, 600, 800, 1200, 1900, 3200, 5000, 6300, 9000];

/// What an attacker does next, in weights: shifts about, goes to a free spot, goes to the hoop; of those without the ball
/// and the one who has it. 30 % of the time is below 1 m/s and 10 % above 4; the median is 1.6 m/s.
pub(super) const MOVES: [[i64; 3]; 2] = [[730, 195, 75], [700, 190, 110]];
/// How far he shifts, in mm, and by what he waits after each kind, in ms.
pub(super) const SHIFT: i64 = 1300;
pub(super) const PAUSE: [i64; 3] = [200, 300, 200];
/// Metres a second, in tenths, from and to.
pub(super) const PACE: [(i64, i64); 3] = [(13, 32), (23, 41), (36, 52)];

/// A defender keeps this share of the way to the hoop, in permille, and more for each metre that his attacker is away
/// from the hoop and from the ball: attackers have
/// their nearest defender at 0.6, 1.8 and 4.0 m (10, 50, 90 %).
pub(super) const SAG: [i64; 3] = [58, 24, 7];
/// The same of the way to the ball.
pub(super) const HELP: [i64; 2] = [0, 8];
/// Millimetres that a defender leaves to who has the ball, and more for each metre from the hoop.
pub(super) const ON_BALL: [i64; 2] = [800, 140];
/// How much a defender's distance varies, in permille of both, and his place, in mm.
pub(super) const LOOSE: i64 = 380;
pub(super) const STRAY: i64 = 560;
/// Milliseconds by which a defender is late.
pub(super) const LATE: i64 = 250;

/// Permille of possessions that are defended in a zone. The reference has no figure of it: few enough that its figures stay.
pub(super) const ZONES: i64 = 100;
/// A zone of two in front of three, by seat, seen from the hoop.
pub(super) const ZONE: [Chart; 5] =
    [spot(-1700, 5900), spot(1700, 5900), spot(-3600, 2300), spot(3600, 2300), spot(0, 1400)];
/// Permille of the way to the ball by which it shifts, to the side and up the court.
pub(super) const ZONE_SHIFT: Chart = spot(330, 140);
/// Millimetres from the hoop within which the nearest one steps out to the ball.
pub(super) const ZONE_REACH: i64 = 9600;

/// How far the ball is from who has it, in mm: 0.2, 0.5, 1.4 m (10, 50, 90 %), flights of passes included.
pub(super) const REACH: (i64, i64) = (220, 960);
