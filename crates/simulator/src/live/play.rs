//! The clock of a game played at a chosen speed.

use super::game::LiveGame;
use crate::service::{Service, lock};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

/// Plays a game from its tip-off, or from where it is, on another thread. `None`: as fast as its readers take it. If it
/// is being played, it continues at the new speed.
pub(crate) fn play(service: &Arc<Service>, index: usize, speed: Option<f64>, threads: &Handle) -> Result<(), String> {
    let game = service.game(index);
    let mut task = lock(&game.player);
    let (player, starts_at) = game.start(service).ok_or("the game is over")?;
    service.retain(&game);
    let playing = run(service.clone(), game.clone(), player, starts_at, speed);
    if let Some(previous) = task.replace(threads.spawn(playing).abort_handle()) {
        previous.abort();
    }
    Ok(())
}

async fn run(service: Arc<Service>, game: Arc<LiveGame>, player: u64, starts_at: i64, speed: Option<f64>) {
    let playing_since = Instant::now();
    for moment in game.moments.iter().filter(|moment| **moment > starts_at) {
        if let Some(speed) = speed {
            let since = (moment - starts_at) as f64 / 1000.0 / speed;
            // Too slow for any clock: it stands still.
            let Ok(since) = Duration::try_from_secs_f64(since) else { return std::future::pending().await };
            let Some(at) = playing_since.checked_add(since) else { return std::future::pending().await };
            sleep_until(at).await;
        }
        let Some(changes) = game.advance_clock(&service, player, *moment) else { return };
        if speed.is_none() {
            game.wait_for_readers(changes).await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by failing")]
    use crate::{Simulator, SimulatorOptions};

    /// Before all games of a small season.
    fn season() -> Simulator {
        let now = Some(1_771_588_800_000);
        let simulator =
            Simulator::start(SimulatorOptions { seed: 7, teams: 6, games: 40, now, ..SimulatorOptions::default() })
                .unwrap();
        assert!(simulator.service.season.moments(39).iter().all(|moment| *moment > simulator.service.now()));
        simulator
    }

    #[test]
    fn an_earlier_player_does_not_advance_the_clock_of_a_later_one() {
        let simulator = season();
        let (service, game) = (&simulator.service, simulator.service.game(39));
        let clock = || service.season.time_of(39, service.now());
        let (earlier, _) = game.start(service).unwrap();
        assert_eq!(game.advance_clock(service, earlier, game.moments[3]), Some(4));
        let (player, starts_at) = game.start(service).unwrap();
        assert_eq!(starts_at, game.moments[3]);
        assert_eq!(game.advance_clock(service, earlier, game.moments[9]), None);
        assert_eq!((game.catch_up(service), clock()), (4, game.moments[3]));
        assert_eq!(game.advance_clock(service, player, game.moments[4]), Some(5));
    }
}
