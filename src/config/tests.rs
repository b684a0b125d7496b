#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use crate::error::LocalError;

const NO_VARIABLES: &dyn Fn(&str) -> Option<String> = &|_| None;

fn with_base(text: &str) -> Result<Config> {
    ClientOptions { base_url: Some(text.into()), ..ClientOptions::default() }.resolve(NO_VARIABLES)
}

fn refusal(options: ClientOptions) -> String {
    match options.resolve(NO_VARIABLES) {
        Err(Error::Configuration(LocalError { text, .. })) => text,
        other => panic!("not refused as a configuration: {other:?}"),
    }
}

#[test]
fn each_sport_and_environment_has_its_documented_addresses() {
    for (sport, environment, host) in [
        ("basketball", "production", "api.shottracker.com"),
        ("basketball", "development", "devapi-shottracker.ddsports.com"),
        ("football", "production", "api-gridtracker.ddsports.com"),
        ("FOOTBALL", "Development", "devapi-gridtracker.ddsports.com"),
    ] {
        let options = ClientOptions {
            sport: Some(sport.into()),
            environment: Some(environment.into()),
            ..ClientOptions::default()
        };
        let config = options.resolve(NO_VARIABLES).unwrap();
        assert_eq!(config.base_url, format!("https://{host}"));
        assert_eq!(config.websocket_url, format!("wss://{host}"));
        assert_eq!(config.broadcast_base_url, format!("https://{host}"));
    }
}

#[test]
fn where_key_and_token_stand_can_be_set_and_is_checked() {
    let defaults = ClientOptions::default().resolve(NO_VARIABLES).unwrap();
    assert_eq!((defaults.key_place, defaults.token_parameter.as_str()), (KeyPlace::Query, "token"));
    assert_eq!(defaults.token_path, "/v1/data/schedule/games/{game_id}/_subscribe");
    let options = ClientOptions {
        api_key_in: Some("header".into()),
        token_path: Some("/v2/tokens/{game_id}".into()),
        token_parameter: Some("start_token".into()),
        ..ClientOptions::default()
    };
    let config = options.resolve(NO_VARIABLES).unwrap();
    assert_eq!((config.key_place, config.token_parameter.as_str()), (KeyPlace::Header, "start_token"));
    assert_eq!(config.token_path, "/v2/tokens/{game_id}");
    let option = |text: &str| Some(text.to_string());
    assert!(refusal(ClientOptions { api_key_in: option("body"), ..ClientOptions::default() }).contains("api_key_in"));
    for path in
        ["", "/v1/tokens", "v1/{game_id}", "/{game_id}/{game_id}", "/{game_id}?x", "/x{game_id}", "/../{game_id}"]
    {
        assert!(
            refusal(ClientOptions { token_path: option(path), ..ClientOptions::default() }).contains("token_path"),
            "{path}"
        );
    }
    for parameter in ["", "a b", "a=b", "a&b"] {
        let message = refusal(ClientOptions { token_parameter: option(parameter), ..ClientOptions::default() });
        assert!(message.contains("token_parameter"), "{parameter}");
    }
}

#[test]
fn options_win_over_the_environment() {
    let variable = |name: &str| -> Option<String> {
        let value = match name {
            "SIDELINE_USERNAME" => "ann",
            "SIDELINE_SECRET" => "s3cret",
            "SIDELINE_API_KEY" => "k3y",
            "SIDELINE_ENVIRONMENT" => "development",
            "SIDELINE_SPORT" => "",
            "SIDELINE_BASE_URL" => "http://127.0.0.1:4000/",
            "SIDELINE_WEBSOCKET_URL" => "ws://127.0.0.1:4000",
            "SIDELINE_BROADCAST_BASE_URL" => "http://localhost:4000/broadcast/v1",
            "REQUESTS_CA_BUNDLE" => "bundle.pem",
            _ => return None,
        };
        Some(value.into())
    };
    let config = ClientOptions { username: Some("bob".into()), ..ClientOptions::default() }.resolve(&variable).unwrap();
    assert_eq!(config.username.as_deref(), Some("bob"));
    assert_eq!(config.secret, Some(Secret::new("s3cret")));
    assert_eq!(config.api_key, Some(Secret::new("k3y")));
    assert_eq!((config.environment, config.sport), (Environment::Development, Sport::Basketball));
    assert_eq!(config.base_url, "http://127.0.0.1:4000");
    assert_eq!(config.websocket_url, "ws://127.0.0.1:4000");
    assert_eq!(config.broadcast_base_url, "http://localhost:4000");
    assert_eq!(config.ca_bundle.as_deref(), Some("bundle.pem"));
}

