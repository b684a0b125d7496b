//! What a game is drawn from: each parameter beside the figure of real college games that it reproduces. Some
//! parameters differ from the figure itself, because others act on it too.

/// Quantiles of a distribution, at `AT`.
pub(super) type Quantiles = [i64; 9];
/// In permille.
pub(super) const AT: Quantiles = [0, 50, 100, 250, 500, 750, 900, 950, 1000];

/// Milliseconds from the start of a possession to its first shot, by how it began. Medians of 20, 14, 15 and 6 s.
pub(super) const AFTER_BASKET: Quantiles = [5500, 9100, 11_300, 15_300, 20_100, 24_700, 28_700, 30_300, 31_500];
pub(super) const AFTER_REBOUND: Quantiles = [3000, 4600, 6000, 8600, 13_900, 19_700, 25_500, 27_900, 29_700];
pub(super) const AFTER_WHISTLE: Quantiles = [3500, 4900, 7700, 11_000, 14_900, 19_800, 25_500, 27_900, 29_700];
pub(super) const AFTER_STEAL: Quantiles = [1800, 2500, 2900, 3700, 5700, 12_500, 20_500, 25_500, 29_500];
/// The same after an offensive rebound, and after a foul that keeps the ball: a median of 5 s.
pub(super) const SECOND_CHANCE: Quantiles = [400, 600, 1000, 3000, 5000, 10_000, 16_000, 18_000, 19_700];
/// Seconds from a miss to its rebound: 22 % under one, 53 % under two, 19 % under three.
pub(super) const REBOUND: Quantiles = [800, 850, 900, 1050, 1400, 1800, 2300, 2600, 3200];
/// A possession without a half-court offence: shots within this time of a rebound or steal are 13 % of what follows these.
pub(super) const FAST: i64 = 6500;

/// Turnovers and fouls come before a shot would, after this percentage of its time.
pub(super) const BEFORE_SHOT: i64 = 78;
/// Permille of chances that end in a turnover (12.9 a team) and in a foul of the defence away from a shot (19.0 fouls).
pub(super) const TURNOVERS: i64 = 152;
pub(super) const COMMON_FOULS: i64 = 93;
/// How much more or less likely these are in each ten minutes, and shots to go in, in permille: 16.7, 17.8, 18.1 and
/// 20.5 points.
pub(super) const FOULS_BY_STRETCH: [i64; 4] = [-200, -100, 20, 260];
pub(super) const TOUCH_BY_STRETCH: [i64; 4] = [-16, -18, 8, 14];
/// Permille of turnovers that are steals (48 %), and of the others that are fouls of the offence (30 %).
pub(super) const STEALS: i64 = 488;
pub(super) const OFFENSIVE_FOULS: i64 = 310;

/// Permille of a player's shots that are threes, from and to: of centres and others; 36 % of 58 in all.
pub(super) const THREES: [(i64, i64); 2] = [(20, 175), (226, 614)];
/// Permille of twos from beyond 3 m (28 %).
pub(super) const LONG_TWOS: i64 = 312;
/// Permille of threes from a corner (10 %), of long twos from beyond 5 m (42 %).
pub(super) const SHOT_SHARES: ShotShares = ShotShares { corners: 92, beyond_5_m: 466 };
/// Permille of made corner threes that are assisted (96 %).
pub(super) const CORNER_ASSISTS: i64 = 930;

/// Where threes and long twos come from, in permille.
#[derive(Clone, Copy)]
pub(super) struct ShotShares {
    pub corners: i64,
    pub beyond_5_m: i64,
}

/// A kind of shot, in permille: fouled, blocked, off the dribble, made if it is neither, assisted.
pub(super) struct ShotRates {
    pub fouls: i64,
    pub blocks: i64,
    pub dribbles: i64,
    pub makes: i64,
    pub assists: i64,
    /// Shift of the chance to make it by the band of the nearest defender.
    pub bands: [i64; 4],
}

/// 49 % of twos go in, 8.7 % are blocked and 38 % of the made ones assisted; 59 % of free-throw trips follow a foul on them.
pub(super) const RIM: ShotRates =
    ShotRates { fouls: 245, blocks: 93, dribbles: 520, makes: 508, assists: 430, bands: [-15, 65, 95, 230] };
pub(super) const MIDDLE: ShotRates =
    ShotRates { fouls: 90, blocks: 40, dribbles: 640, makes: 375, assists: 450, bands: [-60, -20, 20, 90] };
/// 36 % of threes go in, 0.9 % are blocked and 81 % of the made ones assisted; 2 % of trips have three throws.
pub(super) const THREE: ShotRates =
    ShotRates { fouls: 12, blocks: 26, dribbles: 260, makes: 353, assists: 785, bands: [-105, -30, 5, 40] };
pub(super) const HEAVE: ShotRates =
    ShotRates { fouls: 0, blocks: 8, dribbles: 900, makes: 20, assists: 0, bands: [0; 4] };
