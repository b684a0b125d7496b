// A test that fails is meant to panic.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::collection::vec;
use proptest::prelude::*;

impl PartialEq<str> for Scrubbed {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Scrubbed {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}

const SECRET: &str = "caNary/1+ é%&\"";

fn scrubber() -> Scrubber {
    Scrubber::new(&[SECRET.to_string(), "ab".into(), String::new()])
}

fn percent(text: &str, set: &'static AsciiSet) -> String {
    utf8_percent_encode(text, set).to_string()
}

#[test]
fn a_secret_is_hidden_however_it_is_spelled() {
    const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    const PATH: &AsciiSet = &COMPONENT.remove(b'/');
    let percent_encoded = percent(SECRET, COMPONENT);
    let spellings = [
        SECRET.to_string(),
        SECRET.to_lowercase(),
        percent_encoded.clone(),
        percent(SECRET, PATH),
        percent_encoded.replace("%20", "+"),
        percent_encoded.replace("%2F", "%2f").replace("%2B", "%2b"),
        percent(&percent_encoded, NON_ALPHANUMERIC),
        percent(&percent(&percent_encoded, NON_ALPHANUMERIC), NON_ALPHANUMERIC),
        SECRET.bytes().map(|byte| format!("%{byte:02X}")).collect(),
        SECRET.escape_debug().to_string(),
        SECRET.replace('"', "\\\"").replace('/', "\\/"),
        SECRET.replace('&', "\\u0026"),
        SECRET.replace('&', "&amp;").replace('"', "&#34;").replace('/', "&#x2F;"),
        SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        SECRET.bytes().map(|byte| format!("{byte:02X}")).collect(),
        STANDARD.encode(SECRET).trim_end_matches('=').into(),
        URL_SAFE.encode(SECRET).trim_end_matches('=').into(),
        percent(STANDARD.encode(SECRET).trim_end_matches('='), NON_ALPHANUMERIC),
    ];
    for spelling in spellings {
        assert_eq!(scrubber().url(format!("a {spelling} b")), "a *** b", "{spelling}");
    }
    for user in ["a", "an", "ann"] {
        let basic = STANDARD.encode(format!("{user}:{SECRET}"));
        let text = scrubber().message(format!("Basic {basic}"));
        assert!(text.contains("***") && text.len() < 24, "{text}");
    }
    assert_eq!(scrubber().message("about"), "about", "two letters are no secret");
    assert!(!format!("{:?}", scrubber()).contains("aNary"));
}

#[test]
fn a_credential_parameter_is_hidden_at_any_depth_whoever_it_belongs_to() {
    for (address, expected) in [
        ("https://h/p?schedule_id=5&apikey=other", "https://h/p?schedule_id=5&apikey=***"),
        ("https://h/p?APIKEY=other&x=1", "https://h/p?APIKEY=***&x=1"),
        ("https://h/p?%61pikey=other", "https://h/p?%61pikey=***"),
        ("wss://h/live/v2/games?token=a%26b&x=1", "wss://h/live/v2/games?token=***&x=1"),
        (
            "https://h/login?next=%2Fp%3Fx%3D1%26apikey%3Dother%26y%3D2",
            "https://h/login?next=%2Fp%3Fx%3D1%26apikey%3D***%26y%3D2",
        ),
        ("/login?next=%252Fp%253Fapikey%253Dother&z", "/login?next=%252Fp%253Fapikey%253D***&z"),
        ("/a#access_token=other", "/a#access_token=***"),
        ("give token= or game_id=", "give token= or game_id="),
        ("https://ann:other@h:1/a@b?x=c@d", "https://h:1/a@b?x=c@d"),
        ("to https://ann:o%2Fth%20er@h/ or //x", "to https://h/ or //x"),
        ("https://ann:'oth'er@h:1/", "https://h:1/"),
        ("next=https%3A%2F%2Fann%3Aother%40h%2F", "next=https%3A%2F%2Fh%2F"),
        ("/v1/data/teams?id=a@b", "/v1/data/teams?id=a@b"),
    ] {
        assert_eq!(scrubber().url(address), expected);
    }
}

#[test]
fn words_of_this_program_stay_as_they_are() {
    let text = "give http://user:password@host:port, or token=abc";
    assert_eq!(scrubber().text(text), text);
    assert_eq!(scrubber().text(format!("{text} {SECRET}")), format!("{text} ***").as_str());
}

#[test]
fn control_characters_are_escaped_and_a_message_is_one_line() {
    let text = "a\u{1b}[31m\n b\u{202e}c\u{200b}\u{9b}";
    assert_eq!(scrubber().id(text), "a\\x1b[31m\\n b\\u{202e}c\\u{200b}\\x9b");
    assert_eq!(scrubber().message(" a \r\n\t b\u{7} "), "a b\\x07");
    assert_eq!(Scrubbed::local("a\u{1b}"), "a\\x1b");
    assert_eq!(printable("a\u{1b}"), "a\\x1b");
}

#[test]
fn every_text_is_short_and_costs_what_is_shown() {
    let long = "é".repeat(10 << 20);
    for (text, limit) in [
        (scrubber().message(&long), MAX_MESSAGE),
        (scrubber().url(&long), MAX_URL),
        (scrubber().id(&long), MAX_ID),
        (scrubber().header(&long), MAX_HEADER),
        (Scrubbed::local(&long), MAX_TEXT),
        (Scrubbed::local(printable(&long)), MAX_TEXT),
    ] {
        assert!(text.len() <= limit && text.len() > limit - 8 && text.ends_with('…'), "{}", text.len());
    }
    let bells = "\u{7}".repeat(10_000);
    assert!(printable(&bells).len() <= MAX_TEXT);
}

#[test]
fn a_secret_is_not_shown_in_part_where_a_text_ends() {
    let secrets = format!("{SECRET} ").repeat(100);
    assert!(!scrubber().message(&secrets).contains("ary"));
    for end in 1..=SECRET.len() {
        let mut body = vec![b' '; 8];
        body.resize(16 * 1024 + 8 - end, b'\n');
        body[8] = b'x';
        body.extend(SECRET.as_bytes());
        body.extend([b'y'; 10]);
        assert_eq!(scrubber().start(&body, 200), "x ***", "{end}");
    }
}

#[test]
fn a_secret_that_was_learned_is_hidden_by_clones_too_and_the_last_ones_are_kept() {
    let first = Scrubber::new(&["first-secret".to_owned()]);
    let clone = first.clone();
    let with = first.with(&["third-secret".to_owned()]);
    clone.learn("token-of-a-game");
    clone.learn("abc");
    for scrubber in [&first, &clone, &with] {
        assert_eq!(&*scrubber.message("first-secret, token%2dof-a-game, abc"), "***, ***, abc");
    }
    assert_eq!(&*clone.message("third-secret"), "third-secret");
    for number in 0..16 {
        clone.learn(&format!("token-{number:02}"));
        clone.learn(&format!("token-{number:02}"));
    }
    assert_eq!(&*first.message("token-of-a-game token-00 token-15"), "token-of-a-game *** ***");
    assert!(!format!("{first:?}").contains("token"));
}

/// Fragments of secrets and addresses, in the spellings that they may have, and of other text.
fn fragment() -> impl Strategy<Value = String> {
    let base64 = STANDARD.encode(SECRET);
    let targets = [
        SECRET,
        "c",
        "caNary",
        "/1+",
        "http",
        ":",
        "//",
        "user:pass@",
        "api",
        "apikey",
        "%61pikey",
        "=",
        "token",
        "TOKEN=x",
    ];
    let other = [
        "%2541",
        "%",
        "\\u0063",
        "\\",
        "&amp;",
        "&",
        "#",
        "?",
        " ",
        "  ",
        "\n",
        "é",
        "plain-text",
        "Z",
        "9",
        "\u{202e}",
    ];
    let texts: Vec<String> =
        targets.into_iter().chain(other).map(String::from).chain([base64[..7].into(), base64]).collect();
    proptest::sample::select(texts)
}

proptest! {
    #[test]
    fn plain_bytes_are_copied_as_if_each_was_looked_at(fragments in vec(fragment(), 0..24), limit in 4..80usize, folds: bool, is_cut: bool, form in 0..3usize) {
        let text = fragments.concat();
        let form = TextForm { limit, folds, is_cut, ends: [None, Some(ENDS_IN_URL), Some(ENDS_IN_TEXT)][form] };
        let scrubber = scrubber();
        scrubber.learn("Zeta-9");
        prop_assert_eq!(scrubber.scrub(&text, form), scrub(&text, form, &scrubber.all_needles(), |_| false));
    }

    #[test]
    fn a_first_byte_rules_out_only_what_cannot_begin_with_it(fragments in vec(fragment(), 0..24), is_cut: bool) {
        let text = fragments.concat();
        let scrubber = scrubber();
        scrubber.learn("Zeta-9");
        let secrets = scrubber.all_needles();
        for at in 0..text.len() {
            let rest = &text.as_bytes()[at..];
            let forms = || secrets.iter().flat_map(|needles| &needles.forms);
            let expected = forms().find_map(|(_, needle)| matches(needle, rest, is_cut));
            prop_assert_eq!(secret_at(&secrets, rest, is_cut), expected);
            prop_assert_eq!(unit(rest), spelling::spellings(rest).next());
        }
    }
}
