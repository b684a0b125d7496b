//! The clock of a game that is played at a chosen speed.

use super::game::Game;
use crate::simulator::service::{Service, lock};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};

/// Plays a game from its tip-off, or from where it stands, on another thread. `None`: as fast as its readers take it. One that
/// is being played goes on at the new speed. The error says what cannot be.
pub(in crate::simulator) fn play(
    service: &Arc<Service>,
    index: usize,
    speed: Option<f64>,
    threads: &Handle,
) -> Result<(), String> {
    let game = service.game(index);
    let mut player = lock(&game.player);
    if let Some(before) = player.take() {
        before.abort();
    }
    let tipoff_at = game.moments.first().map_or(0, |first| first - 1);
    let starts_at = service.season.time_of(index, service.now()).max(tipoff_at);
    if game.moments.last().is_none_or(|last| *last <= starts_at) {
        return Err("the game is over".to_owned());
    }
    service.hold(&game);
    game.move_to(service, starts_at);
    let playing = run(service.clone(), game.clone(), starts_at, speed);
    *player = Some(threads.spawn(playing).abort_handle());
    Ok(())
}

async fn run(service: Arc<Service>, game: Arc<Game>, starts_at: i64, speed: Option<f64>) {
    let begun = Instant::now();
    for moment in game.moments.iter().filter(|moment| **moment > starts_at) {
        if let Some(speed) = speed {
            let since = (moment - starts_at) as f64 / 1000.0 / speed;
            // Slower than any clock reaches: it stands still.
            let Ok(since) = Duration::try_from_secs_f64(since) else { return std::future::pending().await };
            let Some(at) = begun.checked_add(since) else { return std::future::pending().await };
            sleep_until(at).await;
        }
        let moves = game.move_to(&service, *moment);
        if speed.is_none() {
            game.all_taken(moves).await;
        }
    }
}
