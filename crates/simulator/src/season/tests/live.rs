//! The messages of a game agree, at every moment, with the other resources; also after a correction.

use super::*;
use crate::season::schedule::DAY;
use serde_json::{Map, Value, json};

/// By team and player: the newest version and the current values, put together from messages as a client would.
type Lines = BTreeMap<(i64, i64), (i64, Map<String, Value>)>;

#[derive(Default)]
struct MessageTally {
    feed: Feed,
    lines: Lines,
    shots: usize,
    markers: Vec<String>,
    classifications: Vec<String>,
}

impl MessageTally {
    fn catch_up(&mut self, season: &Season, game: usize, now: i64) {
        for message in season.new_messages(game, &mut self.feed, now) {
            let data = &message.data;
            match message.source {
                "marker" => self.markers.push(data["marker"].as_str().unwrap().to_owned()),
                "shots" => self.shots += 1,
                "stats" => {
                    let id = |name: &str| data[name].as_i64().unwrap();
                    let line = self.lines.entry((id("team_id"), id("player_id"))).or_default();
                    assert!(id("version") > line.0, "versions of a line grow: {data}");
                    line.0 = id("version");
                    line.1.extend(data["stats"].as_object().unwrap().clone());
                    self.classifications.push(data["classification"].as_str().unwrap().to_owned());
                }
                _ => {}
            }
        }
    }
}

/// As the messages have it: numbers are floats. A player's scores are those of the last basket in either.
fn visible_at(season: &Season, game: usize, now: i64) -> Lines {
    let mut lines = Lines::new();
    for team in season.game_stats(game, now) {
        for line in team.player_stats {
            let stats = line.stats.iter().map(|(code, value)| (code.clone(), json!(value.as_f64().unwrap())));
            lines.insert((team.id, line.id), (line.version, stats.collect()));
        }
    }
    lines
}

/// A line has the versions of its events; two lines may differ in the steps to the last one.
fn values(lines: &Lines) -> BTreeMap<(i64, i64), BTreeMap<String, String>> {
    let texts =
        |stats: &Map<String, Value>| stats.iter().map(|(code, value)| (code.clone(), value.to_string())).collect();
    lines.iter().map(|(player, (_, stats))| (*player, texts(stats))).collect()
}

fn sessions_of(season: &Season, game: usize) -> usize {
    season.event(&season.games()[game].event_id, NOW).unwrap().results.len()
}

fn running(season: &Season) -> usize {
    let is_on = |game: &ScheduledGame| game.tipoff_at < NOW && NOW < game.tipoff_at + HOUR;
    season.games().iter().position(is_on).unwrap()
}

#[test]
fn the_messages_and_the_responses_agree_at_every_moment() {
    let season = small();
    for game in [3, running(&season), 38] {
        let mut tally = MessageTally::default();
        for moment in season.moments(game) {
            season.set_clock(game, moment);
            tally.catch_up(&season, game, NOW);
            let visible = visible_at(&season, game, NOW);
            assert_eq!(values(&tally.lines), values(&visible));
            let versions = |lines: &Lines| lines.iter().map(|(player, line)| (*player, line.0)).collect::<Vec<_>>();
            assert_eq!(versions(&tally.lines), versions(&visible));
        }
        assert!(tally.lines.len() > 16, "{}", tally.lines.len());
        assert!(tally.shots > 80);
        assert_eq!(tally.markers.last().unwrap(), "GAME_ENDED");
        assert_eq!(
            tally.markers.iter().filter(|marker| *marker == "PERIOD_STARTED").count(),
            sessions_of(&season, game)
        );
    }
}

#[test]
fn a_game_played_at_once_is_the_game_played_step_by_step() {
    let season = small();
    let texts = |messages: Vec<super::FeedMessage>| {
        messages.into_iter().map(|message| message.data.to_string()).collect::<Vec<_>>()
    };
    let mut feed = Feed::default();
    let mut steps = Vec::new();
    for moment in season.moments(3) {
        season.set_clock(3, moment);
        steps.extend(texts(season.new_messages(3, &mut feed, NOW)));
    }
    assert_eq!(texts(season.new_messages(3, &mut Feed::default(), NOW)), steps);
}

#[test]
fn corrections_in_a_game_appear_in_streams_and_responses_and_change_the_score() {
    let season = small();
    let (game, moments) = (3, season.moments(3));
    let mut tally = MessageTally::default();
    let scheduled_game = season.games()[game].clone();
    let mut is_made = 0;
    for (step, moment) in moments.iter().enumerate() {
        season.set_clock(game, *moment);
        if step % 20 == 10 {
            let lines = visible_at(&season, game, NOW);
            let team = if step % 40 == 10 { scheduled_game.home_team_id } else { scheduled_game.away_team_id };
            let with_points =
                |player: &&(i64, i64)| player.0 == team && player.1 != 0 && lines[player].1.contains_key("PTS");
            let Some((_, player)) = lines.keys().find(with_points) else { continue };
            let before = season.standing(game, NOW).score;
            season.correct(game, *player, "PTS", 1, NOW).unwrap();
            season.correct(game, *player, "PTS", 1, NOW).unwrap();
            season.correct(game, *player, "PTS", -1, NOW).unwrap();
            let after = season.standing(game, NOW).score;
            let side = usize::from(team != scheduled_game.home_team_id);
            assert_eq!((after[side], after[1 - side]), (before[side] + 1, before[1 - side]));
            is_made += 1;
        }
        tally.catch_up(&season, game, NOW);
        let visible = visible_at(&season, game, NOW);
        assert_eq!(values(&tally.lines), values(&visible), "after {step}");
        let score = season.standing(game, NOW).score;
        let points = |team| values(&visible).get(&(team, 0)).and_then(|line| line.get("PTS").cloned());
        let sum = |score: i64| (score > 0).then(|| json!(score as f64).to_string());
        assert_eq!(points(scheduled_game.home_team_id), sum(score[0]));
        assert_eq!(points(scheduled_game.away_team_id), sum(score[1]));
    }
    assert!(is_made > 4, "{is_made}");
    let update_count = |to: &str| {
        tally
            .classifications
            .iter()
            .filter(|classification| *classification == &format!("UPDATED_TWO_POINT_{to}"))
            .count()
    };
    assert_eq!((update_count("MISS_TO_MAKE"), update_count("MAKE_TO_MISS")), (is_made * 6, is_made * 3));
}

