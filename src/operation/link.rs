//! Links found in bodies, and the escape hatch `get`. Links name the vendor's host whatever the base is: only path and
//! query are kept, and the request goes to the configured base, so no credential goes elsewhere.

use super::arguments::{is_id, missing, text};
use super::declared::{FOLLOW, GET, OPERATIONS, Operation, PARTS};
use super::{Arguments, Auth, Request, Value, encode};
use crate::config::Sport;
use crate::error::{Error, Result};
use crate::resource::catch_up;
use percent_encoding::percent_decode_str;
use tables::Context;

const DATA: &str = "/v1/data/";
const BROADCAST: &str = "/broadcast/";

/// The request for a link: a whole URL, or its path.
pub(super) fn follow(link: &str, sport: Sport) -> Result<Request> {
    let (path, query) = path_and_query(link)?;
    if !path.starts_with(DATA) {
        return refuse(format!("the link's path {path:?} does not begin with {DATA}"));
    }
    check_path(path)?;
    let target = OPERATIONS.iter().find_map(|operation| Some((operation, match_operation(operation, path, query)?)));
    Ok(Request {
        operation: target.as_ref().map_or(FOLLOW, |(operation, _)| operation.name),
        auth: Auth::Signed,
        path: path.into(),
        query: query.into(),
        resource: target.as_ref().and_then(|(operation, context)| operation.resource_for(sport, context)),
        sport,
        context: target.map_or_else(Context::default, |(_, context)| context),
    })
}

/// The request for any path: one of the Broadcast API takes the key, any other is signed.
pub(super) fn get(mut arguments: Arguments) -> Result<Request> {
    let at = arguments.iter().position(|(name, _)| name == "path").ok_or_else(|| missing("path"))?;
    let path = &text("path", arguments.remove(at).1)?;
    if !path.starts_with('/') {
        return refuse(format!("the path {path:?} does not begin with a slash; for a whole link write follow(link)"));
    }
    if path.contains(['?', '#']) {
        return refuse(format!("the path {path:?} holds a query; give it as params={{\"name\": value}}"));
    }
    check_path(path)?;
    let mut query = Vec::with_capacity(arguments.len());
    for (name, value) in arguments {
        let name = text("the name of a parameter", Value::Text(name))?;
        let value = text(&name, value)?;
        query.push((name, value));
    }
    Ok(Request {
        operation: GET,
        auth: Auth::of_api(path.starts_with(BROADCAST)),
        path: path.clone(),
        query: encode(&query),
        resource: None,
        sport: Sport::Basketball,
        context: Context::default(),
    })
}

fn refuse<T>(text: String) -> Result<T> {
    Err(Error::Argument(text))
}

/// Path and query as written in the link; a fragment is never sent.
fn path_and_query(link: &str) -> Result<(&str, &str)> {
    // Copied text often has blanks around it.
    let link = link.trim().split('#').next().unwrap_or_default();
    let lower = link.to_ascii_lowercase();
    let after_scheme = ["https://", "http://", "//"].iter().find(|scheme| lower.starts_with(*scheme));
    let from_path = match after_scheme {
        None => link,
        Some(scheme) => link[scheme.len()..].find('/').map_or("", |at| &link[scheme.len() + at..]),
    };
    if !from_path.starts_with('/') {
        return refuse(format!("{link:?} is not a link: give an address, or a path that begins with {DATA}"));
    }
    Ok(from_path.split_once('?').unwrap_or((from_path, "")))
}

/// Rejects paths that a server or proxy could normalise to a different path than the one signed.
fn check_path(path: &str) -> Result<()> {
    let mut text = path.to_string();
    // An encoded dot may be encoded again. Each round shortens the text, so this ends.
    loop {
        if text.chars().any(char::is_control) || text.contains('\\') {
            return refuse("the path holds a control character or a backslash".into());
        }
        if text.split('/').any(|segment| segment == "." || segment == "..") {
            return refuse(format!("the path {path:?} holds a segment . or ..; write the path it leads to"));
        }
        let next = percent_decode_str(&text).decode_utf8_lossy().into_owned();
        if next == text {
            return Ok(());
        }
        text = next;
    }
}

/// The values of an operation's template in a path and its query, if they match.
fn match_operation(operation: &Operation, path: &str, query: &str) -> Option<Context> {
    let segments: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    let template: Vec<&str> = operation.path.split('/').collect();
    if operation.auth != Auth::Signed || segments.len() != template.len() {
        return None;
    }
    let mut context = Context::default();
    for (segment, expected) in segments.iter().zip(template) {
        match super::declared::placeholder(expected) {
            None if *segment == expected => {}
            None => return None,
            Some(name) => {
                let value = percent_decode_str(segment).decode_utf8().ok()?;
                let fits = if name == PARTS { catch_up::are_parts(&value) } else { is_id(&value) };
                if !fits {
                    return None;
                }
                context = operation.add_context(context, name, &value);
            }
        }
    }
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        context = operation.add_context(context, &name, &value);
    }
    Some(context)
}
