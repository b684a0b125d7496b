//! A game is one that could be played.

use super::*;

#[test]
fn no_game_ends_in_a_tie_and_ties_are_played_on() {
    let season = Season::new(3, Sport::Basketball, 16, 240, NOW);
    let (mut overtimes, mut points) = (0, Vec::new());
    for game in season.games().iter().filter(|game| game.tipoff_at + 4 * HOUR < NOW) {
        let event = season.event(&game.event_id, NOW).unwrap();
        let last = season.session(&event.results.last().unwrap().id, NOW).unwrap();
        let sums = [game.home_team_id, game.away_team_id].map(|team| {
            let stats = season.team_game_stats(team, Some(&game.event_id), 0, 0, NOW).unwrap();
            stats.player_stats[0].stats["PTS"].as_i64().unwrap()
        });
        assert_ne!(sums[0], sums[1]);
        for (team, sum) in last.stats.iter().zip(sums) {
            assert_eq!(team.player_stats[0].stats["TEAM_SCORE"], sum, "the last session's score is the game's points");
        }
        points.extend(sums);
        overtimes += usize::from(event.results.len() > 2);
    }
    assert!(overtimes > 0);
    let mean = points.iter().sum::<i64>() / points.len() as i64;
    assert!((62..=84).contains(&mean), "{mean} points a team and game");
}

#[test]
fn ten_players_of_the_rosters_of_the_day_are_on_court_and_only_they_act() {
    let season = small();
    for (event, session) in sessions(&season) {
        let roster_ids = |team: i64| -> BTreeSet<i64> {
            let game = event.is_game_event.then_some(event.id.as_str());
            season.roster(team, game).unwrap().players.iter().map(|player| player.id).collect()
        };
        let rosters: BTreeMap<i64, BTreeSet<i64>> =
            session.possessions.iter().map(|team| (team.id, roster_ids(team.id))).collect();
        for team in &session.possessions {
            let player_ids: BTreeSet<i64> = team.team_player_details.iter().map(|player| player.id).collect();
            for possession in &team.possessions {
                let on_court: BTreeSet<i64> = possession.player_ids.iter().copied().collect();
                let others: BTreeSet<i64> = possession.opposing_player_ids.iter().copied().collect();
                assert_eq!((on_court.len(), others.len(), on_court.union(&others).count()), (5, 5, 10));
                assert!(on_court.is_subset(&player_ids));
                assert!(event.is_practice_event || on_court.is_subset(&rosters[&team.id]));
                for stat in &possession.stats {
                    assert!(on_court.contains(&stat.player_id) || others.contains(&stat.player_id));
                }
            }
        }
    }
}

#[test]
fn lineups_change() {
    let mut counts = Vec::new();
    for (event, session) in sessions(&small()) {
        // Whole halves: an overtime, a drill or a half that has just begun may see no change.
        let is_complete = event.is_game_event && session.ended_at < NOW;
        for team in session.possessions.iter().filter(|team| is_complete && team.possessions.len() > 20) {
            let lineups: BTreeSet<_> = team.possessions.iter().map(|possession| &possession.player_ids).collect();
            counts.push(lineups.len());
        }
    }
    assert!(counts.len() > 100, "{} halves", counts.len());
    assert!(counts.iter().all(|lineups| (2..20).contains(lineups)), "{counts:?}");
    let mean = counts.iter().sum::<usize>() / counts.len();
    assert!((6..=12).contains(&mean), "{mean} lineups a half");
}

