//! Stats, details, possessions and shots say the same.

use super::*;

#[test]
fn every_code_of_a_box_score_is_the_sum_of_its_occurrences() {
    for (event, session) in sessions(&small()) {
        for (stats, details) in session.stats.iter().zip(&session.details) {
            let boxes: BTreeMap<i64, _> = stats
                .player_stats
                .iter()
                .map(|line| (line.id, counts_of(&line.stats)))
                .filter(|line| !line.1.is_empty())
                .collect();
            let sums: BTreeMap<i64, _> = details
                .player_stats
                .iter()
                .map(|player| {
                    let mut sums = sums(&player.stats);
                    sums.retain(|code, _| !NEVER_COUNTED.contains(&code.as_str()));
                    (player.id, sums)
                })
                .collect();
            assert_eq!(boxes, sums, "{}", event.id);
        }
    }
}

#[test]
fn a_team_is_the_sum_of_its_players() {
    for (_, session) in sessions(&small()) {
        for team in &session.stats {
            let Some((total, players)) = team.player_stats.split_first() else { continue };
            assert_eq!((total.id, &total.player_details), (0, &None));
            let mut sum: BTreeMap<String, f64> = BTreeMap::new();
            for player in players {
                assert_eq!(player.player_details.as_ref().unwrap().id, player.id);
                counts_of(&player.stats).into_iter().for_each(|(code, value)| *sum.entry(code).or_default() += value);
            }
            assert_eq!(counts_of(&total.stats), sum);
        }
    }
}

#[test]
fn codes_agree_with_each_other() {
    for (_, session) in sessions(&small()) {
        for line in session.stats.iter().flat_map(|team| &team.player_stats) {
            let count_of = |code: &str| line.stats.get(code).and_then(serde_json::Value::as_i64).unwrap_or(0);
            assert_eq!(count_of("FGA"), count_of("FGA2") + count_of("FGA3"));
            assert_eq!(count_of("FG"), count_of("FG2") + count_of("FG3"));
            assert_eq!(count_of("REB"), count_of("OFFENSIVE_REB") + count_of("DEFENSIVE_REB"));
            assert_eq!(count_of("PTS"), 2 * count_of("FG2") + 3 * count_of("FG3") + count_of("FT"));
            assert!(
                count_of("FG") <= count_of("FGA")
                    && count_of("FT") <= count_of("FTA")
                    && count_of("LBTO") <= count_of("TO")
            );
        }
    }
}

#[test]
fn every_shot_is_one_possession_stat_one_record_and_one_occurrence() {
    let season = small();
    let mut seen = 0;
    for (_, session) in sessions(&season) {
        let key = |at: i64, player: i64, x: f64, y: f64| (at, player, x as i64, y as i64);
        let mut records: Vec<_> = Vec::new();
        for shooter in session.shots.iter().flat_map(|team| &team.player_shots) {
            records.extend(shooter.shots.iter().map(|s| key(s.occurred_at, shooter.id, s.player_x, s.player_y)));
        }
        let mut stats: Vec<_> = Vec::new();
        for stat in session.possessions.iter().flat_map(|team| &team.possessions).flat_map(|p| &p.stats) {
            assert_eq!(stat.possession_type == "FGA", stat.shot_attributes.is_some());
            stats.extend(stat.shot_attributes.iter().map(|s| key(stat.timestamp, stat.player_id, s.x, s.y)));
        }
        let mut occurrences: Vec<_> = Vec::new();
        for player in session.details.iter().flat_map(|team| &team.player_stats).filter(|player| player.id != 0) {
            let lists = player.stats.iter().filter(|(code, _)| code == "FGA").flat_map(|(_, list)| list);
            occurrences.extend(lists.map(|o| key(o.occurred_at, player.id, o.x.unwrap(), o.y.unwrap())));
        }
        for list in [&mut records, &mut stats, &mut occurrences] {
            list.sort_unstable();
        }
        assert_eq!(records, stats);
        assert_eq!(records, occurrences);
        assert_eq!(records.iter().collect::<BTreeSet<_>>().len(), records.len());
        seen += records.len();
    }
    assert!(seen > 4000, "{seen} shots");
}

