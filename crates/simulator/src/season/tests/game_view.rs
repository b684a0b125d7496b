//! What a game tells as a whole is what its sessions tell.

use super::*;
use crate::model::game_totals::GameTotals;
use crate::model::possessions::Possession;
use crate::season::schedule::MINUTE;
use serde_json::{Value, json};

fn whole<'a>(season: &'a Season, event: &Event) -> GameSnapshot<'a> {
    season.whole(&event.id, NOW).unwrap()
}

fn sessions_of(season: &Season, event: &Event) -> Vec<Arc<Session>> {
    event.results.iter().map(|result| season.session(&result.id, NOW).unwrap()).collect()
}

/// By team and player, without what is no count.
type Boxes = BTreeMap<(String, String), BTreeMap<String, f64>>;

fn boxes(view: &GameSnapshot) -> Boxes {
    let lines = view.lines().into_iter();
    lines.map(|line| ((line.tid, line.pid), counts_of(&line.total_stats))).filter(|line| !line.1.is_empty()).collect()
}

fn box_sums(view: &GameSnapshot) -> Boxes {
    let mut sums = Boxes::new();
    for play in view.plays() {
        for player_id in [play.pid.as_str(), "0"] {
            let line = sums.entry((play.team_id.clone(), player_id.to_owned())).or_default();
            play.stats.iter().for_each(|(code, n)| *line.entry(code.clone()).or_default() += n.as_f64().unwrap());
        }
    }
    sums
}

fn score(totals: &GameTotals) -> [i64; 2] {
    [totals.home_team_score.value, totals.away_team_score.value]
}

#[test]
fn the_shots_of_a_game_are_those_of_its_sessions() {
    let season = small();
    let mut seen = 0;
    for event in games(&season) {
        let mut own_shots: Vec<Value> = Vec::new();
        for shot in whole(&season, &event).shots() {
            assert_eq!((shot.gid.as_str(), shot.sst.as_str()), (event.id.as_str(), "GAME_ROUND"));
            assert_eq!(shot.pts, if shot.st == "MISS" { -1 } else { 2 + i64::from(shot.is3) });
            let s = shot.hy.signum();
            assert_eq!((shot.hsx, shot.hsy), (-s * (shot.px - shot.hx), -s * (shot.py - shot.hy)));
            assert!((shot.d - shot.hsx.hypot(shot.hsy) / 10.0).abs() < 1e-9, "centimetres");
            assert_eq!(shot.attributes.iter().any(|attribute| attribute == "OTD"), shot.drb > 0);
            own_shots.push(json!([
                shot.sid,
                shot.tid,
                shot.pid,
                shot.t,
                shot.st == "MAKE",
                shot.is3,
                shot.z,
                shot.az,
                shot.px,
                shot.py,
                shot.pz,
                shot.hx,
                shot.hy,
                shot.hz,
                shot.hsx,
                shot.hsy,
                shot.s,
                shot.gc,
                shot.sc,
                shot.prd,
                shot.attributes
            ]));
        }
        let mut others = Vec::new();
        for (session, result) in sessions_of(&season, &event).iter().zip(&event.results) {
            for team in &session.shots {
                for player in &team.player_shots {
                    others.extend(player.shots.iter().map(|shot| {
                        json!([
                            result.id,
                            team.id.to_string(),
                            player.id.to_string(),
                            shot.occurred_at,
                            shot.is_make,
                            shot.is_3point,
                            shot.zone,
                            shot.advanced_zone,
                            shot.player_x,
                            shot.player_y,
                            shot.player_z,
                            shot.hoop_x,
                            shot.hoop_y,
                            shot.hoop_z,
                            shot.hoop_player_x,
                            shot.hoop_player_y,
                            shot.status,
                            shot.game_clock,
                            shot.shot_clock,
                            shot.period,
                            shot.attributes
                        ])
                    }));
                }
            }
        }
        for list in [&mut own_shots, &mut others] {
            list.sort_by_cached_key(Value::to_string);
        }
        assert_eq!(own_shots, others);
        seen += own_shots.len();
    }
    assert!(seen > 3000, "{seen} shots");
}

