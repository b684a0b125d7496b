//! Any bytes as a body of any resource: what `serde_json` reads gives the oracle's tables, what it refuses is an error.

use super::compare::{beyond_serde, check_schema_holds, compare, complete};
use super::oracle;
use crate::fuzz::Random;
use crate::resource::RESOURCES;
use reader::{Body, json_path, syntax_error};
use serde_json::Value;
use tables::{DecodeError, decode, unknown_fields};

/// The first byte chooses the resource, the second table, columns and context (0: every table), the others are the body.
pub(crate) fn resource(bytes: &[u8]) {
    let [number, seed, text @ ..] = bytes else { return };
    let resource = RESOURCES[usize::from(*number) % RESOURCES.len()];
    let mut random = Random(u64::from(*seed));
    // One is usually enough, and several times as fast.
    let single = [random.pick(resource.tables)];
    let tables = if *seed == 0 { resource.tables } else { &single };
    let body = Body::from(text);
    let fields = unknown_fields(resource, &body);
    check_schema_holds(resource, text, &complete());
    match serde_json::from_slice::<Value>(text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text)) {
        Ok(value) => {
            assert_eq!(fields.is_ok(), oracle::has_root(resource, &value), "{fields:?}");
            compare(resource, tables, text, &mut random);
        }
        Err(error) => {
            let is_json = beyond_serde(&error);
            let syntax_error = syntax_error(&body).map(DecodeError::from);
            assert!(is_json || syntax_error.is_some(), "{error}");
            assert!(syntax_error.is_none() || fields.as_ref().err() == syntax_error.as_ref(), "{fields:?}");
            for table in tables {
                let read = decode(resource, table.name, None, &body, &complete());
                assert!(syntax_error.is_none() || read.as_ref().err() == syntax_error.as_ref(), "{}", table.name);
                if let Err(DecodeError::Body { message, path, offset }) = read {
                    assert!(
                        offset <= text.len() && path.starts_with('$') && !message.is_empty(),
                        "{message} at {path}"
                    );
                }
                // Skipped values are not validated, so this may succeed, but must not panic.
                let columns = [table.cols[random.below(table.cols.len())].name.to_string()];
                let _ = decode(resource, table.name, Some(&columns), &body, &complete());
            }
        }
    }
    let _ = json_path::at(&body, random.below(text.len() + 2));
}
