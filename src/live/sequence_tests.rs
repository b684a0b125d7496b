// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use Verdict::{Deliver, Repeat, Restarted};
use proptest::prelude::*;

fn receive(
    sequence: &mut Sequence,
    source: &str,
    numbers: impl IntoIterator<Item = i64>,
    version: &str,
) -> Vec<Verdict> {
    let one = |seq: i64| sequence.receive(Some(source), seq, format!("{source} {seq} {version}").as_bytes());
    numbers.into_iter().map(one).collect()
}

fn count(verdicts: &[Verdict], of: Verdict) -> usize {
    verdicts.iter().filter(|verdict| **verdict == of).count()
}

#[test]
fn nothing_is_a_repeat_before_a_reconnect() {
    let mut sequence = Sequence::new(None);
    assert_eq!(receive(&mut sequence, "stats", [1, 2, 1, 2, 2], "a"), [Deliver; 5]);
}

#[test]
fn after_a_reconnect_equal_messages_are_repeats_until_a_higher_number_comes() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=5, "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", [4, 5, 6, 5], "a"), [Repeat, Repeat, Deliver, Deliver]);
}

#[test]
fn another_source_or_another_content_is_no_repeat() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=5, "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "shots", [5], "a"), [Deliver]);
    assert_eq!(receive(&mut sequence, "stats", [5], "a"), [Repeat]);
    assert_eq!(receive(&mut sequence, "stats", [5], "b"), [Restarted]);
}

#[test]
fn a_cut_behind_a_hole_resumes_before_the_hole() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [1, 2, 4], "a");
    sequence.reconnect();
    assert_eq!(sequence.resume(), Some(2));
    assert_eq!(receive(&mut sequence, "stats", [2, 3, 4, 5], "a"), [Repeat, Deliver, Repeat, Deliver]);
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
fn a_hole_that_three_connections_went_past_is_no_longer_asked_for() {
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
fn short_connections_over_numbers_with_holes_still_get_to_the_end() {
    let (mut sequence, mut connections) = (Sequence::new(None), 0);
    while sequence.resume() < Some(3_000) {
        let from = sequence.resume().unwrap_or(0);
        receive(&mut sequence, "stats", (from..=3_000).filter(|seq| seq % 3 == 0).take(20), "a");
        sequence.reconnect();
        connections += 1;
        assert!(connections < 400, "it stays at {from}");
    }
}

#[test]
fn a_counter_that_begins_anew_is_announced_once_and_every_message_delivered() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=50, "a");
    sequence.reconnect();
    let verdicts = receive(&mut sequence, "stats", 1..=50, "b");
    assert_eq!((verdicts[0], count(&verdicts, Deliver)), (Restarted, 49));
    sequence.reconnect();
    assert_eq!(sequence.resume(), None, "asked from the beginning once");
    assert_eq!(count(&receive(&mut sequence, "stats", 1..=50, "b"), Repeat), 50);
    sequence.reconnect();
    assert_eq!(sequence.resume(), Some(50));
    assert_eq!(receive(&mut sequence, "stats", 49..=51, "b"), [Repeat, Repeat, Deliver]);
    // Also in the middle of a connection.
    assert_eq!(receive(&mut sequence, "stats", 1..=3, "c"), [Restarted, Deliver, Deliver]);
    sequence.reconnect();
    assert_eq!(sequence.resume(), None);
}

#[test]
fn numbers_of_the_old_epoch_are_no_contradiction_in_the_new_one() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=50, "a");
    sequence.reconnect();
    receive(&mut sequence, "stats", 1..=3, "b");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", 4..=6, "b"), [Deliver; 3]);
}

#[test]
fn what_was_delivered_before_a_restart_was_recognised_is_no_news_behind_it() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [2, 3], "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", [5], "b"), [Deliver], "nothing shows yet that it is of a new epoch");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "stats", [2, 5, 6], "b"), [Restarted, Repeat, Deliver]);
}

#[test]
fn what_a_new_epoch_delivered_before_it_was_recognised_is_known_too() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [1, 3, 5], "a");
    receive(&mut sequence, "shots", [2], "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "shots", [1, 2], "b"), [Deliver, Restarted]);
    assert_eq!(receive(&mut sequence, "stats", [3, 4], "b"), [Deliver, Deliver], "announced once");
    for _ in 0..2 {
        sequence.reconnect();
        assert_eq!(receive(&mut sequence, "shots", [1, 2], "b"), [Repeat, Repeat]);
        assert_eq!(receive(&mut sequence, "stats", [3, 4], "b"), [Repeat, Repeat]);
        assert_eq!(sequence.resume(), Some(4));
    }
}

#[test]
fn a_source_that_is_set_aside_leaves_the_holes_of_others_to_be_asked_for() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [1, 2, 4], "a");
    for n in 0..3 {
        sequence.receive(Some("clock"), 50, &[n]);
    }
    receive(&mut sequence, "stats", [5, 6], "a");
    assert_eq!(sequence.resume(), Some(2));
}

#[test]
fn sources_that_begin_anew_together_are_announced_once_and_resumed_later() {
    let mut sequence = Sequence::new(None);
    for version in ["a", "b", "c"] {
        let mut verdicts = receive(&mut sequence, "stats", [1, 3, 5], version);
        verdicts.extend(receive(&mut sequence, "shots", [2, 4], version));
        assert_eq!(count(&verdicts, Restarted), usize::from(version != "a"));
        sequence.reconnect();
        receive(&mut sequence, "stats", [1, 3, 5], version);
        receive(&mut sequence, "shots", [2, 4], version);
        assert_eq!(sequence.resume(), Some(5));
        sequence.reconnect();
    }
}

