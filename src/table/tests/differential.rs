//! The engine against the oracle, on random bodies of every resource.

use super::generator::{self, Manner, Random};
use super::oracle;
use crate::resource::RESOURCES;
use crate::table::{Body, Context, DecodeError, Resource, Table, decode, unknown_fields};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, StringArray};
use proptest::prelude::*;
use serde_json::Value;

fn context(random: &mut Random) -> Context {
    let mut context = Context::default();
    for (name, values) in
        [("session_id", ["s-1", "s-2"]), ("team_id", ["12", "other-system"]), ("game_id", ["g-1", "g-2"])]
    {
        if random.chance(80) {
            context = context.with(name, random.pick(&values));
        }
    }
    context
}

/// No columns named, or some of them in any order, codes of an open object among them.
fn columns(table: &Table, random: &mut Random) -> Option<Vec<String>> {
    if random.chance(40) {
        return None;
    }
    let mut names: Vec<String> = table.cols.iter().filter(|c| !c.hidden).map(|c| c.name.into()).collect();
    if table.open.is_some() {
        names.extend(["LBTO", "é", "new_1"].map(String::from));
    }
    random.shuffle(&mut names);
    let wanted = random.below(names.len().min(6) + 1);
    names.truncate(wanted);
    Some(names)
}

/// Whether two columns of text differ only in how numbers are written: the engine keeps a number's token, and
/// `serde_json` has the number alone.
fn same_numbers(read: &dyn Array, expected: &dyn Array) -> bool {
    let texts = |array: &dyn Array| -> Option<Vec<Option<String>>> {
        if let Some(texts) = array.as_string_opt::<i32>() {
            return Some(texts.iter().map(|t| t.map(String::from)).collect());
        }
        let texts = array.as_dictionary_opt::<Int32Type>()?.downcast_dict::<StringArray>()?;
        Some(texts.into_iter().map(|t| t.map(String::from)).collect())
    };
    let number = |text: &Option<String>| text.as_ref().and_then(|t| t.parse::<f64>().ok());
    match (texts(read), texts(expected)) {
        (Some(read), Some(expected)) if read.len() == expected.len() => {
            read.iter().zip(&expected).all(|(a, b)| a == b || (number(a).is_some() && number(a) == number(b)))
        }
        _ => false,
    }
}

/// The column at a place, for a message.
fn read_name(table: &Table, columns: Option<&[String]>, place: usize) -> String {
    match columns {
        Some(columns) => columns[place].clone(),
        None => {
            table.cols.iter().filter(|c| !c.hidden).nth(place).map_or("of an open object".into(), |c| c.name.into())
        }
    }
}

/// Whether a number has a fraction or an exponent and more digits than a float keeps: `serde_json` rounds it, and may see
/// a whole number where the engine sees that there is a fraction.
fn beyond_a_float(text: &[u8]) -> bool {
    text.split(|b| !matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')).any(|number| {
        let value = || std::str::from_utf8(number).ok().and_then(|number| number.parse::<f64>().ok());
        number.iter().any(|b| matches!(b, b'.' | b'e' | b'E'))
            && (number.iter().filter(|b| b.is_ascii_digit()).count() > 15
                || value().is_some_and(|value| value.abs() >= 9e15))
    })
}