#[test]
fn clocks_never_rise_and_possessions_alternate() {
    let season = small();
    for half in events(&season).into_iter().flat_map(|event| event.results) {
        let session = season.session(&half.id, NOW).unwrap();
        let mut all: Vec<_> =
            session.possessions.iter().flat_map(|team| team.possessions.iter().map(move |p| (team.id, p))).collect();
        all.sort_by_key(|(_, possession)| possession.start_timestamp);
        let (mut left, mut at) = (f64::INFINITY, half.started_at);
        for (_, possession) in &all {
            assert!(possession.start_timestamp >= at && possession.end_timestamp > possession.start_timestamp);
            assert!(clock(&possession.start_game_clock) <= left);
            left = clock(&possession.start_game_clock);
            at = possession.start_timestamp;
            for stat in &possession.stats {
                assert!(stat.timestamp >= at && stat.timestamp <= possession.end_timestamp);
                let now = clock(stat.game_clock.as_ref().unwrap());
                assert!(now <= left);
                assert!(stat.shot_clock.as_ref().is_none_or(|text| (0.0..=30.0).contains(&clock(text))));
                (left, at) = (now, stat.timestamp);
            }
            assert!(clock(&possession.end_game_clock) <= left);
            (left, at) = (clock(&possession.end_game_clock), possession.end_timestamp);
        }
        assert!(at <= session.ended_at);
        if session.possessions.len() == 2 {
            assert!(all.windows(2).all(|pair| pair[0].0 != pair[1].0));
        }
    }
}

#[test]
fn shots_are_seen_from_the_hoop_and_teams_swap_ends() {
    let season = small();
    for (_, session) in sessions(&season) {
        for shot in session.shots.iter().flat_map(|team| &team.player_shots).flat_map(|player| &player.shots) {
            let s = shot.hoop_y.signum();
            assert!((-s * (shot.player_x - shot.hoop_x) - shot.hoop_player_x).abs() <= 1.0);
            assert!((-s * (shot.player_y - shot.hoop_y) - shot.hoop_player_y).abs() <= 1.0);
            let distance = (shot.hoop_player_x.powi(2) + shot.hoop_player_y.powi(2)).sqrt();
            assert_eq!(shot.is_3point, distance >= 6750.0 || shot.hoop_player_x.abs() >= 6600.0);
            assert!(shot.player_x.abs() <= 7620.0 && shot.player_y.abs() <= 14326.0);
            assert!((12_600.0..=12_850.0).contains(&shot.hoop_y.abs()));
        }
    }
    for game in games(&season).iter().filter(|game| game.ended_at < NOW) {
        let end = |half: usize, team: usize| {
            let session = season.session(&game.results[half].id, NOW).unwrap();
            let shots = session.shots[team].player_shots.iter().flat_map(|player| &player.shots);
            let ends: BTreeSet<i64> = shots.map(|shot| shot.hoop_y as i64).collect();
            assert_eq!(ends.len(), 1);
            ends.first().unwrap().signum()
        };
        assert_eq!([end(0, 0), end(0, 1)], [end(1, 1), end(1, 0)]);
        assert_ne!(end(0, 0), end(0, 1));
    }
}

#[test]
fn a_ball_screen_has_one_wing_and_at_least_one_kind() {
    for (_, session) in sessions(&small()) {
        for possession in session.possessions.iter().flat_map(|team| &team.possessions) {
            let body = serde_json::to_value(&possession.possession_attributes).unwrap();
            let sum = |wings: bool| -> i64 {
                let screens = body.as_object().unwrap().iter().filter(|(name, _)| name.starts_with("ball_screens_"));
                screens.filter(|(name, _)| name.ends_with("_wing") == wings).map(|(_, n)| n.as_i64().unwrap()).sum()
            };
            let screens = possession.possession_attributes.ball_screens;
            assert_eq!(sum(true), screens);
            assert!(sum(false) >= screens);
            let turnovers = possession.stats.iter().filter(|stat| stat.possession_type == "TO").count() as i64;
            assert_eq!(possession.possession_attributes.turnover, turnovers);
        }
    }
}

