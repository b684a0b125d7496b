// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use Verdict::{Deliver, Duplicate, NewEpoch};
use proptest::prelude::*;

fn receive(
    sequence: &mut Sequence,
    source: &str,
    numbers: impl IntoIterator<Item = i64>,
    version: &str,
) -> Vec<Verdict> {
    let classify = |seq: i64| sequence.receive(Some(source), seq, format!("{source} {seq} {version}").as_bytes());
    numbers.into_iter().map(classify).collect()
}

fn count(verdicts: &[Verdict], expected: Verdict) -> usize {
    verdicts.iter().filter(|verdict| **verdict == expected).count()
}

#[test]
fn nothing_is_a_duplicate_before_a_reconnect() {
    let mut sequence = Sequence::new(None);
    assert_eq!(receive(&mut sequence, "stats", [1, 2, 1, 2, 2], "a"), [Deliver; 5]);
}

#[test]
fn after_a_reconnect_equal_messages_are_duplicates_until_a_higher_number_arrives() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=5, "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", [4, 5, 6, 5], "a"), [Duplicate, Duplicate, Deliver, Deliver]);
}

#[test]
fn a_message_of_another_source_or_content_is_no_duplicate() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=5, "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "shots", [5], "a"), [Deliver]);
    assert_eq!(receive(&mut sequence, "stats", [5], "a"), [Duplicate]);
    assert_eq!(receive(&mut sequence, "stats", [5], "b"), [NewEpoch]);
}

#[test]
fn after_a_missing_number_the_stream_resumes_before_it() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [1, 2, 4], "a");
    sequence.reconnect();
    assert_eq!(sequence.resume(), Some(2));
    assert_eq!(receive(&mut sequence, "stats", [2, 3, 4, 5], "a"), [Duplicate, Deliver, Duplicate, Deliver]);
    assert_eq!(sequence.resume(), Some(5));
}

#[test]
fn sources_share_one_counter() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [1, 3, 5], "a");
    receive(&mut sequence, "shots", [2, 4, 7], "a");
    assert_eq!(sequence.resume(), Some(5));
}

#[test]
fn a_number_missing_on_three_connections_is_no_longer_requested() {
    let mut sequence = Sequence::new(None);
    let mut positions = Vec::new();
    for _ in 0..4 {
        receive(&mut sequence, "stats", [1, 4, 9], "a");
        sequence.reconnect();
        positions.push(sequence.resume());
    }
    assert_eq!(positions, [None, None, Some(9), Some(9)]);
}

#[test]
fn short_connections_make_progress_despite_missing_numbers() {
    let (mut sequence, mut connections) = (Sequence::new(None), 0);
    while sequence.resume() < Some(3_000) {
        let from = sequence.resume().unwrap_or(0);
        receive(&mut sequence, "stats", (from..=3_000).filter(|seq| seq % 3 == 0).take(20), "a");
        sequence.reconnect();
        connections += 1;
        assert!(connections < 400, "no progress beyond {from}");
    }
}

#[test]
fn a_counter_restart_is_announced_once_and_every_message_delivered() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=50, "a");
    sequence.reconnect();
    let verdicts = receive(&mut sequence, "stats", 1..=50, "b");
    assert_eq!((verdicts[0], count(&verdicts, Deliver)), (NewEpoch, 49));
    sequence.reconnect();
    assert_eq!(sequence.resume(), None, "requested from the beginning once");
    assert_eq!(count(&receive(&mut sequence, "stats", 1..=50, "b"), Duplicate), 50);
    sequence.reconnect();
    assert_eq!(sequence.resume(), Some(50));
    assert_eq!(receive(&mut sequence, "stats", 49..=51, "b"), [Duplicate, Duplicate, Deliver]);
    // A restart within a connection.
    assert_eq!(receive(&mut sequence, "stats", 1..=3, "c"), [NewEpoch, Deliver, Deliver]);
    sequence.reconnect();
    assert_eq!(sequence.resume(), None);
}

