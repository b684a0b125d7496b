//! What a user can do about an error: a closed set, with a sentence each.

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Advice {
    /// Included in the message.
    #[default]
    SeeMessage,
    CheckAddress,
    CheckBaseAddress,
    CheckPort,
    CheckFirewall,
    CheckProxy,
    CheckProxyOrFirewall,
    GiveProxyCredentials,
    AvoidProxy,
    CheckClockOrCertificate,
    CheckHost,
    TrustAuthority,
    SetClock,
    CheckCredentials,
    CheckKey,
    CheckToken,
    AskForPrivilege,
    CheckId,
    CorrectRequest,
    SlowDown,
    TryAgain,
    TryLater,
    ReportToSupport,
    RaiseTimeout,
    AskForLess,
    RaiseMaxResponseBytes,
    LookAtBody,
}

impl Advice {
    /// A stable name for programs.
    pub fn name(self) -> &'static str {
        use Advice::*;
        match self {
            SeeMessage => "see_message",
            CheckAddress => "check_address",
            CheckBaseAddress => "check_base_address",
            CheckPort => "check_port",
            CheckFirewall => "check_firewall",
            CheckProxy => "check_proxy",
            CheckProxyOrFirewall => "check_proxy_or_firewall",
            GiveProxyCredentials => "give_proxy_credentials",
            AvoidProxy => "avoid_proxy",
            CheckClockOrCertificate => "check_clock_or_certificate",
            CheckHost => "check_host",
            TrustAuthority => "trust_authority",
            SetClock => "set_clock",
            CheckCredentials => "check_credentials",
            CheckKey => "check_key",
            CheckToken => "check_token",
            AskForPrivilege => "ask_for_privilege",
            CheckId => "check_id",
            CorrectRequest => "correct_request",
            SlowDown => "slow_down",
            TryAgain => "try_again",
            TryLater => "try_later",
            ReportToSupport => "report_to_support",
            RaiseTimeout => "raise_timeout",
            AskForLess => "ask_for_less",
            RaiseMaxResponseBytes => "raise_max_response_bytes",
            LookAtBody => "look_at_body",
        }
    }

    /// A sentence without its full stop, for errors without a more specific hint.
    pub fn text(self) -> &'static str {
        use Advice::*;
        match self {
            SeeMessage => "Follow the message; the page Errors of the documentation lists every error and what to do",
            CheckAddress => "Check the address, the network and the proxy",
            CheckBaseAddress => "Check the base address and the proxy",
            CheckPort => "Check the port and the proxy: the other side does not speak TLS",
            CheckFirewall => "Check the address and the port; a firewall or a proxy may be in the way",
            CheckProxy => {
                "Check that the proxy (proxy=, HTTPS_PROXY) speaks HTTP and allows this host; to bypass it for a host, list \
                 the host in NO_PROXY"
            }
            CheckProxyOrFirewall => {
                "The response is not from the service: check for a proxy or a firewall that sent it"
            }
            GiveProxyCredentials => {
                "Put the proxy's username and password into its address, http://user:password@host:port, with reserved \
                 characters percent-encoded"
            }
            AvoidProxy => {
                "An IPv6 address cannot be reached over https through a proxy: use a host name, or list the address in \
                 NO_PROXY"
            }
            CheckClockOrCertificate => {
                "Check this machine's clock; if it is right, the server's operator must renew the certificate"
            }
            CheckHost => "Check the address: the certificate is for another host",
            TrustAuthority => {
                "If a proxy of your network issues the certificate, pass its authority with ca_bundle=; otherwise the server \
                 may omit an intermediate certificate, which you can add to ca_bundle= too"
            }
            SetClock => "The service rejected the request's date: check this machine's clock",
            CheckCredentials => "Check the username and the secret (SIDELINE_USERNAME, SIDELINE_SECRET)",
            CheckKey => "Check the key (SIDELINE_API_KEY)",
            CheckToken => "Request a new token: a token is valid for one game and for a short time",
            AskForPrivilege => "These credentials lack the privilege: ask the service's operator for it",
            CheckId => "Check the id, and that it belongs to this environment and sport",
            CorrectRequest => "Correct the request: .rules lists the rules that it breaks",
            SlowDown => "Lower requests_per_second or max_concurrency, or try again later",
            TryAgain => "Try again",
            TryLater => "The service was busy; try again later",
            ReportToSupport => {
                "The service failed; try again later, and if it persists, send the request id to its support"
            }
            RaiseTimeout => "Try again, or raise timeout=",
            AskForLess => "Request less at once, such as a shorter range",
            RaiseMaxResponseBytes => "Request less at once, such as a shorter range, or raise max_response_bytes",
            LookAtBody => {
                "Look at the body, in the exception's .payload (of a live update: its .text); if the service sent it so, report \
                 it to its support"
            }
        }
    }
}