/// Both readings of a body that is JSON.
fn compare(resource: &'static Resource, text: &[u8], random: &mut Random) -> Result<(), TestCaseError> {
    let value: Value = match serde_json::from_slice(text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)) {
        Ok(value) => value,
        Err(e) if e.to_string().contains("number out of range") => return Ok(()),
        Err(e) => return Err(TestCaseError::fail(format!("no JSON: {e}"))),
    };
    if beyond_a_float(text) {
        return Ok(());
    }
    for table in resource.tables {
        let (context, columns) = (context(random), columns(table, random));
        let expected = oracle::decode(resource, table, columns.as_deref(), &value, &context);
        // Twice: the second time with what the first has learned.
        for _ in 0..2 {
            let read = decode(resource, table.name, columns.as_deref(), &Body::from(text), &context);
            match (&read, &expected) {
                (Ok(read), Ok(expected)) => {
                    prop_assert_eq!(read.schema(), expected.schema(), "{}", table.name);
                    prop_assert_eq!(read.num_rows(), expected.num_rows(), "{}", table.name);
                    for (column, (read, expected)) in read.columns().iter().zip(expected.columns()).enumerate() {
                        let name = read_name(table, columns.as_deref(), column);
                        if same_numbers(read, expected) {
                            continue;
                        }
                        prop_assert_eq!(read, expected, "{}.{}: {}", table.name, name, String::from_utf8_lossy(text));
                    }
                }
                (Err(_), Err(_)) => {}
                _ => prop_assert!(
                    false,
                    "{} {:?}: {:?} but {:?}: {}",
                    table.name,
                    columns,
                    read.as_ref().err(),
                    expected.as_ref().err(),
                    String::from_utf8_lossy(text)
                ),
            }
        }
    }
    Ok(())
}

fn cases(count: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(count) }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn the_engine_equals_the_oracle(seed: u64) {
        let mut random = Random(seed);
        for resource in RESOURCES {
            for root in resource.roots {
                let manner = Manner::any(&mut random);
                let text = generator::body(resource, root, manner, &mut random);
                compare(resource, text.as_bytes(), &mut random)?;
                prop_assert!(unknown_fields(resource, &Body::from(text.as_bytes())).is_ok());
            }
        }
    }

    #[test]
    fn a_wrong_body_is_an_error_where_the_oracle_says_so(seed: u64) {
        let mut random = Random(seed);
        for resource in RESOURCES {
            for root in resource.roots {
                let manner = Manner { wrong: random.pick(&[1, 5]), ..Manner::any(&mut random) };
                let text = generator::body(resource, root, manner, &mut random);
                compare(resource, text.as_bytes(), &mut random)?;
            }
        }
    }

    #[test]
    fn the_last_of_a_repeated_key_wins(seed: u64) {
        let mut random = Random(seed);
        for resource in RESOURCES {
            for root in resource.roots {
                let manner = Manner { repeated: 5, ..Manner::any(&mut random) };
                let text = generator::body(resource, root, manner, &mut random);
                compare(resource, text.as_bytes(), &mut random)?;
            }
        }
    }

    #[test]
    fn a_byte_that_flips_gives_the_oracle_s_verdict(seed: u64) {
        let mut random = Random(seed);
        for resource in RESOURCES {
            let root = random.pick(resource.roots);
            let manner = Manner { most: 2, ..Manner::any(&mut random) };
            let text = generator::body(resource, root, manner, &mut random).into_bytes();
            for _ in 0..8 {
                let mut text = text.clone();
                let at = random.below(text.len());
                text[at] = match random.below(3) {
                    0 => random.pick(b"\"\\{}[]:,0123.eE-+ \n\0tfn"),
                    1 => text[at] ^ (1 << random.below(8)),
                    _ => random.next() as u8,
                };
                let json = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&text);
                if serde_json::from_slice::<Value>(json).is_ok() {
                    compare(resource, &text, &mut random)?;
                } else if let Err(e) = serde_json::from_slice::<Value>(json)
                    && !e.to_string().contains("number out of range")
                {
                    let read = decode(resource, resource.tables[0].name, None, &Body::from(&*text), &complete());
                    prop_assert!(read.is_err(), "{e}: {}", String::from_utf8_lossy(&text));
                    prop_assert!(unknown_fields(resource, &Body::from(&*text)).is_err());
                }
            }
        }
    }
}

fn complete() -> Context {
    Context::default().with("session_id", "s").with("team_id", "1").with("game_id", "g")
}

#[test]
fn a_body_cut_anywhere_is_said_to_end_early() {
    let mut random = Random(11);
    for resource in RESOURCES {
        for root in resource.roots {
            let manner = Manner { most: 2, odd: 10, ..Manner::any(&mut random) };
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