/// Made shots are this likely of those fouled, relative to others: 23 % of trips have one throw.
pub(super) const AND_ONE: i64 = 44;

/// Permille of misses that go out of bounds: 2.9 a team.
pub(super) const OUT_OF_BOUNDS: i64 = 72;
/// Permille of these that the offence keeps.
pub(super) const OUT_OF_BOUNDS_KEPT: i64 = 400;
/// Permille of misses that the offence rebounds: after threes, twos, free throws (28 % in all).
pub(super) const OFFENSIVE_REBOUNDS: [i64; 3] = [276, 330, 120];

/// Permille of shots whose nearest defender is within 0-2, 2-4, 4-6 ft or farther, for each kind of shot: all twos have
/// 24, 43, 23, 10 %, threes 2, 18, 41, 39 %.
pub(super) const RIM_BANDS: [i64; 4] = [302, 472, 174, 52];
pub(super) const MIDDLE_BANDS: [i64; 4] = [110, 360, 350, 180];
pub(super) const THREE_BANDS: [i64; 4] = [24, 190, 408, 378];
/// Millimetres of the bands' borders; no shot has its defender nearer or farther than the first and last.
pub(super) const BAND_BORDERS: [i64; 5] = [260, 610, 1219, 1829, 3100];

/// Permille of a two's distance from the hoop within 1, 2, .. metres inside 3 m, from 3 to 5 m, and from 5 to 7 m.
pub(super) const RIM_METRES: [i64; 3] = [155, 610, 235];
pub(super) const MIDDLE_METRES: [[i64; 2]; 2] = [[440, 560], [722, 278]];
/// How far behind the arc threes are taken, in mm: a median of 7.8 m from the hoop.
pub(super) const BEHIND_ARC: Quantiles = [30, 330, 500, 820, 1100, 1420, 1760, 2020, 2600];
/// Degrees from straight on: a median of 39.
pub(super) const ANGLE: Quantiles = [0, 3, 7, 21, 39, 58, 78, 86, 100];

/// Minutes of a team's most used, second, .. player in a game, and how these grow in games with few substitutions: the
/// mean and the standard deviation of real ones.
pub(super) const MINUTES: [(i64, i64); 12] = [
    (374, 30),
    (360, 42),
    (338, 48),
    (308, 50),
    (266, 44),
    (168, -36),
    (108, -52),
    (54, -62),
    (18, -58),
    (-4, -46),
    (-12, -38),
    (-14, -30),
];

/// Steps of a normal number, in thousandths, from which on 8, 9, .. players are used: 4, 24, 26, 23, 9 and 14 % use 7 to 12.
pub(super) const USED: [i64; 5] = [-1750, -580, 90, 740, 1130];

/// How much the minutes of a team differ from each other, in permille, beyond their means: 10.6 ± 2.4 minutes.
pub(super) const SPREAD: i64 = 190;

/// Standard deviations of a team's form in a game, in permille of chances: what team-games vary beyond chance.
pub(super) mod form {
    /// The time of an offence: 17.3 ± 2.0 s.
    pub(in super::super) const PACE: i64 = 86;
    /// 21.2 ± 6.1 threes.
    pub(in super::super) const THREES: i64 = 55;
    pub(in super::super) const CORNERS: i64 = 50;
    pub(in super::super) const LONG_TWOS: i64 = 74;
    pub(in super::super) const BEYOND_5_M: i64 = 100;
    /// How many fewer corner threes and long twos a side that takes more threes has, in percent of these: shares within 3 m
    /// and from the corner correlate by 0.25.
    pub(in super::super) const CORNERS_BY_THREES: i64 = 100;
    pub(in super::super) const LONG_TWOS_BY_THREES: i64 = 18;
    /// 49.3 ± 9.2 % of twos.
    pub(in super::super) const TOUCH: i64 = 15;
    /// The same, drawn for each ten minutes: their points differ by 4.2 ± 1.7.
    pub(in super::super) const STREAK: i64 = 30;
    /// 70.8 ± 11.6 % of free throws.
    pub(in super::super) const FREE_THROWS: i64 = 20;
    /// 27.9 ± 9.1 % of the misses.
    pub(in super::super) const BOARDS: i64 = 36;
    /// 12.9 ± 4.2 turnovers, 6.2 ± 3.1 steals.
    pub(in super::super) const TURNOVERS: i64 = 26;
    pub(in super::super) const STEALS: i64 = 110;
    /// 19.0 ± 4.3 fouls, 21.1 ± 7.6 free throws.
    pub(in super::super) const FOULS: i64 = 30;
    /// 3.4 ± 2.4 blocks.
    pub(in super::super) const BLOCKS: i64 = 420;
    /// 50 ± 13 % of the baskets.
    pub(in super::super) const ASSISTS: i64 = 90;
    /// A team's strength through the season, at both ends: margins of 11.8 ± 9.5.
    pub(in super::super) const STRENGTH: i64 = 10;
    /// What the home team makes more, and the visitors less.
    pub(in super::super) const HOME: i64 = 9;
}
