//! Substitutions: who is on court, by planned minutes and fouls.

use super::figures::{MINUTES, SPREAD, USED};
use super::game_log::Side;
use super::rng::Rng;
use super::schedule::MINUTE;

/// A player with this many fouls stays off: nobody fouls out, so lineups change only between possessions.
pub(super) const FOUL_TROUBLE: i64 = 4;
/// So many players of a team play in every game.
const ALWAYS: usize = 7;

#[derive(Debug)]
pub(super) struct Substitutions {
    pub on_court: [usize; 5],
    pub fouls: Vec<i64>,
    shares: Vec<i64>,
    time_played: Vec<i64>,
    elapsed: i64,
}

impl Substitutions {
    /// The first five members start. How the playing time is shared varies from game to game.
    pub(super) fn new(rng: &mut Rng, side: &Side) -> Self {
        let count = side.members.len();
        let mut order: Vec<usize> = (0..count).collect();
        let starters = count.min(5);
        rng.shuffle(&mut order[..starters]);
        rng.shuffle(&mut order[starters..]);
        // Between a team that changes all the time and one that hardly does.
        let rotation = rng.bell(1000);
        let use_of_bench = rng.bell(660) - rotation * 3 / 4;
        let used = ALWAYS + USED.iter().filter(|step| use_of_bench >= **step).count();
        let spread = 1000 + rng.bell(SPREAD);
        let mut shares = vec![0; count];
        for (rank, (member, (mean, growth))) in order.iter().zip(MINUTES).enumerate() {
            if rank >= used {
                break;
            }
            let share = 200 + (mean - 200) * spread / 1000 + rng.bell(18) + growth * rotation / 1000;
            shares[*member] = share.clamp(30, 395) * 1000 / 400;
        }
        Substitutions {
            on_court: [0, 1, 2, 3, 4],
            fouls: vec![0; count],
            shares,
            time_played: vec![0; count],
            elapsed: 0,
        }
    }

    pub(super) fn play(&mut self, time: i64) {
        self.elapsed += time;
        for member in self.on_court {
            self.time_played[member] += time;
        }
    }

    pub(super) fn may_foul(&self, member: usize) -> bool {
        self.fouls[member] < FOUL_TROUBLE
    }

    /// How far a player is beyond the planned time.
    fn ahead(&self, member: usize) -> i64 {
        let reserve = if self.shares[member] < 30 { 100 * MINUTE } else { 0 };
        let foul_trouble = if self.may_foul(member) { 0 } else { 1000 * MINUTE };
        self.time_played[member] - self.shares[member] * self.elapsed / 1000 + reserve + foul_trouble
    }

    /// Makes up to three changes at a dead ball: the players most ahead of plan go off.
    pub(super) fn substitute(&mut self, rng: &mut Rng) {
        for _ in 0..rng.below(4) {
            let waiting = (0..self.fouls.len()).filter(|member| !self.on_court.contains(member));
            let Some(fresh) = waiting.min_by_key(|member| self.ahead(*member)) else { return };
            let Some(seat) = (0..5).max_by_key(|seat| self.ahead(self.on_court[*seat])) else { return };
            if self.ahead(self.on_court[seat]) - self.ahead(fresh) < rng.within(MINUTE / 4, 3 * MINUTE / 2) {
                return;
            }
            self.on_court[seat] = fresh;
        }
    }

    /// The starters return for a new period, except those in foul trouble.
    pub(super) fn start_period(&mut self) {
        let count = self.fouls.len();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by_key(|member| (!self.may_foul(*member), *member));
        for (seat, member) in order.into_iter().take(5).enumerate() {
            self.on_court[seat] = member;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: [i64; 9] = [780, 760, 740, 700, 680, 420, 380, 300, 240];

    fn bench(members: usize) -> Substitutions {
        let mut shares = vec![0; members];
        shares[..9].copy_from_slice(&SHARES);
        Substitutions {
            on_court: [0, 1, 2, 3, 4],
            fouls: vec![0; members],
            shares,
            time_played: vec![0; members],
            elapsed: 0,
        }
    }

    #[test]
    fn minutes_follow_the_plan() {
        let (mut bench, mut rng) = (bench(13), Rng::with_key(1, &[]));
        for _ in 0..80 {
            bench.play(MINUTE / 2);
            bench.substitute(&mut rng);
        }
        for (member, share) in SHARES.iter().enumerate() {
            let off = bench.time_played[member] - share * bench.elapsed / 1000;
            assert!(off.abs() <= 4 * MINUTE, "{member}: {off}");
        }
        assert!(bench.time_played[9..].iter().all(|time_played| *time_played == 0));
    }

    #[test]
    fn who_is_in_foul_trouble_goes_off_and_stays_off() {
        let (mut bench, mut rng) = (bench(12), Rng::with_key(2, &[]));
        bench.fouls[3] = FOUL_TROUBLE;
        (0..20).for_each(|_| bench.substitute(&mut rng));
        assert!(!bench.on_court.contains(&3));
        bench.start_period();
        assert_eq!(bench.on_court, [0, 1, 2, 4, 5]);
    }
}
