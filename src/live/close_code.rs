//! The websocket's close codes: their meaning in words. Pure.

/// Describes a close for a notice.
pub(super) fn describe(code: Option<u16>, text: &str) -> String {
    let description = match code {
        None | Some(1005) => "the service closed the connection without a reason".to_string(),
        Some(code) => {
            let meaning = match code {
                1000 => "the service ended the stream",
                1001 => "the service is going away",
                1002 => "the service saw a mistake in the protocol",
                1003 | 1007 => "the service could not read what it was sent",
                1008 => "the service refused by its policy",
                1009 => "the service was sent too much",
                1011 => "the service failed",
                1012 => "the service restarts",
                1013 => "the service is overloaded",
                4401 => "the service did not accept the token",
                4403 => "the service denied access",
                _ => "the service closed the connection",
            };
            format!("{meaning} (close code {code})")
        }
    };
    let words: Vec<_> =
        text.split(|c: char| c.is_control() || c.is_whitespace()).filter(|word| !word.is_empty()).collect();
    // The standard allows 123 bytes.
    let text: String = words.join(" ").chars().take(200).collect();
    if text.is_empty() { description } else { format!("{description}: {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_is_described_by_its_code_and_the_services_text_on_one_line() {
        assert_eq!(describe(Some(1001), ""), "the service is going away (close code 1001)");
        assert_eq!(
            describe(Some(4999), "a\r\nb\u{1b}[31m"),
            "the service closed the connection (close code 4999): a b [31m"
        );
        assert_eq!(describe(None, ""), "the service closed the connection without a reason");
        assert!(describe(Some(1000), &"x".repeat(900)).len() < 300);
        let codes = [1000, 1001, 1002, 1003, 1008, 1009, 1011, 1012, 1013, 4401, 4403, 4000];
        let descriptions: std::collections::BTreeSet<String> =
            codes.iter().map(|code| describe(Some(*code), "")).collect();
        assert_eq!(descriptions.len(), codes.len());
    }
}