#[test]
fn numbers_of_the_old_epoch_do_not_conflict_with_the_new_one() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=50, "a");
    sequence.reconnect();
    receive(&mut sequence, "stats", 1..=3, "b");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", 4..=6, "b"), [Deliver; 3]);
}

#[test]
fn a_message_delivered_before_its_restart_was_recognised_is_a_duplicate_later() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [2, 3], "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", [5], "b"), [Deliver], "nothing indicates a new epoch yet");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", [2, 5, 6], "b"), [NewEpoch, Duplicate, Deliver]);
}

#[test]
fn messages_of_an_unrecognised_epoch_are_duplicates_later() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [1, 3, 5], "a");
    receive(&mut sequence, "shots", [2], "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "shots", [1, 2], "b"), [Deliver, NewEpoch]);
    assert_eq!(receive(&mut sequence, "stats", [3, 4], "b"), [Deliver, Deliver], "announced once");
    for _ in 0..2 {
        sequence.reconnect();
        assert_eq!(receive(&mut sequence, "shots", [1, 2], "b"), [Duplicate, Duplicate]);
        assert_eq!(receive(&mut sequence, "stats", [3, 4], "b"), [Duplicate, Duplicate]);
        assert_eq!(sequence.resume(), Some(4));
    }
}

#[test]
fn an_ignored_source_does_not_settle_the_missing_numbers_of_others() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [1, 2, 4], "a");
    for n in 0..3 {
        sequence.receive(Some("clock"), 50, &[n]);
    }
    receive(&mut sequence, "stats", [5, 6], "a");
    assert_eq!(sequence.resume(), Some(2));
}

#[test]
fn sources_that_restart_together_are_announced_once_and_resumed_later() {
    let mut sequence = Sequence::new(None);
    for version in ["a", "b", "c"] {
        let mut verdicts = receive(&mut sequence, "stats", [1, 3, 5], version);
        verdicts.extend(receive(&mut sequence, "shots", [2, 4], version));
        assert_eq!(count(&verdicts, NewEpoch), usize::from(version != "a"));
        sequence.reconnect();
        receive(&mut sequence, "stats", [1, 3, 5], version);
        receive(&mut sequence, "shots", [2, 4], version);
        assert_eq!(sequence.resume(), Some(5));
        sequence.reconnect();
    }
}

#[test]
fn an_apparent_restart_of_other_numbers_causes_no_duplicates() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=5, "a");
    receive(&mut sequence, "lineup", [7, 9], "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "lineup", [7], "b"), [NewEpoch]);
    assert_eq!(sequence.resume(), None);
    assert_eq!(
        receive(&mut sequence, "stats", 1..=6, "a"),
        [Duplicate, Duplicate, Duplicate, Duplicate, Duplicate, Deliver]
    );
    receive(&mut sequence, "lineup", [7, 7], "c");
    receive(&mut sequence, "lineup", [7, 7], "d");
    sequence.reconnect();
    assert_eq!(count(&receive(&mut sequence, "stats", 1..=6, "a"), Duplicate), 6);
    assert_eq!(sequence.resume(), Some(6), "the lineup has no numbers");
}

#[test]
fn a_constant_number_in_the_payload_is_no_counter() {
    let mut sequence = Sequence::new(None);
    for n in 0..5 {
        assert_eq!(sequence.receive(Some("clock"), 7, format!("{n}").as_bytes()), Deliver);
    }
    receive(&mut sequence, "stats", 1..=5, "a");
    sequence.reconnect();
    assert_eq!(
        sequence.receive(Some("clock"), 7, b"4"),
        Deliver,
        "a message without a sequence number is no duplicate"
    );
    assert_eq!(receive(&mut sequence, "stats", 4..=6, "a"), [Duplicate, Duplicate, Deliver]);
    assert_eq!(sequence.resume(), Some(6));
}