#[test]
fn who_passed_and_who_defended_was_on_court_and_on_the_right_side() {
    let season = small();
    let (mut assists, mut defended_shots) = (0, 0);
    for event in games(&season).iter().take(6) {
        let view = whole(&season, event);
        let possessions = view.possessions();
        let possession_at = |team: &str, t: i64| -> Possession {
            let own_possessions =
                possessions.iter().find(|team_possessions| team_possessions.id.to_string() == team).unwrap();
            own_possessions
                .possessions
                .iter()
                .find(|possession| (possession.start_timestamp..=possession.end_timestamp).contains(&t))
                .unwrap()
                .clone()
        };
        let shots = view.shots();
        for shot in &shots {
            let possession = possession_at(&shot.tid, shot.t);
            let is_teammate = |id: &String| possession.player_ids.contains(&id.parse().unwrap()) && *id != shot.pid;
            assert!(shot.players.iter().all(is_teammate));
            assert!(shot.shot_defenders.iter().all(|id| possession.opposing_player_ids.contains(id)));
            assert!(shot.players.is_empty() || shot.st == "MAKE");
            (assists, defended_shots) = (assists + shot.players.len(), defended_shots + shot.shot_defenders.len());
        }
        let total: i64 =
            view.lines().iter().filter(|line| line.pid == "0").map(|l| l.total_stats["AST"].as_i64().unwrap()).sum();
        assert_eq!(shots.iter().map(|shot| shot.players.len() as i64).sum::<i64>(), total);
    }
    assert!(assists > 50 && defended_shots > 200, "{assists} {defended_shots}");
}

#[test]
fn the_lines_of_a_game_are_the_sums_of_its_sessions() {
    let season = small();
    for event in games(&season).iter().take(10) {
        let mut sums = Boxes::new();
        for session in sessions_of(&season, event) {
            for team in &session.stats {
                for line in &team.player_stats {
                    for (code, value) in counts_of(&line.stats) {
                        let sum = sums.entry((team.id.to_string(), line.id.to_string())).or_default();
                        *sum.entry(code).or_default() += value;
                    }
                }
            }
        }
        assert_eq!(boxes(&whole(&season, event)), sums);
    }
}

#[test]
fn plays_add_up_to_the_box_score() {
    let season = small();
    for event in games(&season) {
        let view = whole(&season, &event);
        assert_eq!(box_sums(&view), boxes(&view));
        let plays = view.plays();
        assert!(plays.windows(2).all(|pair| pair[0].timestamp <= pair[1].timestamp));
        assert_eq!(plays.iter().map(|play| &play.event_id).collect::<BTreeSet<_>>().len(), plays.len());
        for play in &plays {
            assert!(play.stats.contains_key(&play.base_stats) && play.stats.contains_key(&play.actual_stats));
            assert!(event.results.iter().any(|result| result.id == play.session_id));
            assert_eq!((play.key.actor_id.as_str(), play.key.timestamp), (play.pid.as_str(), play.timestamp));
            assert!(!play.corrected);
        }
    }
}

