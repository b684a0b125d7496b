//! The engine against the oracle, on random bodies of every resource.

use super::compare::{beyond_serde, compare, complete};
use super::generator::{self, Manner};
use crate::fuzz::Random;
use crate::resource::RESOURCES;
use proptest::prelude::*;
use reader::Body;
use serde_json::Value;
use tables::{DecodeError, Resource, check_schema, decode, unknown_fields};

/// All resources; one of them under Miri, which is a thousand times slower.
fn resources(random: &mut Random) -> Vec<&'static Resource> {
    match cfg!(miri) {
        true => vec![random.pick(RESOURCES)],
        false => RESOURCES.to_vec(),
    }
}

fn cases(count: u32) -> ProptestConfig {
    let count = if cfg!(miri) { 1 } else { count };
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count) }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_engine_equals_the_oracle(seed: u64) {
        let mut random = Random(seed);
        for resource in resources(&mut random) {
            for root in resource.roots {
                let manner = Manner::any(&mut random);
                let text = generator::body(resource, root, manner, &mut random);
                compare(resource, resource.tables, text.as_bytes(), &mut random);
                prop_assert!(unknown_fields(resource, &Body::from(text.as_bytes())).is_ok());
            }
        }
    }

    #[test]
    fn a_wrong_body_is_an_error_where_the_oracle_says_so(seed: u64) {
        let mut random = Random(seed);
        for resource in resources(&mut random) {
            for root in resource.roots {
                let manner = Manner { invalid: random.pick(&[1, 5]), ..Manner::any(&mut random) };
                let text = generator::body(resource, root, manner, &mut random);
                compare(resource, resource.tables, text.as_bytes(), &mut random);
            }
        }
    }

    #[test]
    fn the_last_of_a_repeated_key_wins(seed: u64) {
        let mut random = Random(seed);
        for resource in resources(&mut random) {
            for root in resource.roots {
                let manner = Manner { policy: 5, ..Manner::any(&mut random) };
                let text = generator::body(resource, root, manner, &mut random);
                compare(resource, resource.tables, text.as_bytes(), &mut random);
            }
        }
    }

    #[test]
    fn a_byte_that_flips_gives_the_oracle_s_verdict(seed: u64) {
        let mut random = Random(seed);
        for resource in resources(&mut random) {
            let root = &random.pick(resource.roots);
            let manner = Manner { max_items: 2, ..Manner::any(&mut random) };
            let text = generator::body(resource, root, manner, &mut random).into_bytes();
            for _ in 0..if cfg!(miri) { 1 } else { 8 } {
                let mut text = text.clone();
                let at = random.below(text.len());
                text[at] = match random.below(3) {
                    0 => random.pick(b"\"\\{}[]:,0123.eE-+ \n\0tfn"),
                    1 => text[at] ^ (1 << random.below(8)),
                    _ => random.word() as u8,
                };
                let json = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
                if serde_json::from_slice::<Value>(json).is_ok() {
                    compare(resource, resource.tables, &text, &mut random);
                } else if let Err(e) = serde_json::from_slice::<Value>(json)
                    && !beyond_serde(&e)
                {
                    let read = decode(resource, resource.tables[0].name, None, &Body::from(&*text), &complete());
                    prop_assert!(read.is_err(), "{e}: {}", String::from_utf8_lossy(&text));
                    prop_assert!(unknown_fields(resource, &Body::from(&*text)).is_err());
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "thousands of bodies")]
fn a_body_cut_anywhere_is_reported_as_ending_early() {
    let mut random = Random(11);
    for resource in resources(&mut random) {
        for root in resource.roots {
            let manner = Manner { max_items: 2, unusual: 10, ..Manner::any(&mut random) };
            let text = generator::body(resource, root, manner, &mut random);
            let text = text.trim_start_matches('\u{feff}').trim().as_bytes();
            for end in 0..text.len() {
                for columns in [None, Some(vec![resource.tables[0].cols[0].name.to_string()])] {
                    for table in
                        resource.tables.iter().filter(|t| columns.is_none() || t.name == resource.tables[0].name)
                    {
                        let cut = Body::from(&text[..end]);
                        match decode(resource, table.name, columns.as_deref(), &cut, &complete()) {
                            Err(DecodeError::Body { message, offset, .. }) => {
                                assert!(
                                    message.contains("ends early"),
                                    "{message} at {offset}: {}",
                                    String::from_utf8_lossy(&text[..end])
                                );
                            }
                            other => panic!("{other:?}"),
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn one_pass_over_a_usual_body_shows_that_it_decodes() {
    let mut random = Random(5);
    for resource in resources(&mut random) {
        for root in resource.roots {
            let manner = Manner { missing: 0, null: 0, unknown_keys: 0, unusual: 0, ..Manner::any(&mut random) };
            let body = Body::from(generator::body(resource, root, manner, &mut random).as_bytes());
            let tables: Result<Vec<_>, _> =
                resource.tables.iter().map(|table| decode(resource, table.name, None, &body, &complete())).collect();
            let rows = match tables {
                Ok(tables) => tables[0].num_rows(),
                // Positions are drawn from all integers.
                Err(error) if error.to_string().contains("out of range") => continue,
                Err(error) => panic!("{error}"),
            };
            let check = check_schema(resource, &body, Some(&complete())).unwrap();
            assert_eq!(
                (check.rows, check.unknown_fields),
                (Some(rows), vec![]),
                "{} at {:?}",
                resource.name,
                root.path
            );
        }
    }
}
