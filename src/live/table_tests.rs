// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::super::box_score::BoxScore;
use super::*;
use crate::config::Sport;
use crate::fuzz::Random;
use serde_json::{Value as Json, json};

const MESSAGES: usize = 10_000;
/// Messages that are read together.
const BATCH: usize = 20;

fn item(text: String) -> Item {
    let (id, source, received_at) = ("".into(), Some("stats".into()), UNIX_EPOCH);
    Item::Update(Update { event: None, id, text, binary: None, seq: None, source, received_at })
}

/// A stats message with up to two unusual members, or a few wrong bytes.
fn mutated_message(random: &mut Random, version: usize) -> String {
    let values = [
        json!(null),
        json!(true),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(" 7"),
        json!("x"),
        json!(""),
        json!([]),
        json!([{}]),
        json!({}),
        json!({"PTS": "many"}),
        json!({"PTS": 3, "F\u{0}G": 1}),
        json!({"": 1}),
        json!(u64::MAX),
    ];
    let data = json!({"occurred_at": 1_700_000_000_000_i64, "team_id": 1, "player_id": random.below(4), "version": version,
        "stats": {"PTS": version, "FG": "2"}, "classification": "TWO_POINT_MAKE"});
    let mut message = json!({"source": "stats", "seq": version, "type": "stats", "data": data});
    for _ in 0..random.below(3) {
        let objects = ["", "/data", "/data", "/data/stats"];
        let Some(Json::Object(object)) = message.pointer_mut(objects[random.below(objects.len())]) else { continue };
        let names: Vec<String> = object.keys().cloned().collect();
        let Some(name) = names.get(random.below(names.len().max(1))) else { continue };
        match random.below(4) {
            0 => drop(object.remove(name)),
            1 => drop(object.insert("stats".into(), values[random.below(values.len())].clone())),
            _ => drop(object.insert(name.clone(), values[random.below(values.len())].clone())),
        }
    }
    let mut text = message.to_string();
    if random.chance(10) {
        let characters: Vec<char> = text.chars().collect();
        let at = random.below(characters.len());
        let invalid_characters = ['{', '}', '"', ',', '\\', '0', 'x', '\u{1}', 'é'];
        let with = [invalid_characters[random.below(invalid_characters.len())]];
        let end = if random.chance(30) { characters.len() } else { at + random.below(3) };
        text = characters[..at].iter().chain(&with).chain(&characters[end.min(characters.len())..]).collect();
    }
    text
}

/// Whether a message has values of a row, readable or not, as another reader of JSON sees it; `None`: it is no JSON.
fn has_values(text: &str) -> Option<bool> {
    let message: Json = serde_json::from_str(text).ok()?;
    let data = message.get("data");
    let has_values = match data.and_then(|data| data.get("stats")) {
        None | Some(Json::Null) => data.is_none_or(|data| !data.is_object()),
        Some(Json::Object(stats)) => !stats.is_empty(),
        Some(_) => true,
    };
    Some(message.get("type") == Some(&json!("stats")) && has_values)
}

fn read(items: &[Item]) -> (usize, Vec<Problem>) {
    let (batch, problems) = stat_updates(items).unwrap();
    (batch.num_rows(), sort(problems))
}

fn sort(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| (problem.path.clone(), problem.reason.clone()));
    problems
}

#[test]
fn no_mutated_message_is_lost_without_being_counted() {
    let mut random = Random(36);
    let (mut readable, mut unreadable) = (0, 0);
    for batch in 0..MESSAGES / BATCH {
        let mut score = BoxScore::new(Sport::Basketball);
        let texts: Vec<String> = (0..BATCH).map(|n| mutated_message(&mut random, batch * BATCH + n)).collect();
        let (mut rows, mut problems) = (0, Vec::new());
        for text in &texts {
            let item = item(text.clone());
            let (rows_of_one, problems_of_one) = read(std::slice::from_ref(&item));
            let (unreadable_before, ignored_before) = (score.unreadable, score.ignored);
            let is_seen = score.feed(&item) || score.unreadable > unreadable_before || score.ignored > ignored_before;
            let is_kept = rows_of_one + problems_of_one.len() > 0;
            // Neither has to know what a text is that is no JSON.
            if has_values(text) == Some(true) {
                assert!(is_seen && is_kept, "{text}: the box score {is_seen}, the table {is_kept}");
            }
            if has_values(text).is_none() && text.starts_with('{') {
                assert!(is_seen && (is_kept || !text.contains("\"stats\"")), "{text}");
            }
            (readable, unreadable) = (readable + rows_of_one, unreadable + problems_of_one.len());
            rows += rows_of_one;
            problems.extend(problems_of_one);
        }
        let items: Vec<Item> = texts.into_iter().map(item).collect();
        assert_eq!(read(&items), (rows, sort(problems)), "together they are read as each on its own: {items:?}");
        score.table().unwrap();
    }
    assert!(readable > MESSAGES / 2 && unreadable > MESSAGES / 10, "{readable} rows, {unreadable} unreadable messages");
}
