//! What a user can do about an error: a closed set, with a sentence each.

/// Each kind once: its stable name for programs, and a sentence without its full stop, for errors without a more specific hint.
macro_rules! advice {
    ($($kind:ident, $name:literal: $text:literal;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Advice {
            $($kind,)+
        }

        impl Advice {
            pub fn name(self) -> &'static str {
                match self {
                    $(Advice::$kind => $name,)+
                }
            }

            pub fn text(self) -> &'static str {
                match self {
                    $(Advice::$kind => $text,)+
                }
            }
        }
    };
}

advice! {
    // Included in the message.
    SeeMessage, "see_message":
        "Follow the message; the page Errors of the documentation lists every error and what to do";
    CheckAddress, "check_address": "Check the address, the network and the proxy";
    CheckBaseAddress, "check_base_address": "Check the base address and the proxy";
    CheckPort, "check_port": "Check the port and the proxy: the other side does not speak TLS";
    CheckFirewall, "check_firewall": "Check the address and the port; a firewall or a proxy may be in the way";
    CheckProxy, "check_proxy":
        "Check that the proxy (proxy=, HTTPS_PROXY) speaks HTTP and allows this host; to bypass it for a host, list \
        the host in NO_PROXY";
    CheckProxyOrFirewall, "check_proxy_or_firewall":
        "The response is not from the service: check for a proxy or a firewall that sent it";
    GiveProxyCredentials, "give_proxy_credentials":
        "Put the proxy's username and password into its address, http://user:password@host:port, with reserved \
        characters percent-encoded";
    AvoidProxy, "avoid_proxy":
        "An IPv6 address cannot be reached over https through a proxy: use a host name, or list the address in \
        NO_PROXY";
    CheckClockOrCertificate, "check_clock_or_certificate":
        "Check this machine's clock; if it is right, the server's operator must renew the certificate";
    CheckHost, "check_host": "Check the address: the certificate is for another host";
    TrustAuthority, "trust_authority":
        "If a proxy of your network issues the certificate, pass its authority with ca_bundle=; otherwise the server \
        may omit an intermediate certificate, which you can add to ca_bundle= too";
    SetClock, "set_clock": "The service rejected the request's date: check this machine's clock";
    CheckCredentials, "check_credentials": "Check the username and the secret (SIDELINE_USERNAME, SIDELINE_SECRET)";
    CheckKey, "check_key": "Check the key (SIDELINE_API_KEY)";
    CheckToken, "check_token": "Request a new token: a token is valid for one game and for a short time";
    AskForPrivilege, "ask_for_privilege": "These credentials lack the privilege: ask the service's operator for it";
    CheckId, "check_id": "Check the id, and that it belongs to this environment and sport";
    CorrectRequest, "correct_request": "Correct the request: .rules lists the rules that it breaks";
    SlowDown, "slow_down": "Lower requests_per_second or max_concurrency, or try again later";
    TryAgain, "try_again": "Try again";
    TryLater, "try_later": "The service was busy; try again later";
    ReportToSupport, "report_to_support":
        "The service failed; try again later, and if it persists, send the request id to its support";
    RaiseTimeout, "raise_timeout": "Try again, or raise timeout=";
    AskForLess, "ask_for_less": "Request less at once, such as a shorter range";
    RaiseMaxResponseBytes, "raise_max_response_bytes":
        "Request less at once, such as a shorter range, or raise max_response_bytes";
    LookAtBody, "look_at_body":
        "Look at the body, in the exception's .payload (of a live update: its .text); if the service sent it so, report \
        it to its support";
}