#[test]
fn corrected_plays_add_up_to_the_corrected_box_score() {
    let season = small();
    let event = games(&season)[0].clone();
    let before = whole(&season, &event).plays();
    let scorer: i64 = before.iter().rfind(|play| play.actual_stats == "FG2").unwrap().pid.parse().unwrap();
    let team = &before.iter().find(|play| play.pid == scorer.to_string()).unwrap().team_id;
    let game = season.game_index(&event.id).unwrap();
    for (code, delta) in [("PTS", -2), ("FG2", -1), ("BLK", 3), ("DIST", 500)] {
        season.correct(game, scorer, code, delta, NOW).unwrap();
    }
    let corrected = whole(&season, &event);
    assert_eq!(box_sums(&corrected), boxes(&corrected));
    let plays = corrected.plays();
    let corrected_plays: Vec<_> = plays.iter().filter(|play| play.corrected).collect();
    assert!((1..=3).contains(&corrected_plays.len()));
    for play in corrected_plays {
        match before.iter().find(|other| other.event_id == play.event_id) {
            Some(other) => assert_eq!((&other.pid, other.timestamp), (&play.pid, play.timestamp)),
            None => assert_eq!(play.player_x, None),
        }
    }
    let totals = corrected.totals();
    let side = usize::from(event.game_attributes.unwrap().home_team_id.to_string() != *team);
    assert_eq!(score(&totals), season.standing(game, NOW).score);
    assert_eq!(score(&totals)[side], boxes(&corrected)[&(team.clone(), "0".to_owned())]["PTS"] as i64);
    assert_eq!(totals.period_totals.iter().map(|period| period.home_team_score.value).sum::<i64>(), score(&totals)[0]);
    assert_eq!(totals.period_totals.iter().map(|period| period.away_team_score.value).sum::<i64>(), score(&totals)[1]);
}

#[test]
fn game_totals_are_the_score_at_every_moment() {
    let season = small();
    for game in [3, 20, 34] {
        let game_id = season.games()[game].clone();
        for moment in season.moments(game).into_iter().step_by(7) {
            season.set_clock(game, moment);
            let view = season.whole(&game_id.event_id, NOW).unwrap();
            let totals = view.totals();
            let standing = season.standing(game, NOW);
            assert_eq!(score(&totals), standing.score);
            assert_eq!(Some(&totals.period), standing.period.as_ref());
            assert_eq!(totals.home_team_score.team_id, game_id.home_team_id.to_string());
            assert_eq!(totals.away_team_score.team_id, game_id.away_team_id.to_string());
            let event = season.event(&game_id.event_id, NOW).unwrap();
            let newest_first: Vec<_> = event.results.iter().rev().map(|result| &result.id).collect();
            assert_eq!(totals.period_totals.iter().map(|period| &period.session_id).collect::<Vec<_>>(), newest_first);
            for period in &totals.period_totals {
                let session = season.session(&period.session_id, NOW).unwrap();
                let points = |team: usize| {
                    let total = session.stats[team].player_stats.first();
                    total.and_then(|total| total.stats.get("PTS")?.as_i64()).unwrap_or(0)
                };
                assert_eq!([period.home_team_score.value, period.away_team_score.value], [points(0), points(1)]);
            }
            let cut = |text: &str| clock(text).floor();
            if let Some(clock_text) = &standing.game_clock {
                assert_eq!(cut(&totals.game_clock), cut(clock_text));
            }
        }
    }
}

