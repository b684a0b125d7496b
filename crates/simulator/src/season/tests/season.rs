//! The frame: ids, rosters, sessions, windows, practices.

use super::*;

#[test]
fn ids_are_the_same_in_schedule_events_and_links() {
    let season = small();
    for game in season.games() {
        let event = season.event(&game.event_id, NOW).unwrap();
        assert_eq!(event.id, game.event_id);
        assert_eq!(game._results, format!("https://api.shottracker.com/v1/data/games/{}", game.event_id));
        assert_eq!(event._self, game._results);
        assert_eq!(event.results.is_empty(), game.tipoff_at >= NOW);
        let attributes = event.game_attributes.unwrap();
        assert_eq!((attributes.home_team_id, attributes.away_team_id), (game.home_team_id, game.away_team_id));
    }
}

#[test]
fn sessions_touch_and_cover_their_event_and_windows_their_session() {
    let season = small();
    for event in events(&season) {
        let mut at = event.started_at;
        for result in &event.results {
            assert_eq!(result.started_at, at);
            assert!(result.ended_at > result.started_at);
            let mut from = result.started_at;
            for link in &result._locations {
                let query = link.split_once(&format!("/v1/data/sensors/locations?id={}&", result.id)).unwrap().1;
                let (start, end) = query.split_once('&').unwrap();
                let (start, end): (i64, i64) = (
                    start.strip_prefix("from=").unwrap().parse().unwrap(),
                    end.strip_prefix("to=").unwrap().parse().unwrap(),
                );
                assert_eq!(start, from);
                assert!(end > start && end - start <= 30 * schedule::MINUTE);
                from = end;
            }
            assert_eq!(from, result.ended_at);
            at = result.ended_at;
        }
        assert_eq!(at, event.ended_at);
    }
}

#[test]
fn a_half_takes_more_than_one_window_of_locations() {
    for game in games(&small()) {
        for half in game.results.iter().take(2).filter(|half| half.ended_at < NOW) {
            let minutes = (half.ended_at - half.started_at) / schedule::MINUTE;
            assert!((31..=62).contains(&minutes), "{minutes} minutes");
            assert_eq!(half._locations.len() as i64, (half.ended_at - half.started_at + 1_799_999) / 1_800_000);
        }
    }
}

#[test]
fn a_roster_has_five_starters_and_unique_jerseys_and_ids() {
    let season = Season::new(7, Sport::Basketball, 64, 40, NOW);
    let (mut players, mut sensors) = (BTreeSet::new(), BTreeSet::new());
    let (mut double_zero, mut departures) = (0, 0);
    for team in season.teams() {
        let roster = season.roster(team.id, None).unwrap();
        assert!((12..=14).contains(&roster.players.len()));
        assert_eq!(roster.players.iter().filter(|player| player.is_starter).count(), 5);
        assert!(roster.players.iter().all(|player| player.is_active));
        let jerseys: BTreeSet<_> = roster.players.iter().map(|player| &player.jersey_number_str).collect();
        assert_eq!(jerseys.len(), roster.players.len());
        for player in &roster.players {
            assert!(players.insert(player.id) && sensors.insert(player.sensor));
            assert!((100_000..1_000_000).contains(&player.sensor));
            double_zero += usize::from(player.jersey_number_str == "00" && player.jersey_number == 0);
        }
        for event in season.team_events(team.id, 0, NOW, NOW).iter().filter(|event| event.is_game_event) {
            let game_roster = season.roster(team.id, Some(&event.id)).unwrap();
            let left: Vec<_> = game_roster.players.iter().filter(|player| !player.is_active).collect();
            assert_eq!(game_roster.players.len(), roster.players.len() + left.len());
            departures += left.len();
        }
    }
    assert!(double_zero > 0 && departures > 0);
    let game = &season.games()[0];
    let stranger = season.teams().iter().find(|t| ![game.home_team_id, game.away_team_id].contains(&t.id)).unwrap();
    assert_eq!(season.roster(stranger.id, Some(&game.event_id)), None);
    assert_eq!(season.roster(999, None), None);
}

#[test]
fn a_team_practises_about_once_a_week_and_never_during_a_game() {
    let season = Season::new(7, Sport::Basketball, 16, 240, NOW);
    for team in season.teams() {
        let events = season.team_events(team.id, 0, NOW, NOW);
        let practices = events.iter().filter(|event| event.is_practice_event).count();
        assert!((15..=22).contains(&practices), "{practices} practices");
        assert!(events.windows(2).all(|pair| pair[0].ended_at <= pair[1].started_at));
        for practice in events.iter().filter(|event| event.is_practice_event) {
            assert_eq!(season.event(&practice.id, NOW).as_ref(), Some(practice));
            assert!(practice._self.ends_with(&format!("/v1/data/teams/{}/practices/{}", team.id, practice.id)));
            assert!(practice.totals.is_none() && practice.game_type.is_none());
        }
    }
}
