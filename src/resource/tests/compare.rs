//! Compares the engine's and the oracle's reading of a body.

use super::oracle;
use crate::fuzz::Random;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, StringArray};
use reader::Body;
use serde_json::Value;
use tables::{Context, Resource, SchemaCheck, Table, check_schema, decode, decode_all};

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
    let mut names: Vec<String> = table.cols.iter().filter(|c| !c.is_hidden).map(|c| c.name.into()).collect();
    if table.open.is_some() {
        names.extend(["LBTO", "é", "new_1"].map(String::from));
    }
    random.shuffle(&mut names);
    let count = random.below(names.len().min(6) + 1);
    names.truncate(count);
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
            table.cols.iter().filter(|c| !c.is_hidden).nth(place).map_or("of an open object".into(), |c| c.name.into())
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

/// Where the schema check says that every table decodes, each does, and the first has as many rows.
pub(super) fn check_schema_holds(resource: &'static Resource, text: &[u8], context: &Context) {
    let body = Body::from(text);
    let Ok(SchemaCheck { rows: Some(rows), .. }) = check_schema(resource, &body, Some(context)) else { return };
    for (number, table) in resource.tables.iter().enumerate() {
        // A new body: this one is known to be JSON.
        let read = decode(resource, table.name, None, &Body::from(text), context);
        let read = read.unwrap_or_else(|e| panic!("{}: {e}: {}", table.name, String::from_utf8_lossy(text)));
        assert!(number > 0 || read.num_rows() == rows, "{}: {rows}: {}", table.name, String::from_utf8_lossy(text));
    }
}

/// One pass for all tables returns what a pass for each does, or the first error of these.
pub(super) fn one_pass_equals_several(resource: &'static Resource, text: &[u8], context: &Context) {
    let together = decode_all(resource, &Body::from(text), context);
    let decode_single = |table: &&'static Table| decode(resource, table.name, None, &Body::from(text), context);
    match (together, resource.tables.iter().map(decode_single).collect::<Result<Vec<_>, _>>()) {
        (Ok(together), Ok(separate)) => {
            assert_eq!(together, separate, "{}", String::from_utf8_lossy(text));
        }
        (together, separate) => assert_eq!(together.err(), separate.err(), "{}", String::from_utf8_lossy(text)),
    }
}

/// Both readings of a body that is JSON; panics where they differ.
pub(super) fn compare(resource: &'static Resource, tables: &[&'static Table], text: &[u8], random: &mut Random) {
    let value: Value = match serde_json::from_slice(text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)) {
        Ok(value) => value,
        Err(e) if beyond_serde(&e) => return,
        Err(e) => panic!("no JSON: {e}"),
    };
    check_schema_holds(resource, text, &context(random));
    if beyond_a_float(text) {
        return;
    }
    one_pass_equals_several(resource, text, &context(random));
    // A body that a pass has validated is only skipped by the others.
    let checked_body = Body::from(text);
    if random.chance(50) {
        let _ = check_schema(resource, &checked_body, Some(&complete()));
    }
    for table in tables {
        let (context, columns) = (context(random), columns(table, random));
        let expected = oracle::decode(resource, table, columns.as_deref(), &value, &context);
        // Twice: the second time with the hints of the first.
        for body in [&Body::from(text), &Body::from(text), &checked_body] {
            let read = decode(resource, table.name, columns.as_deref(), body, &context);
            match (&read, &expected) {
                (Ok(read), Ok(expected)) => {
                    assert_eq!(read.schema(), expected.schema(), "{}", table.name);
                    assert_eq!(read.num_rows(), expected.num_rows(), "{}", table.name);
                    for (column, (read, expected)) in read.columns().iter().zip(expected.columns()).enumerate() {
                        let name = read_name(table, columns.as_deref(), column);
                        if same_numbers(read, expected) {
                            continue;
                        }
                        assert_eq!(read, expected, "{}.{}: {}", table.name, name, String::from_utf8_lossy(text));
                    }
                }
                (Err(_), Err(_)) => {}
                _ => panic!(
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
}

/// Errors of `serde_json` for valid JSON: numbers beyond a float, and depth.
pub(super) fn beyond_serde(error: &serde_json::Error) -> bool {
    let text = error.to_string();
    text.contains("number out of range") || text.contains("recursion limit exceeded")
}

/// A context with every request value.
pub(super) fn complete() -> Context {
    Context::default().with("session_id", "s").with("team_id", "1").with("game_id", "g")
}