#[test]
fn a_restart_of_what_is_no_counter_makes_no_duplicates() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", 1..=5, "a");
    receive(&mut sequence, "lineup", [7, 9], "a");
    sequence.reconnect();
    assert_eq!(receive(&mut sequence, "lineup", [7], "b"), [Restarted]);
    assert_eq!(sequence.resume(), None);
    assert_eq!(receive(&mut sequence, "stats", 1..=6, "a"), [Repeat, Repeat, Repeat, Repeat, Repeat, Deliver]);
    receive(&mut sequence, "lineup", [7, 7], "c");
    receive(&mut sequence, "lineup", [7, 7], "d");
    sequence.reconnect();
    assert_eq!(count(&receive(&mut sequence, "stats", 1..=6, "a"), Repeat), 6);
    assert_eq!(sequence.resume(), Some(6), "the lineup has no numbers");
}

#[test]
fn a_number_in_the_payload_that_stays_the_same_is_no_counter() {
    let mut sequence = Sequence::new(None);
    for n in 0..5 {
        assert_eq!(sequence.receive(Some("clock"), 7, format!("{n}").as_bytes()), Deliver);
    }
    receive(&mut sequence, "stats", 1..=5, "a");
    sequence.reconnect();
    assert_eq!(sequence.receive(Some("clock"), 7, b"4"), Deliver, "a message without a number is no repeat");
    assert_eq!(receive(&mut sequence, "stats", 4..=6, "a"), [Repeat, Repeat, Deliver]);
    assert_eq!(sequence.resume(), Some(6));
}

#[test]
fn a_number_in_the_payload_that_is_sent_once_a_connection_announces_nothing() {
    let mut sequence = Sequence::new(None);
    for n in 0..5 {
        assert_eq!(sequence.receive(Some("clock"), 7, format!("{n}").as_bytes()), Deliver);
        sequence.reconnect();
    }
}

#[test]
fn numbers_of_two_counters_are_not_resumed_by() {
    for other in [30, 1_000_000] {
        let mut sequence = Sequence::new(None);
        receive(&mut sequence, "stats", 1..=20, "a");
        receive(&mut sequence, "plays", other..other + 20, "a");
        receive(&mut sequence, "stats", 21..=40, "a");
        sequence.reconnect();
        assert_eq!(sequence.resume(), None, "{other}");
        assert_eq!(count(&receive(&mut sequence, "stats", 1..=40, "a"), Repeat), 40);
        assert_eq!(count(&receive(&mut sequence, "plays", other..other + 20, "a"), Repeat), 20);
    }
}

#[test]
fn one_number_is_no_sequence_nor_are_two_far_apart() {
    let mut sequence = Sequence::new(None);
    receive(&mut sequence, "stats", [7], "a");
    assert_eq!(sequence.resume(), None);
    receive(&mut sequence, "stats", [900], "a");
    assert_eq!(sequence.resume(), None);
}

#[test]
fn the_position_that_the_user_gives_holds_until_there_is_a_later_one() {
    let mut sequence = Sequence::new(Some(41));
    assert_eq!(sequence.resume(), Some(41));
    assert_eq!(receive(&mut sequence, "stats", [41, 42, 44], "a"), [Deliver; 3]);
    assert_eq!(sequence.resume(), Some(42));
}

#[test]
fn what_is_forgotten_is_delivered_again() {
    let mut sequence = Sequence::new(None);
    sequence.memory = Memory::new(10);
    receive(&mut sequence, "stats", 1..=100, "a");
    sequence.reconnect();
    let verdicts = receive(&mut sequence, "stats", 1..=100, "a");
    assert_eq!((count(&verdicts, Deliver), count(&verdicts, Repeat)), (100, 0));
    sequence.reconnect();
    assert_eq!(count(&receive(&mut sequence, "stats", 91..=100, "a"), Repeat), 10);
    assert!(sequence.memory.entries.len() == 10 && sequence.memory.order.len() == 10);
}

#[test]
fn sources_beyond_the_most_are_delivered_and_not_kept() {
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
    /// Whatever comes: only what an earlier connection delivered is dropped.
    #[test]
    fn a_repeat_was_delivered_on_an_earlier_connection(
        steps in prop::collection::vec((0_u8..12, 0_usize..3, -3_i64..12, 0_u8..2), 0..200),
    ) {
        let mut sequence = Sequence::new(None);
        let (mut earlier, mut here) = (Vec::new(), Vec::new());
        for (what, source, seq, content) in steps {
            if what == 0 {
                sequence.reconnect();
                earlier.append(&mut here);
                continue;
            }
            let name = [None, Some("a"), Some("b")][source];
            match sequence.receive(name, seq, &[content]) {
                Repeat => prop_assert!(earlier.contains(&(name, seq, content))),
                Deliver | Restarted => here.push((name, seq, content)),
            }
            if let Some(position) = sequence.resume() {
                prop_assert!(earlier.iter().chain(&here).any(|(_, seq, _)| *seq == position), "{position}");
            }
        }
    }
}