#[test]
fn a_corrected_box_score_is_still_the_sum_of_its_details() {
    let season = small();
    let event = games(&season)[0].clone();
    let game = season.game_index(&event.id).unwrap();
    let session = |part: usize| season.session(&event.results[part].id, NOW).unwrap();
    let line = |part: usize, player: i64| {
        let lines = session(part).stats[0].player_stats.clone();
        lines.into_iter().find(|line| line.id == player).unwrap()
    };
    let scorer =
        session(1).stats[0].player_stats.iter().find(|line| line.id != 0 && line.stats.contains_key("FG2")).unwrap().id;
    let (before, total, first) = (line(1, scorer), line(1, 0), line(0, 0));
    season.correct(game, scorer, "FG2", -1, NOW).unwrap();
    let fg2 = |line: &crate::model::stats::PlayerStats| line.stats["FG2"].as_i64().unwrap();
    assert_eq!(fg2(&line(1, scorer)), fg2(&before) - 1);
    assert_eq!(fg2(&line(1, 0)), fg2(&total) - 1);
    assert!(line(1, scorer).version > before.version && line(1, 0).version > total.version);
    assert_eq!(line(0, 0), first, "the first half was not corrected");
    let corrected = session(1);
    for team in &corrected.details {
        for player in &team.player_stats {
            let stats = &corrected.stats.iter().find(|team_stats| team_stats.id == team.id).unwrap().player_stats;
            let stats = &stats.iter().find(|line| line.id == player.id).unwrap().stats;
            let mut sums = sums(&player.stats);
            sums.retain(|code, _| !NEVER_COUNTED.contains(&code.as_str()));
            assert_eq!(sums, counts_of(stats));
        }
    }
    // What a season forgets of a game it plays again, corrections included.
    let corrected = format!("{:?}", session(1).stats);
    for other in season.games() {
        season.event(&other.event_id, i64::MAX);
    }
    (0..80).for_each(|n| drop(season.team_events(season.teams()[n % 16].id, 0, i64::MAX / 2, NOW)));
    assert_eq!(format!("{:?}", session(1).stats), corrected);
}

#[test]
fn a_correction_that_cannot_be_says_why() {
    let season = small();
    let correction_error =
        |player: i64, stat: &str, delta: i64| season.correct(3, player, stat, delta, NOW).unwrap_err();
    let player = season.game_stats(3, NOW)[0].player_stats[1].id;
    assert!(correction_error(player, "XYZ", 1).contains("none of FGA"));
    assert!(correction_error(player, "FG", 0).contains("corrects nothing"));
    assert!(correction_error(player, "FG", -500).contains("no session yet"));
    for delta in [i64::MIN, i64::MAX] {
        assert!(correction_error(player, "DIST", delta).contains("at most a million"));
    }
    assert!(correction_error(0, "FG", 1).contains("neither team"));
    let to_come = season.games().iter().position(|game| game.tipoff_at > NOW).unwrap();
    let team = season.games()[to_come].home_team_id;
    let somebody = season.roster(team, None).unwrap().players[0].id;
    assert!(season.correct(to_come, somebody, "FG", 1, NOW).unwrap_err().contains("no session yet"));
}

#[test]
fn a_game_with_a_clock_of_its_own_is_there_for_all_resources() {
    let season = small();
    let game = season.games().iter().find(|game| game.tipoff_at > NOW + 2 * DAY).unwrap().clone();
    let index = season.game_index(&game.event_id).unwrap();
    let is_listed =
        || season.team_events(game.home_team_id, 0, i64::MAX / 2, NOW).iter().any(|event| event.id == game.event_id);
    assert!(!is_listed());
    season.set_clock(index, game.tipoff_at + 10 * 60_000);
    assert!(is_listed());
    let event = season.event(&game.event_id, NOW).unwrap();
    assert_eq!((event.results.len(), event.ended_at), (1, game.tipoff_at + 10 * 60_000));
    let session = season.session(&event.results[0].id, NOW).unwrap();
    assert!(session.stats[0].player_stats.len() > 5);
    assert_eq!(season.game_stats(index, NOW), session.stats);
    assert!(season.team_game_stats(game.home_team_id, Some(&game.event_id), 0, 0, NOW).unwrap().player_stats.len() > 5);
    assert!(!season.game_details(&game.event_id, NOW).unwrap().is_empty());
    assert!(
        !locations(&season, &event.results[0].id, game.tipoff_at, game.tipoff_at + 60_000, NOW).unwrap().is_empty()
    );
}
