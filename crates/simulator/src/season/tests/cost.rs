//! What a game costs. `cargo test -p sideline-simulator cost -- --ignored --nocapture`

use super::*;
use std::time::Instant;

#[test]
#[ignore = "a measurement, printed"]
#[allow(clippy::print_stdout, reason = "what it measures is read by a person")]
fn the_scripts_of_two_hundred_games_and_the_positions_of_one() {
    let season = Season::new(3, Sport::Basketball, 16, 240, NOW);
    let clock = Instant::now();
    let events: usize = (0..200)
        .map(|game| season.play(game).unwrap().periods.iter().map(|period| period.possessions.len()).sum::<usize>())
        .sum();
    println!("200 scripts: {:?}, {events} possessions", clock.elapsed());
    let fine = Season::new(3, Sport::Basketball, 16, 240, NOW).sensed_by(Sensors { step: 100, ..Sensors::default() });
    let game = games(&fine).into_iter().find(|game| game.ended_at < NOW).unwrap();
    let clock = Instant::now();
    let mut batches = 0;
    for half in &game.results {
        fine.locations(&half.id, half.started_at, half.ended_at, NOW, |_| batches += 1).unwrap();
    }
    let (seconds, game_seconds) = (clock.elapsed().as_secs_f64(), batches as f64 / 10.0);
    println!("positions: {batches} batches in {seconds:.3} s, {:.0} times real time", game_seconds / seconds);
}
