//! Settings for display, with their sources. Holds no secrets.

use super::{Config, Secret};

/// The source of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    Explicit,
    Variable(&'static str),
    /// The documented default, if any.
    Default,
}

impl Config {
    /// The settings that a variable can set, in display order: name, value and source. Of a secret the value is its length.
    pub fn settings(&self) -> Vec<(&'static str, Option<String>, SettingSource)> {
        let mask_secret = |secret: &Option<Secret>| secret.as_ref().map(|secret| mask(secret.expose()));
        let source = |name| self.sources.iter().find(|(key, _)| *key == name).map(|(_, source)| *source);
        [
            ("environment", Some(self.environment.name().into())),
            ("sport", Some(self.sport.name().into())),
            ("base_url", Some(self.base_url.clone())),
            ("websocket_url", Some(self.websocket_url.clone())),
            ("broadcast_base_url", Some(self.broadcast_base_url.clone())),
            ("username", self.username.clone()),
            ("secret", mask_secret(&self.secret)),
            ("api_key", mask_secret(&self.api_key)),
            ("ca_bundle", self.ca_bundle.clone()),
        ]
        .map(|(name, value)| (name, value, source(name).unwrap_or(SettingSource::Default)))
        .into()
    }
}

/// Describes a secret by its length and whether there are blanks around it, which copying may add.
fn mask(secret: &str) -> String {
    let length = secret.chars().count();
    let blanks = if secret.trim() == secret { "" } else { ", with blanks around it" };
    format!("set ({length} character{}{blanks})", if length == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::config::ClientOptions;

    #[test]
    fn each_setting_tells_its_source_and_no_secret() {
        let variable = |name: &str| match name {
            "SIDELINE_SECRET" => Some("canary-1 ".to_string()),
            "SIDELINE_SPORT" => Some("football".to_string()),
            _ => None,
        };
        let options = ClientOptions {
            username: Some("ann".into()),
            api_key: Some(Secret::new("canary-2")),
            base_url: Some("https://host/v1".into()),
            ..ClientOptions::default()
        };
        let settings = options.resolve(&variable).unwrap().settings();
        let setting = |name: &str| {
            let (_, value, source) = settings.iter().find(|(key, ..)| *key == name).unwrap();
            (value.as_deref(), *source)
        };
        assert_eq!(setting("username"), (Some("ann"), SettingSource::Explicit));
        let blanks = "set (9 characters, with blanks around it)";
        assert_eq!(setting("secret"), (Some(blanks), SettingSource::Variable("SIDELINE_SECRET")));
        assert_eq!(setting("api_key"), (Some("set (8 characters)"), SettingSource::Explicit));
        assert_eq!(setting("sport"), (Some("football"), SettingSource::Variable("SIDELINE_SPORT")));
        assert_eq!(setting("environment"), (Some("production"), SettingSource::Default));
        assert_eq!(setting("base_url"), (Some("https://host"), SettingSource::Explicit));
        assert_eq!(setting("websocket_url"), (Some("wss://api-gridtracker.ddsports.com"), SettingSource::Default));
        assert_eq!(setting("ca_bundle"), (None, SettingSource::Default));
        assert!(!format!("{settings:?}").contains("canary"));
    }
}