#[test]
fn points_are_the_same_in_box_score_shots_and_possessions() {
    for (_, session) in sessions(&small()) {
        for (place, team) in session.stats.iter().enumerate() {
            let total_of =
                |code: &str| team.player_stats.first().and_then(|total| total.stats.get(code)?.as_i64()).unwrap_or(0);
            let shots = session.shots[place].player_shots.iter().flat_map(|player| &player.shots);
            let baskets: i64 = shots.filter(|shot| shot.is_make).map(|shot| if shot.is_3point { 3 } else { 2 }).sum();
            assert_eq!(total_of("PTS"), baskets + total_of("FT"));
            let stats = session.possessions[place].possessions.iter().flat_map(|p| &p.stats);
            let points: i64 = stats
                .map(|stat| {
                    let has_detail = |code: &str| stat.details.iter().any(|detail| detail == code);
                    if !has_detail("PTS") {
                        0
                    } else if has_detail("FG3") {
                        3
                    } else if has_detail("FG2") {
                        2
                    } else {
                        1
                    }
                })
                .sum();
            assert_eq!(total_of("PTS"), points);
        }
    }
}

#[test]
fn a_game_going_on_is_the_beginning_of_the_finished_one() {
    let season = small();
    let game = &season.games()[3];
    let finished_event = season.event(&game.event_id, NOW).unwrap();
    let half = &finished_event.results[0];
    let after = season.session(&half.id, NOW).unwrap();
    let mut before = 0;
    for now in (half.started_at + 1..half.ended_at).step_by(47_111) {
        let event = season.event(&game.event_id, now).unwrap();
        assert_eq!((event.ended_at, event.results.len(), event.results[0].ended_at), (now, 1, now));
        assert!(season.session(&finished_event.results[1].id, now).is_none());
        let session = season.session(&half.id, now).unwrap();
        for (part, complete) in session.possessions.iter().zip(&after.possessions) {
            assert!(complete.possessions.starts_with(&part.possessions));
            assert!(part.possessions.iter().all(|possession| possession.end_timestamp <= now));
        }
        let possessions = session.possessions.iter().map(|team| team.possessions.len()).sum();
        assert!(possessions >= before);
        before = possessions;
        for (part, complete) in session.details.iter().zip(&after.details) {
            for player in &part.player_stats {
                let other = complete.player_stats.iter().find(|other| other.id == player.id).unwrap();
                assert!(other.version >= player.version);
                for (code, list) in &player.stats {
                    assert!(list.iter().all(|occurrence| occurrence.occurred_at <= now));
                    assert!(other.stats.iter().find(|(name, _)| name == code).unwrap().1.starts_with(list));
                }
            }
        }
        for (part, complete) in session.shots.iter().zip(&after.shots) {
            for player in &part.player_shots {
                let other = complete.player_shots.iter().find(|other| other.id == player.id).unwrap();
                assert!(other.shots.starts_with(&player.shots));
            }
        }
        let seen = locations(&season, &half.id, half.started_at, half.ended_at, now).unwrap();
        assert!(seen.last().unwrap().locations[0].t <= now);
    }
    assert!(before > 50);
}

#[test]
fn a_range_sums_the_games_that_start_in_it() {
    let season = small();
    let team = season.teams()[3].id;
    let own_games: Vec<_> = season
        .games()
        .iter()
        .filter(|g| [g.home_team_id, g.away_team_id].contains(&team) && g.tipoff_at < NOW)
        .collect();
    let stats_of = |game: Option<&str>, from, to| season.team_game_stats(team, game, from, to, NOW).unwrap();
    let single: Vec<i64> = own_games
        .iter()
        .map(|g| stats_of(Some(&g.event_id), 0, 0).player_stats[0].stats["PTS"].as_i64().unwrap())
        .collect();
    let all = stats_of(None, 1, NOW);
    assert_eq!(all.player_stats[0].games_played, Some(own_games.len() as i64));
    assert_eq!(all.player_stats[0].stats["PTS"], single.iter().sum::<i64>());
    // From a tipoff on, and up to one: the first is in, the last is not.
    let first_game = stats_of(None, own_games[0].tipoff_at, own_games[1].tipoff_at);
    assert_eq!(first_game.player_stats[0].stats["PTS"], single[0]);
    assert!(stats_of(None, 1, 2).player_stats.is_empty());
    assert!(all.player_stats.iter().skip(1).any(|line| line.games_played < Some(own_games.len() as i64)));
}

#[test]
fn the_details_of_a_game_are_those_of_its_sessions() {
    let season = small();
    for event in games(&season).iter().take(5) {
        let game_details = season.game_details(&event.id, NOW).unwrap();
        let parts: Vec<_> = event.results.iter().map(|result| season.session(&result.id, NOW).unwrap()).collect();
        for (place, team) in game_details.iter().enumerate() {
            let count = |team: &TeamDetails| -> usize {
                team.player_stats.iter().flat_map(|player| &player.stats).map(|(_, list)| list.len()).sum()
            };
            assert_eq!(count(team), parts.iter().map(|part| count(&part.details[place])).sum::<usize>());
        }
    }
}