#[test]
fn a_constant_number_sent_once_per_connection_announces_no_restart() {
    let mut sequence = Sequence::new(None);
    for n in 0..5 {
        assert_eq!(sequence.receive(Some("clock"), 7, format!("{n}").as_bytes()), Deliver);
        sequence.reconnect();
    }
}

#[test]
fn two_counters_give_no_resume_position() {
    for other in [30, 1_000_000] {
        let mut sequence = Sequence::new(None);
        receive(&mut sequence, "stats", 1..=20, "a");
        receive(&mut sequence, "plays", other..other + 20, "a");
        receive(&mut sequence, "stats", 21..=40, "a");
        sequence.reconnect();
        assert_eq!(sequence.resume(), None, "{other}");
        assert_eq!(count(&receive(&mut sequence, "stats", 1..=40, "a"), Duplicate), 40);
        assert_eq!(count(&receive(&mut sequence, "plays", other..other + 20, "a"), Duplicate), 20);
    }
}

#[test]
fn neither_one_number_nor_two_far_apart_are_a_sequence() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [7], "a");
    assert_eq!(sequence.resume(), None);
    receive(&mut sequence, "stats", [900], "a");
    assert_eq!(sequence.resume(), None);
}

#[test]
fn the_users_position_applies_until_there_is_a_later_one() {
    let mut sequence = Sequence::new(Some(41));
    assert_eq!(sequence.resume(), Some(41));
    assert_eq!(receive(&mut sequence, "stats", [41, 42, 44], "a"), [Deliver; 3]);
    assert_eq!(sequence.resume(), Some(42));
}

#[test]
fn a_forgotten_message_is_delivered_again() {
    let mut sequence = Sequence::new(None);
    let last = MAX_REMEMBERED as i64 + 10;
    receive(&mut sequence, "stats", 1..=last, "a");
    sequence.reconnect();
    let verdicts = receive(&mut sequence, "stats", 1..=last, "a");
    assert_eq!((count(&verdicts, Deliver), count(&verdicts, Duplicate)), (last as usize, 0));
    sequence.reconnect();
    assert_eq!(count(&receive(&mut sequence, "stats", last - 9..=last, "a"), Duplicate), 10);
    assert!(sequence.memory.entries.len() == MAX_REMEMBERED && sequence.memory.order.len() == MAX_REMEMBERED);
}

#[test]
fn messages_of_sources_beyond_the_maximum_are_delivered() {
    let mut sequence = Sequence::new(None);
    for round in 0..2 {
        for n in 0..1_000 {
            let verdict = sequence.receive(Some(&n.to_string()), n, b"a");
            assert!(verdict == Deliver || (round == 1 && n < MAX_SOURCES as i64), "{n}");
        }
        sequence.reconnect();
    }
    assert_eq!(sequence.sources.len(), MAX_SOURCES);
}

proptest! {
    /// Only messages that an earlier connection delivered are dropped.
    #[test]
    fn every_duplicate_was_delivered_on_an_earlier_connection(
        steps in prop::collection::vec((0_u8..12, 0_usize..3, -3_i64..12, 0_u8..2), 0..200),
    ) {
        let mut sequence = Sequence::new(None);
        let (mut earlier, mut current) = (Vec::new(), Vec::new());
        for (step, source, seq, content) in steps {
            if step == 0 {
                sequence.reconnect();
                earlier.append(&mut current);
                continue;
            }
            let name = [None, Some("a"), Some("b")][source];
            match sequence.receive(name, seq, &[content]) {
                Duplicate => prop_assert!(earlier.contains(&(name, seq, content))),
                Deliver | NewEpoch => current.push((name, seq, content)),
            }
            if let Some(position) = sequence.resume() {
                prop_assert!(earlier.iter().chain(&current).any(|(_, seq, _)| *seq == position), "{position}");
            }
        }
    }
}
