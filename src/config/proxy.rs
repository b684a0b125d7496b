//! The proxy of requests: explicit, or from the environment when the client is built.

use super::{Secret, is_loopback};
use crate::error::{Error, Result};
use base64::{Engine, engine::general_purpose::STANDARD};
use hyper_util::client::proxy::matcher::Matcher;
use percent_encoding::percent_decode_str;
use url::Url;

/// The explicit proxy, or those of the environment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proxies {
    explicit: Option<Secret>,
    http: Option<NamedProxy>,
    https: Option<NamedProxy>,
    /// Hosts reached directly, as listed in `NO_PROXY`.
    except: String,
}

/// A proxy and the name of its source.
#[derive(Debug, Clone)]
struct NamedProxy {
    variable: &'static str,
    address: Secret,
}

/// How the requests to one base URL travel.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Direct,
    /// As set in the operating system; only some have such a setting.
    System,
    /// Through a proxy, but directly to the listed hosts.
    Through(Secret, String),
}

impl Proxies {
    pub(super) fn read(explicit: Option<Secret>, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        if let Some(proxy) = &explicit {
            // The parser would ignore a line break. The text is not shown: it may hold a password.
            super::no_control_characters(proxy.expose().to_owned(), "proxy")?;
            Url::parse(proxy.expose()).ok().filter(is_proxy).ok_or_else(|| {
                Error::configuration("proxy must be an address such as http://proxy.example:3128 (http or https)")
            })?;
        }
        // Lower case first, like curl and requests.
        let first = |names: &[&'static str]| {
            names.iter().find_map(|&name| {
                let address = variable(name).filter(|value| !value.is_empty())?;
                Some(NamedProxy { variable: name, address: Secret(address) })
            })
        };
        // Under CGI, HTTP_PROXY is the `Proxy` header of the client.
        let cgi = variable("REQUEST_METHOD").is_some();
        let http: &[_] = if cgi { &["http_proxy"] } else { &["http_proxy", "HTTP_PROXY"] };
        let all = || first(&["all_proxy", "ALL_PROXY"]);
        Ok(Proxies {
            explicit,
            http: first(http).or_else(all),
            https: first(&["https_proxy", "HTTPS_PROXY"]).or_else(all),
            except: first(&["no_proxy", "NO_PROXY"]).map_or(String::new(), |proxy| proxy.address.0),
        })
    }

    pub(crate) fn route(&self, base: &Url) -> Result<Route> {
        if let Some(proxy) = &self.explicit {
            return Ok(Route::Through(proxy.clone(), String::new()));
        }
        // A simulator or tunnel on this machine: no proxy could reach it.
        if base.host().is_some_and(|host| is_loopback(&host)) {
            return Ok(Route::Direct);
        }
        let proxy = if base.scheme() == "http" { &self.http } else { &self.https };
        let Some(NamedProxy { variable, address }) = proxy else {
            return Ok(if cfg!(any(windows, target_vendor = "apple")) { Route::System } else { Route::Direct });
        };
        match parse(address) {
            Some(url) => Ok(Route::Through(Secret::new(url), self.except.clone())),
            // Bypassing a requested proxy would be worse than failing.
            None => Err(Error::configuration(format!(
                "the proxy in {variable} cannot be used: it must be an address such as http://proxy.example:3128 (http or \
                 https). Give another with proxy=, or list the host in NO_PROXY"
            ))),
        }
    }

    /// The proxy of requests to a URL, without secrets, and its source; `None`: direct.
    pub(crate) fn describe(&self, base: &Url) -> Result<Option<(String, &'static str)>> {
        let Route::Through(address, except) = self.route(base)? else { return Ok(None) };
        // With the HTTP client's own matcher.
        let matcher = Matcher::builder().all(address.expose().to_owned()).no(except).build();
        let goes = base.as_str().parse().is_ok_and(|uri| matcher.intercept(&uri).is_some());
        let proxy = if base.scheme() == "http" { &self.http } else { &self.https };
        let from = if self.explicit.is_some() { "proxy=" } else { proxy.as_ref().map_or("", |proxy| proxy.variable) };
        let Some(mut url) = parse(&address).filter(|_| goes) else { return Ok(None) };
        let _ = url.set_username("").and_then(|()| url.set_password(None));
        Ok(Some((url.origin().ascii_serialization(), from)))
    }

    /// Passwords, plain and as sent, that no output may show.
    pub(super) fn secrets(&self) -> Vec<String> {
        let environment = [&self.http, &self.https].into_iter().flatten().map(|proxy| &proxy.address);
        let addresses = self.explicit.iter().chain(environment).filter_map(parse);
        let credentials = addresses.filter_map(|url| {
            let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            let (username, password) = (decode(url.username()), decode(url.password()?));
            Some([STANDARD.encode(format!("{username}:{password}")), password])
        });
        credentials.flatten().collect()
    }
}