#[test]
fn an_address_that_ends_in_an_operations_path_is_trimmed_and_a_proxys_prefix_stays() {
    for (address, expected) in [
        ("https://host", "https://host"),
        ("https://HOST:443/", "https://host"),
        ("https://host:8443/v1/data/", "https://host:8443"),
        ("https://host/v1", "https://host"),
        ("https://host/v1/data/teams", "https://host"),
        ("https://host/broadcast/v1", "https://host"),
        ("https://host/live/v2/games", "https://host"),
        ("https://host/prefix", "https://host/prefix"),
        ("https://host/a/v1/b/v1/data", "https://host/a/v1/b"),
        ("http://[::1]:9/", "http://[::1]:9"),
    ] {
        assert_eq!(with_base(address).unwrap().base_url, expected, "{address}");
    }
    let websocket =
        ClientOptions { websocket_url: Some("wss://host/live/v2/games".into()), ..ClientOptions::default() };
    assert_eq!(websocket.resolve(NO_VARIABLES).unwrap().websocket_url, "wss://host");
}

#[test]
fn plain_http_is_for_loopback_or_on_demand() {
    let message = with_base("http://service.example").unwrap_err().to_string();
    assert!(message.contains("allow_http=True"), "{message}");
    let options =
        ClientOptions { base_url: Some("http://service.example".into()), allow_http: true, ..ClientOptions::default() };
    assert_eq!(options.resolve(NO_VARIABLES).unwrap().base_url, "http://service.example");
    for loopback in
        ["http://127.0.0.2:1", "http://LOCALHOST:1", "http://localhost.:1", "http://a.localhost", "http://[::1]:1"]
    {
        assert!(with_base(loopback).is_ok(), "{loopback}");
    }
    assert!(with_base("http://localhost.example").is_err());
}

#[test]
fn an_address_that_cannot_serve_as_a_base_is_refused_without_its_password() {
    for bad in ["host", "ftp://host", "https://host?x=1", "https://host#x", "https://u:canary@host", "wss://host", ""] {
        let text = refusal(ClientOptions { base_url: Some(bad.into()), ..ClientOptions::default() });
        assert!(text.starts_with("base_url") && !text.contains("canary"), "{text}");
    }
}

#[test]
fn a_misspelt_environment_or_sport_says_what_is_allowed() {
    let text = refusal(ClientOptions { environment: Some("prod".into()), ..ClientOptions::default() });
    assert!(text.contains(r#""production" or "development""#), "{text}");
    let text = refusal(ClientOptions { sport: Some("soccer".into()), ..ClientOptions::default() });
    assert!(text.contains(r#""basketball" or "football""#), "{text}");
}

#[test]
fn a_control_character_in_a_credential_is_an_argument_error_that_does_not_show_it() {
    let canary = || Some("canary\n".to_string());
    for options in [
        ClientOptions { username: canary(), ..ClientOptions::default() },
        ClientOptions { secret: canary().map(Secret), ..ClientOptions::default() },
        ClientOptions { api_key: canary().map(Secret), ..ClientOptions::default() },
        ClientOptions { user_agent: canary(), ..ClientOptions::default() },
        ClientOptions { proxy: Some(Secret::new("http://canary\n:3128")), ..ClientOptions::default() },
    ] {
        match options.resolve(NO_VARIABLES) {
            Err(Error::Argument(text)) => assert!(!text.contains("canary"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_username_may_hold_any_character_that_a_header_may() {
    let options = ClientOptions { username: Some("a \"b\",c=\\é".into()), ..ClientOptions::default() };
    assert_eq!(options.resolve(NO_VARIABLES).unwrap().username.as_deref(), Some("a \"b\",c=\\é"));
    refusal(ClientOptions { username: Some(String::new()), ..ClientOptions::default() });
}

#[test]
fn limits_and_timeouts_are_positive_and_finite() {
    let second = Duration::from_secs(1);
    let zero = Timeouts { connect: second, read: Duration::ZERO, total: second };
    assert!(refusal(ClientOptions { timeouts: Some(zero), ..ClientOptions::default() }).contains("read"));
    let endless = Timeouts { connect: second, read: second, total: Duration::MAX };
    refusal(ClientOptions { timeouts: Some(endless), ..ClientOptions::default() });
    refusal(ClientOptions { max_concurrency: Some(0), ..ClientOptions::default() });
    assert!(
        refusal(ClientOptions { max_response_bytes: Some(0), ..ClientOptions::default() })
            .contains("max_response_bytes")
    );
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refusal(ClientOptions { requests_per_second: Some(rate), ..ClientOptions::default() });
    }
    refusal(ClientOptions { proxy: Some(Secret::new("socks5://host:1")), ..ClientOptions::default() });
}

#[test]
fn no_debug_text_holds_a_secret() {
    let options = ClientOptions {
        secret: Some(Secret::new("canary-1")),
        api_key: Some(Secret::new("canary-2")),
        proxy: Some(Secret::new("http://u:canary-3@host:1")),
        ..ClientOptions::default()
    };
    let text = format!("{options:?} {:?}", options.clone().resolve(NO_VARIABLES).unwrap());
    assert!(!text.contains("canary"), "{text}");
}