#[test]
fn football_has_quarters_and_says_that_its_stats_are_invented() {
    let season = Season::new(7, Sport::Football, 16, 80, NOW);
    assert!(season.games().iter().all(|game| game.kind == "FOOTBALL"));
    assert!(season.teams().iter().all(|team| team.sport == "FOOTBALL"));
    let finished_game = season.games().iter().find(|game| game.tipoff_at + 6 * HOUR < NOW).unwrap();
    let event = season.event(&finished_game.event_id, NOW).unwrap();
    assert_eq!(event.game_type.as_deref(), Some("QUARTER"));
    let names: Vec<_> = event.results.iter().map(|result| result.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["Q1", "Q2", "Q3", "Q4"]);
    assert!(event._self.starts_with("https://api-gridtracker.ddsports.com/v1/data/games/"));
    for result in &event.results {
        assert_eq!(result.kind, "FOOTBALL_GAME_QUARTER");
        let session = season.session(&result.id, NOW).unwrap();
        assert!(session.possessions.is_empty() && session.shots.is_empty());
        for (stats, details) in session.stats.iter().zip(&session.details) {
            assert!(!stats.player_stats.is_empty());
            for (line, player) in stats.player_stats.iter().zip(&details.player_stats) {
                assert_eq!((line.id, counts_of(&line.stats)), (player.id, sums(&player.stats)));
                assert!(line.stats.keys().all(|code| code.starts_with("INVENTED_")));
            }
        }
    }
    let season_of = season.team_game_stats(finished_game.home_team_id, None, 1, NOW, NOW).unwrap();
    assert!(season_of.player_stats[0].games_played > Some(4));
    assert!(season.roster(finished_game.home_team_id, None).unwrap().players.len() >= 22);
}

#[test]
fn a_football_game_scores_by_its_plays_and_its_carriers_are_where_their_plays_end() {
    let season = Season::new(7, Sport::Football, 16, 80, NOW);
    let finished_game = season.games().iter().find(|game| game.tipoff_at + 6 * HOUR < NOW).unwrap();
    let event = season.event(&finished_game.event_id, NOW).unwrap();
    let totals = season.whole(&finished_game.event_id, NOW).unwrap().totals();
    let mut sums = [0.0; 2];
    for (result, period_score) in event.results.iter().zip(totals.period_totals.iter().rev()) {
        let session = season.session(&result.id, NOW).unwrap();
        let points = session.details.iter().map(|team| {
            let total = team.player_stats.iter().find(|line| line.id == 0).unwrap();
            let (_, occurrences) = total.stats.iter().find(|(code, _)| code == "INVENTED_POINTS").unwrap();
            occurrences.iter().map(|occurrence| occurrence.value).sum::<f64>()
        });
        let points: Vec<f64> = points.collect();
        assert_eq!(
            points,
            [period_score.home_team_score.value as f64, period_score.away_team_score.value as f64],
            "{}",
            period_score.period
        );
        sums.iter_mut().zip(points).for_each(|(sum, points)| *sum += points);
        for line in session.details.iter().flat_map(|team| &team.player_stats).filter(|line| line.id != 0) {
            for occurrence in &line.stats[0].1 {
                let mut batches = Vec::new();
                season
                    .locations(&result.id, occurrence.occurred_at - 1000, occurrence.occurred_at, NOW, |batch| {
                        batches.push(batch)
                    })
                    .unwrap();
                let last = batches.last().unwrap();
                assert_eq!(last.locations.len(), 23);
                let carrier = last.locations.iter().find(|location| location.pid == Some(line.id)).unwrap();
                let distance = (carrier.x - occurrence.x.unwrap()).hypot(carrier.y - occurrence.y.unwrap());
                assert!(distance < 1000.0, "{distance} mm away");
            }
        }
    }
    assert_eq!(sums, [totals.home_team_score.value as f64, totals.away_team_score.value as f64]);
    assert!(sums[0] > 0.0 && sums[1] > 0.0, "{sums:?}");
    let first = &event.results[0];
    season
        .locations(&first.id, first.started_at, first.ended_at, NOW, |batch| {
            for at in &batch.locations {
                assert!(at.x.abs() <= 24_384.0 && at.y.abs() <= 54_864.0 && at.speed < 15.0, "{at:?}");
            }
        })
        .unwrap();
}