/// Variables often lack the scheme.
fn parse(address: &Secret) -> Option<Url> {
    let text = address.expose();
    let address = if text.contains("://") { text.to_string() } else { format!("http://{text}") };
    Url::parse(&address).ok().filter(is_proxy)
}

fn is_proxy(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn proxies(explicit: Option<&str>, variables: &[(&str, &str)]) -> Proxies {
        let variable = |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string());
        Proxies::read(explicit.map(Secret::new), &variable).unwrap()
    }

    fn route(variables: &[(&str, &str)], base: &str) -> Result<Route> {
        proxies(None, variables).route(&Url::parse(base).unwrap())
    }

    fn through(proxy: &str, except: &str) -> Route {
        Route::Through(Secret::new(proxy), except.into())
    }

    #[test]
    fn the_schemes_variable_precedes_all_proxy_and_lower_case_precedes_upper() {
        let https = "https://service.example";
        for (variables, proxy) in [
            (&[("HTTPS_PROXY", "http://a:1")][..], "http://a:1/"),
            (&[("HTTPS_PROXY", "http://a:1"), ("https_proxy", "http://b:1")], "http://b:1/"),
            (&[("HTTPS_PROXY", "http://a:1"), ("https_proxy", "")], "http://a:1/"),
            (&[("HTTP_PROXY", "http://a:1"), ("ALL_PROXY", "http://b:1")], "http://b:1/"),
            (&[("all_proxy", "proxy.example:3128")], "http://proxy.example:3128/"),
            (&[("https_proxy", "u:p@ss@[::1]:3128")], "http://u:p%40ss@[::1]:3128/"),
        ] {
            assert_eq!(route(variables, https).unwrap(), through(proxy, ""), "{variables:?}");
        }
        let variables = [("http_proxy", "http://a:1"), ("NO_PROXY", "localhost,.example")];
        assert_eq!(route(&variables, "http://service.example").unwrap(), through("http://a:1/", "localhost,.example"));
    }

    #[test]
    fn a_proxy_that_is_given_beats_the_environment_and_its_exceptions() {
        let variables = [("HTTPS_PROXY", "http://a:1"), ("NO_PROXY", "*")];
        let proxies = proxies(Some("http://b:1"), &variables);
        for base in ["https://service.example", "http://127.0.0.1:9"] {
            assert_eq!(proxies.route(&Url::parse(base).unwrap()).unwrap(), through("http://b:1", ""));
        }
    }

    #[test]
    fn loopback_is_connected_directly_and_a_web_servers_header_is_no_proxy() {
        let variables = [("HTTP_PROXY", "socks5://a:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(route(&variables[..1], "http://localhost:9").unwrap(), Route::Direct);
        assert!(!matches!(route(&variables, "http://service.example"), Ok(Route::Through(..)) | Err(_)));
    }

    #[test]
    fn an_unusable_proxy_is_an_error_and_never_bypassed() {
        for address in ["socks5://u:canary@a:1", "http://", "http://u:canary@a:port", "ftp://a"] {
            let error = route(&[("ALL_PROXY", address)], "https://service.example").unwrap_err().to_string();
            assert!(error.contains("ALL_PROXY") && !error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn the_proxy_is_shown_without_its_password_and_with_its_variable() {
        let base = Url::parse("https://service.example").unwrap();
        let variables = [("https_proxy", "ann:canary@proxy.example:3128"), ("NO_PROXY", "other,.local")];
        let describe = |explicit, variables: &[_]| proxies(explicit, variables).describe(&base).unwrap();
        assert_eq!(describe(None, &variables), Some(("http://proxy.example:3128".into(), "https_proxy")));
        assert_eq!(describe(Some("http://u:canary@[::1]:1"), &variables), Some(("http://[::1]:1".into(), "proxy=")));
        assert_eq!(describe(None, &[variables[0], ("NO_PROXY", ".example")]), None);
        assert_eq!(describe(None, &[]), None);
    }

    #[test]
    fn passwords_are_secrets_in_each_of_their_forms() {
        let proxies =
            proxies(Some("http://ann:p%40ss@a:1"), &[("http_proxy", "b:canary@c"), ("https_proxy", "http://d")]);
        // printf 'ann:p@ss' | base64
        assert_eq!(proxies.secrets(), ["YW5uOnBAc3M=", "p@ss", "YjpjYW5hcnk=", "canary"]);
        assert!(!format!("{proxies:?}").contains("canary"));
    }
}
