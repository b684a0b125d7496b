//! Which requests are admitted, and the errors of the others.

use super::super::auth::{
    CANNOT_BE_VERIFIED, DOES_NOT_MATCH, NO_AUTHORIZATION, NO_KEY, NO_VALID_DATE, TWO_KEYS, WRONG_KEY,
};
use super::*;
use crate::Fault;

const TEAMS: &str = "/v1/data/teams";

/// The message of an answer that must be the gateway's: 401, and nothing but a message.
fn refused_by_gateway(response: &SocketResponse) -> String {
    assert_eq!(response.status, 401);
    assert_eq!(response.json().as_object().unwrap().len(), 1, "{}", response.json());
    response.message()
}

/// A good request for the teams, changed.
fn refusal_after(change: impl FnOnce(&mut Vec<(&'static str, String)>)) -> String {
    let simulator = small();
    let mut headers = Sender::new(&simulator).headers("GET", TEAMS, SystemTime::now());
    assert_eq!(raw(&simulator, "GET", TEAMS, &headers).status, 200, "before the change");
    change(&mut headers);
    let message = refused_by_gateway(&raw(&simulator, "GET", TEAMS, &headers));
    assert_eq!(last_seen(&simulator).status, 401);
    message
}

fn set(headers: &mut [(&'static str, String)], name: &str, value: impl FnOnce(&str) -> String) {
    let header = headers.iter_mut().find(|(n, _)| *n == name).unwrap();
    header.1 = value(&header.1);
}

#[test]
fn a_client_that_shares_no_code_is_accepted() {
    let simulator = small();
    let response = Sender::new(&simulator).get(TEAMS);
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/json")));
    assert_eq!(response.header("x-request-id").unwrap().len(), 36);
    assert_eq!(response.json()["teams"].as_array().unwrap().len(), 6);
}

#[test]
fn the_gateways_refusals_are_the_facts() {
    assert_eq!(NO_AUTHORIZATION, "Unauthorized");
    assert_eq!(
        NO_VALID_DATE,
        "HMAC signature cannot be verified, a valid date or x-date header is required for HMAC Authentication"
    );
    assert_eq!(CANNOT_BE_VERIFIED, "HMAC signature cannot be verified");
    assert_eq!(DOES_NOT_MATCH, "HMAC signature does not match");
    assert_eq!(NO_KEY, "No API key found in request");
    assert_eq!(WRONG_KEY, "Invalid authentication credentials");
    assert_eq!(TWO_KEYS, "Duplicate API key found");
}

#[test]
fn each_fault_of_a_signed_request_has_its_message() {
    assert_eq!(refusal_after(|headers| headers.retain(|(name, _)| *name != "Authorization")), NO_AUTHORIZATION);
    assert_eq!(refusal_after(|headers| headers.retain(|(name, _)| *name != "Date")), NO_VALID_DATE);
    assert_eq!(refusal_after(|headers| set(headers, "Date", |_| "today".into())), NO_VALID_DATE);
    assert_eq!(refusal_after(|headers| set(headers, "Host", |_| "api.shottracker.com".into())), DOES_NOT_MATCH);
    assert_eq!(
        refusal_after(|headers| set(headers, "Host", |host| host.replace("127.0.0.1", "localhost"))),
        DOES_NOT_MATCH
    );
    assert_eq!(
        refusal_after(|headers| set(headers, "Authorization", |a| a.replace("sim-7", "sim-8"))),
        CANNOT_BE_VERIFIED
    );
    assert_eq!(
        refusal_after(|headers| set(headers, "Authorization", |a| a.replace("sha1", "sha256"))),
        CANNOT_BE_VERIFIED
    );
    assert_eq!(refusal_after(|headers| set(headers, "Authorization", |_| "Bearer x".into())), CANNOT_BE_VERIFIED);
    let with_invalid_signature = |a: &str| a.replace("signature=\"", "signature=\"AAAA");
    assert_eq!(refusal_after(|headers| set(headers, "Authorization", with_invalid_signature)), DOES_NOT_MATCH);
}

#[test]
fn a_wrong_secret_and_a_signed_query_do_not_match() {
    let simulator = small();
    let mut sender = Sender::new(&simulator);
    let target = "/v1/data/schedule/games?from=1";
    let headers = sender.headers("GET", target, SystemTime::now());
    assert_eq!(refused_by_gateway(&raw(&simulator, "GET", target, &headers)), DOES_NOT_MATCH);
    sender.secret.push('x');
    assert_eq!(refused_by_gateway(&sender.get(TEAMS)), DOES_NOT_MATCH);
}

#[test]
fn a_date_more_than_five_minutes_off_is_refused() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let send = |seconds: u64| {
        let by = Duration::from_secs(seconds);
        let now = SystemTime::now();
        [now + by, now - by].map(|at| sender.request("GET", TEAMS, at))
    };
    // A request takes time, so the edge itself is left to the gate's own tests.
    send(290).iter().for_each(|response| assert_eq!(response.status, 200));
    send(310).iter().for_each(|response| assert_eq!(refused_by_gateway(response), NO_VALID_DATE));
}

#[test]
fn a_clock_offset_shows_in_the_date_and_in_the_skew() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    let seconds = |response: &SocketResponse| {
        let date = httpdate::parse_http_date(response.header("date").unwrap()).unwrap();
        date.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64
            - SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64
    };
    assert!((-2..=0).contains(&seconds(&sender.get(TEAMS))));
    for offset in [600, -600] {
        simulator.faults().add(Fault { clock_offset: offset as f64, ..Fault::default() }).unwrap();
        let refusal = sender.get(TEAMS);
        assert_eq!(refused_by_gateway(&refusal), NO_VALID_DATE);
        assert!((offset - 2..=offset).contains(&seconds(&refusal)), "{offset}");
        let shifted_clock = SystemTime::UNIX_EPOCH
            + Duration::from_secs(
                (SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() as i64 + offset) as u64,
            );
        assert_eq!(sender.request("GET", TEAMS, shifted_clock).status, 200);
        simulator.faults().clear();
    }
}

#[test]
fn a_key_is_taken_from_header_or_query_and_only_once() {
    let simulator = small();
    let key = simulator.api_key();
    let host = ("Host", "x".to_owned());
    let get = |target: &str, keys: &[&str]| {
        let mut headers = vec![host.clone()];
        headers.extend(keys.iter().map(|key| ("apikey", key.to_string())));
        raw(&simulator, "GET", target, &headers)
    };
    let teams = "/broadcast/v1/games/teams";
    assert_eq!(get(&format!("{teams}?apikey={key}"), &[]).status, 200);
    assert_eq!(get(teams, &[&key]).status, 200);
    assert_eq!(refused_by_gateway(&get(teams, &[])), NO_KEY);
    assert_eq!(refused_by_gateway(&get(&format!("{teams}?apikey=x"), &[])), WRONG_KEY);
    assert_eq!(refused_by_gateway(&get(teams, &["x"])), WRONG_KEY);
    assert_eq!(refused_by_gateway(&get(&format!("{teams}?apikey={key}&apikey={key}"), &[])), TWO_KEYS);
    assert_eq!(refused_by_gateway(&get(teams, &[&key, &key])), TWO_KEYS);
}

#[test]
fn a_signature_is_no_key_and_a_key_no_signature() {
    let simulator = small();
    let sender = Sender::new(&simulator);
    assert_eq!(refused_by_gateway(&sender.get("/broadcast/v1/games/teams")), NO_KEY);
    let key = simulator.api_key();
    assert_eq!(
        refused_by_gateway(&raw(&simulator, "GET", &format!("{TEAMS}?apikey={key}"), &[("Host", "x".into())])),
        NO_AUTHORIZATION
    );
}

#[test]
fn each_privilege_opens_its_own_resources() {
    let simulator = small();
    let game = &simulator.games()[0];
    let (game_id, team) = (&game.event_id, game.home_team_id);
    let all = Sender::new(&simulator);
    let event = all.json(&format!("/v1/data/games/{game_id}"));
    let session = event["results"][0]["id"].as_str().unwrap();
    let start = event["results"][0]["started_at"].as_i64().unwrap();

    let stats = "No access to STATS data";
    let shots = "No access to SHOTS data";
    let access_denied = "Access denied to resource";
    let restricted_resource = "Restricted resource";
    let (no_stats, no_shots, no_team) = (
        Privileges { stats: false, ..Privileges::default() },
        Privileges { shots: false, ..Privileges::default() },
        Privileges { restricted_teams: vec![team], ..Privileges::default() },
    );
    let closed = [
        (&no_stats, format!("/v1/data/stats/{session}/stats"), stats),
        (&no_stats, format!("/v1/data/stats/{session}/stats/details"), stats),
        (&no_stats, format!("/v1/data/stats/{session}/possessions"), stats),
        (&no_stats, format!("/v1/data/stats/{session}/possessions/summary"), stats),
        (&no_stats, format!("/v1/data/teams/{team}/players/game/stats?event_id={game_id}"), stats),
        (&no_stats, format!("/v1/data/sensors/locations?id={session}&from={start}&to={}", start + 1000), stats),
        (&no_stats, format!("/v1/data/games/{game_id}/events"), access_denied),
        (&no_stats, format!("/v1/data/stats/games/{game_id}/stats/details"), access_denied),
        (&no_shots, format!("/v1/data/stats/{session}/shots"), shots),
        (&no_team, format!("/v1/data/teams/{team}"), restricted_resource),
        (&no_team, format!("/v1/data/teams/{team},SHOTTRACKER"), restricted_resource),
        (&no_team, format!("/v1/data/teams/{team}?game_event_id={game_id}"), restricted_resource),
        (&no_team, format!("/v1/data/teams/{team}/events?from=1&to=2"), restricted_resource),
        (&no_team, format!("/v1/data/teams/{team}/players/game/stats?event_id={game_id}"), restricted_resource),
    ];
    for (privileges, target, message) in &closed {
        let sender = Sender::with(&simulator, "less", (*privileges).clone());
        assert_eq!(sender.refusal(target), (403, message.to_string()), "{target}");
        all.json(target);
        for other in [&no_stats, &no_shots, &no_team].into_iter().filter(|other| other != privileges) {
            let is_closed = closed.iter().any(|(closed, t, _)| *closed == other && t == target);
            let response = Sender::with(&simulator, "other", other.clone()).get(target);
            assert_eq!(response.status == 403, is_closed, "{other:?} {target}");
        }
    }
    let other_team = game.away_team_id;
    Sender::with(&simulator, "less", no_team).json(&format!("/v1/data/teams/{other_team}"));
}

#[test]
fn a_privilege_can_be_taken_away_and_given_back() {
    let simulator = small();
    let game = simulator.games()[0].event_id.clone();
    let target = format!("/v1/data/stats/games/{game}/stats/details");
    let status =
        |stats| Sender::with(&simulator, "u", Privileges { stats, ..Privileges::default() }).get(&target).status;
    assert_eq!([status(true), status(false), status(true)], [200, 403, 200]);
}

#[test]
fn credentials_look_real_and_are_the_seeds() {
    let (first, second) = (small(), small());
    assert_eq!(
        (first.username(), first.secret(), first.api_key()),
        (second.username(), second.secret(), second.api_key())
    );
    assert_eq!((first.username().as_str(), first.secret().len()), ("sim-7", 40));
    let other = start(SimulatorOptions { seed: 8, games: 0, ..SimulatorOptions::default() });
    assert_ne!((first.secret(), first.api_key()), (other.secret(), other.api_key()));
    assert!(!format!("{first:?}").contains(&first.secret()));
}

#[test]
fn a_username_that_no_header_can_hold_is_refused() {
    for username in ["", "a\nb"] {
        assert!(matches!(
            small().add_credentials(username, "s", Privileges::default()),
            Err(crate::error::Error::Argument(_))
        ));
    }
}