#[test]
fn every_ball_screen_of_a_possession_is_published() {
    let season = small();
    let mut seen = 0;
    for event in games(&season) {
        let view = whole(&season, &event);
        let screens = view.ball_screens();
        assert_eq!(screens.iter().map(|screen| &screen.event_id).collect::<BTreeSet<_>>().len(), screens.len());
        let mut of_possession = BTreeMap::<_, BTreeSet<_>>::new();
        let mut screen_count = 0;
        for team in view.possessions() {
            for possession in &team.possessions {
                let times = possession.start_timestamp..=possession.end_timestamp;
                let is_own = |screen: &&crate::model::ball_screens::BallScreen| {
                    screen.team_id == team.id.to_string() && times.contains(&screen.timestamp)
                };
                let own_screens: Vec<_> = screens.iter().filter(is_own).collect();
                let attributes = &possession.possession_attributes;
                assert_eq!(own_screens.len() as i64, attributes.ball_screens);
                for wing in 0..3 {
                    let wing_counts = [
                        attributes.ball_screens_left_wing,
                        attributes.ball_screens_middle_wing,
                        attributes.ball_screens_right_wing,
                    ];
                    assert_eq!(
                        own_screens.iter().filter(|screen| screen.wing == wing).count() as i64,
                        wing_counts[wing as usize]
                    );
                }
                let counters = serde_json::to_value(attributes).unwrap();
                for screen in &own_screens {
                    assert!(times.contains(&screen.end_timestamp) && screen.timestamp < screen.end_timestamp);
                    for action in screen.offensive_actions.keys() {
                        let name = format!("ball_screens_{}", action.to_lowercase());
                        assert!(counters[&name].as_i64().unwrap() > 0, "{name}");
                    }
                    let teams = [&screen.team_id, &screen.defender_team_id].map(|id| id.parse::<i64>().unwrap());
                    let attributes = event.game_attributes.as_ref().unwrap();
                    assert_eq!(
                        BTreeSet::from(teams),
                        BTreeSet::from([attributes.home_team_id, attributes.away_team_id])
                    );
                    let is_own_player = |id: &String| possession.player_ids.contains(&id.parse().unwrap());
                    let is_opponent = |id: &String| possession.opposing_player_ids.contains(&id.parse().unwrap());
                    assert!(
                        is_own_player(&screen.ball_handler_player_id)
                            && screen.screener_player_ids.iter().all(is_own_player)
                    );
                    assert!(!screen.screener_player_ids.contains(&screen.ball_handler_player_id));
                    assert!(is_opponent(&screen.ball_handler_defender_player_id));
                    assert!(screen.screener_defender_player_ids.iter().all(is_opponent));
                    assert!(clock(&screen.end_game_clock) >= clock(&possession.end_game_clock));
                    assert!(clock(&screen.start_game_clock) <= clock(&possession.start_game_clock));
                    assert!(screen.end_shot_clock.as_ref().is_none_or(|text| (0.0..30.0).contains(&clock(text))));
                    of_possession.entry(possession.start_timestamp).or_default().insert(&screen.team_possession_id);
                }
                screen_count += own_screens.len();
            }
        }
        assert_eq!(screen_count, screens.len());
        assert!(of_possession.values().all(|ids| ids.len() == 1));
        assert_eq!(of_possession.values().flatten().collect::<BTreeSet<_>>().len(), of_possession.len());
        seen += screen_count;
    }
    assert!(seen > 500, "{seen} ball screens");
}

#[test]
fn a_game_going_on_is_the_beginning_of_the_finished_one_as_a_whole() {
    let season = small();
    let game = season.games()[3].clone();
    let after = season.whole(&game.event_id, NOW).unwrap();
    let (shots, plays, screens) = (after.shots(), after.plays(), after.ball_screens());
    for now in (game.tipoff_at..game.tipoff_at + 80 * MINUTE).step_by(7 * MINUTE as usize) {
        let part = season.whole(&game.event_id, now).unwrap();
        assert!(shots.starts_with(&part.shots()) && plays.starts_with(&part.plays()));
        assert!(screens.starts_with(&part.ball_screens()));
        assert!(part.plays().iter().all(|play| play.timestamp <= now));
        assert_eq!(part.ended_at(), None);
    }
    assert!(after.ended_at().is_some());
}

#[test]
fn a_game_to_come_has_no_score_and_nothing_happened_in_it() {
    for sport in [Sport::Basketball, Sport::Football] {
        let season = Season::new(7, sport, 16, 40, NOW);
        let game = season.games().iter().find(|game| game.tipoff_at > NOW).unwrap();
        let view = season.whole(&game.event_id, NOW).unwrap();
        assert!(view.shots().is_empty() && view.plays().is_empty() && view.ball_screens().is_empty());
        assert!(view.lines().is_empty());
        assert!(view.possessions().iter().all(|team| team.possessions.is_empty()));
        let totals = view.totals();
        assert_eq!((score(&totals), totals.period_totals.len(), view.ended_at()), ([0, 0], 0, None));
        let (period, clock) = if sport == Sport::Football { ("Q1", "00:15:00") } else { ("H1", "00:20:00") };
        assert_eq!((totals.period.as_str(), totals.game_clock.as_str()), (period, clock));
    }
    let season = small();
    assert!(season.whole("x", NOW).is_none());
    assert!(season.whole(&games(&season)[0].results[0].id, NOW).is_none());
}
