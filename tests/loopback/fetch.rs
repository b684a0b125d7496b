//! A call of several requests, against a scripted server.

use crate::scripted::{Reply, Server, json};
use sideline::config::{ClientOptions, Secret, Sport};
use sideline::error::{ApiErrorKind, Error};
use sideline::fetch::{Payload, run};
use sideline::operation::{Call, Value, call};
use sideline::transport::Transport;
use std::sync::Arc;
use tables::Context;

/// Two seasons of a team's events: two pieces.
fn two_pieces(transport: &Transport) -> Call {
    let text = |value: &str| Value::Text(value.into());
    let arguments = [("team_id", text("46")), ("start", text("2025-11-01")), ("end", text("2026-09-01"))];
    let call = call("team_events", &arguments.map(|(name, value)| (name.into(), value)).to_vec(), transport.config());
    let call = call.unwrap();
    assert_eq!(call.requests.len(), 2);
    call
}

/// One request at a time, so that the script's order is the requests'.
async fn run_against(script: Vec<Reply>) -> (Server, Result<Payload, Error>) {
    let server = Server::start(script).await;
    let options = ClientOptions {
        username: Some("ann".into()),
        secret: Some(Secret::new("secret")),
        base_url: Some(server.url()),
        max_concurrency: Some(1),
        max_retries: Some(0),
        ..ClientOptions::default()
    };
    let transport = Transport::new(options.resolve(&|_| None).unwrap()).unwrap();
    let result = run(&transport, two_pieces(&transport), Arc::default(), false).await;
    (server, result.map(|(payload, _)| payload).map_err(|failed| failed.error))
}

#[tokio::test]
async fn pieces_are_one_payload_and_its_parts() {
    let pieces = [r#"{"events":[{"id":"a"},{"id":"b"}]}"#, r#"{"events":[{"id":"b"},{"id":"c"}]}"#];
    let (server, result) = run_against(pieces.map(|body| json(200, "", body)).to_vec()).await;
    let payload = result.unwrap();
    assert_eq!(payload.body().unwrap().as_slice(), br#"{"events":[{"id":"a"},{"id":"b"},{"id":"c"}]}"#);
    assert_eq!(payload.parts.iter().map(|part| part.body.as_slice()).collect::<Vec<_>>(), pieces.map(str::as_bytes));
    assert_eq!((payload.operation, payload.context.get("team_id")), ("team_events", Some("46")));
    assert_eq!(payload.tables(), ["sessions", "events", "location_windows"]);
    // The pieces touch: the second's `from` is the first's `to`.
    let seen = server.seen();
    let parameter = |at: usize, name: &str| {
        let query = seen[at].line().split(['?', ' ']).nth(2).unwrap().to_string();
        query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")).map(str::to_string)).unwrap()
    };
    assert_eq!(parameter(0, "to"), parameter(1, "from"));
}

#[tokio::test]
async fn a_piece_that_fails_fails_the_call() {
    let script = vec![json(200, "", r#"{"events":[]}"#), json(404, "", r#"{"status":404,"message":"gone"}"#)];
    let (_, result) = run_against(script).await;
    let Err(Error::Api(error)) = result else { panic!("{result:?}") };
    assert_eq!(error.kind, ApiErrorKind::NotFound);
}

#[test]
fn a_body_from_a_file_knows_its_operations_tables() {
    let payload = Payload::from_bytes("possessions", b"{}", Sport::Basketball, Context::default()).unwrap();
    assert_eq!(
        (payload.tables()[0], payload.body().unwrap().as_slice(), payload.parts.len()),
        ("possessions", b"{}".as_slice(), 0)
    );
    // A practice is reached by its link only; nevertheless its body may be in a file.
    assert_eq!(
        Payload::from_bytes("practice", b"{}", Sport::Basketball, Context::default()).unwrap().tables()[0],
        "sessions"
    );
    let Err(Error::UnknownName { text, .. }) =
        Payload::from_bytes("posessions", b"{}", Sport::Basketball, Context::default())
    else {
        panic!()
    };
    assert!(text.contains("possessions, shots") && text.contains("practice"), "{text}");
}

#[test]
fn an_operation_without_a_table_names_to_dict() {
    let payload = Payload::from_bytes("game_events", b"{}", Sport::Basketball, Context::default()).unwrap();
    for result in [payload.table(None, None).map(|_| ()), payload.unknown_fields().map(|_| ())] {
        let Err(Error::Argument(text)) = result else { panic!("{result:?}") };
        assert!(text.contains("to_dict()"), "{text}");
    }
}
