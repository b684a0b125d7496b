//! Nothing is played before its time, and a seed gives the same bodies on every platform.

use super::*;

#[test]
fn no_game_is_played_to_make_a_season() {
    let season = Season::new(7, Sport::Basketball, 370, 5500, NOW);
    assert_eq!(season.games().len(), 5500);
    assert!(season.games_played.lock().unwrap().is_empty());
}

/// FNV-1a over the bytes of a body.
fn hash(body: &impl serde::Serialize) -> u64 {
    let bytes = serde_json::to_vec(body).unwrap();
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Hashes of what a season says of one of its games.
fn hashes(season: &Season, game: usize) -> [u64; 9] {
    let game = &season.games()[game];
    let event = season.event(&game.event_id, NOW).unwrap();
    let part = &event.results[0];
    let session = season.session(&part.id, NOW).unwrap();
    let view = season.whole(&game.event_id, NOW).unwrap();
    let window = locations(season, &part.id, part.started_at, part.started_at + 120_000, NOW).unwrap();
    [
        hash(game),
        hash(&season.roster(game.away_team_id, Some(&game.event_id)).unwrap()),
        hash(&event),
        hash(&session.stats),
        hash(&session.details),
        hash(&session.possessions),
        hash(&session.shots),
        hash(&window),
        hash(&(view.lines(), view.plays(), view.shots(), view.ball_screens(), view.totals())),
    ]
}

#[test]
fn a_seed_gives_the_same_bodies_in_any_order_and_others_do_not() {
    let season = small();
    let forth: Vec<_> = (0..30).map(|game| hashes(&season, game)).collect();
    let season = small();
    let back: Vec<_> = (0..30).rev().map(|game| hashes(&season, game)).collect();
    assert!(forth.iter().eq(back.iter().rev()));
    let other = Season::new(8, Sport::Basketball, 16, 40, NOW);
    assert!(hashes(&other, 3).iter().zip(&forth[3]).all(|(hash, other_hash)| hash != other_hash));
}

/// On every platform: these were written on x86-64 Linux. They change with the generator, and with it only.
#[test]
fn the_bodies_of_a_seed_are_these() {
    let season = small();
    assert_eq!(
        [hashes(&season, 3), hashes(&season, 34)],
        [
            [
                9546022710554124787,
                13753451061257382845,
                9230448357061050653,
                3806417232907952570,
                561917809686521123,
                8634702772963877633,
                13707988955788722515,
                4440528501076953591,
                267028688016100660
            ],
            [
                3266220578546926591,
                9693828951553049269,
                8827382712418788380,
                10469401215604097981,
                11985284480015598245,
                9360186954790154142,
                7390442261858820245,
                12589552303610430874,
                3748911479150679206
            ]
        ]
    );
    let football = Season::new(7, Sport::Football, 16, 40, NOW);
    assert_eq!(
        hashes(&football, 3),
        [
            5785648096754619941,
            1719293917296106182,
            1139385415037955047,
            8545634432486721334,
            17586066584372482535,
            675868731199239589,
            675868731199239589,
            16335256388794309872,
            15023065694690044504
        ]
    );
}

#[test]
fn no_time_or_size_makes_it_panic() {
    for now in [i64::MIN, -1, 0, i64::MAX] {
        for (teams, games) in [(0, 10), (1, 10), (2, 1), (3, 7)] {
            for sport in [Sport::Basketball, Sport::Football] {
                let season = Season::new(1, sport, teams, games, now);
                let Some(game) = season.games().first() else { continue };
                for at in [i64::MIN, game.tipoff_at, game.tipoff_at + 1, i64::MAX] {
                    let event = season.event(&game.event_id, at).unwrap();
                    for part in &event.results {
                        for (from, to) in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MAX, i64::MAX)] {
                            locations(&season, &part.id, from, to, at).unwrap();
                        }
                    }
                    season.team_events(game.home_team_id, i64::MIN, i64::MAX, at);
                    season.team_game_stats(game.home_team_id, None, i64::MIN, i64::MAX, at).unwrap();
                    season.game_details(&game.event_id, at).unwrap();
                    let view = season.whole(&game.event_id, at).unwrap();
                    let counts = [view.shots().len(), view.plays().len(), view.ball_screens().len()];
                    assert!(counts == [0; 3] || view.totals().period_totals.len() > 1);
                }
            }
        }
    }
}
