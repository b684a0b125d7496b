//! Practices: about one a week, of drills that the team plays against itself. And workouts, which the service keeps
//! apart.

use super::court;
use super::game_log::{GameLog, Side};
use super::ids::{IdKind, Ids};
use super::play;
use super::rng::Rng;
use super::roster::TeamMember;
use super::schedule::{DAY, HOUR, MINUTE, SeasonPlan};
use std::sync::Arc;

/// Drills and their minutes on the game clock.
const DRILLS: [(&str, i64); 4] = [("Five on five", 8), ("Transition", 5), ("Shell", 6), ("Scrimmage", 10)];

/// The parts of a workout.
const WORKOUT: [(&str, i64); 2] = [("Live shooting", 6), ("Open scrimmage", 8)];
/// Weeks between a team's workouts.
const BETWEEN_WORKOUTS: i64 = 5;

/// A practice or workout of a team, by its week.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Practice {
    pub team: usize,
    pub week: i64,
    pub starts_at: i64,
    pub is_workout: bool,
}

/// Greater than every week.
const WORKOUTS: u64 = 1 << 15;

impl Practice {
    /// Its number in the season, for its id.
    pub(super) fn number(self) -> u64 {
        ((self.team as u64) << 16) | self.week as u64 | if self.is_workout { WORKOUTS } else { 0 }
    }

    pub(super) fn team_of(number: u64) -> usize {
        (number >> 16) as usize
    }
}

/// The practices and workouts of a team: in each week a practice on a day without a game, in the American morning; in
/// some weeks a workout on another such day.
pub(super) fn of_team(seed: u64, team: usize, plan: &SeasonPlan, tipoffs: &[i64]) -> Vec<Practice> {
    let weeks = (plan.ends_at - plan.starts_at) / (7 * DAY);
    (0..weeks)
        .flat_map(|week| {
            let mut rng = Rng::with_key(seed, &[0x94AC, team as u64, week as u64]);
            let first = rng.below(7);
            let hour = 13 * HOUR + rng.below(5) * 30 * MINUTE;
            let starts = (0..7).map(|day| plan.starts_at + (7 * week + (first + day) % 7) * DAY + hour);
            let free = |at: &i64| tipoffs.iter().all(|tipoff| !(at - 4 * HOUR..at + 3 * HOUR).contains(tipoff));
            let count = if week % BETWEEN_WORKOUTS == team as i64 % BETWEEN_WORKOUTS { 2 } else { 1 };
            let free: Vec<i64> = starts.filter(free).take(count).collect();
            free.into_iter().zip([false, true]).map(move |(starts_at, is_workout)| Practice {
                team,
                week,
                starts_at,
                is_workout,
            })
        })
        .collect()
}

/// Plays it: the players present form two fives, drawn for each practice.
pub(super) fn play(seed: u64, ids: Ids, practice: Practice, members: Vec<Arc<TeamMember>>) -> GameLog {
    let mut rng = Rng::with_key(seed, &[0x94AD, practice.number()]);
    let mut present: Vec<Arc<TeamMember>> = members
        .into_iter()
        .filter(|member| member.left_at.is_none_or(|left_at| practice.starts_at < left_at))
        .collect();
    rng.shuffle(&mut present);
    let others = present.split_off(present.len() / 2);
    let sides = [present, others].map(|members| Side { team: practice.team, members, strength: 0 });
    let first = rng.index(2);
    let drills = [DRILLS[first], DRILLS[2], DRILLS[3]];
    let drills = if practice.is_workout { &WORKOUT[..] } else { &drills[..] };
    // Games count from one in steps of their own; a week's practices share a step below the first of them.
    let version = 1 + practice.week;
    play::scrimmage(rng, court::hoops(seed, practice.team), version, practice.starts_at, sides, drills, |part| {
        ids.text(IdKind::Drill, practice.number(), part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_practice_keeps_clear_of_games_at_any_hour() {
        let plan = SeasonPlan { fixtures: Vec::new(), starts_at: 0, ends_at: 150 * DAY };
        // A game a day on six days of each week, at the hour of practice.
        let tipoffs: Vec<i64> = (0..150).filter(|day| day % 7 != 4).map(|day| day * DAY + 14 * HOUR).collect();
        let (workouts, practices): (Vec<_>, Vec<_>) =
            of_team(1, 0, &plan, &tipoffs).into_iter().partition(|practice| practice.is_workout);
        assert_eq!(workouts, [], "there is no second free day");
        assert_eq!(practices.len(), 21);
        assert!(practices.iter().all(|practice| practice.starts_at.div_euclid(DAY) % 7 == 4));
    }

    #[test]
    fn a_team_works_out_every_fifth_week_and_not_on_the_day_of_its_practice() {
        let plan = SeasonPlan { fixtures: Vec::new(), starts_at: 0, ends_at: 150 * DAY };
        for team in 0..7 {
            let all = of_team(1, team, &plan, &[]);
            let days: std::collections::BTreeSet<_> =
                all.iter().map(|practice| practice.starts_at.div_euclid(DAY)).collect();
            let numbers: std::collections::BTreeSet<_> = all.iter().map(|practice| practice.number()).collect();
            assert_eq!((days.len(), numbers.len()), (all.len(), all.len()));
            assert!((4..=5).contains(&all.iter().filter(|practice| practice.is_workout).count()));
        }
    }
}
