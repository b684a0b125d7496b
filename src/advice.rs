//! What a user can do about an error: a closed set with texts.

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

    /// A sentence without its full stop, used unless there are more details.
    pub fn text(self) -> &'static str {
        use Advice::*;
        match self {
            SeeMessage => "Do as the message says; docs/errors.md lists each error and what to do",
            CheckAddress => "Check the address, the network and the proxy",
            CheckBaseAddress => "Check the base address",
            CheckPort => "Check the port and the proxy: what answered there does not speak TLS",
            CheckFirewall => "Check the address and the port; a firewall or a proxy may stand between",
            CheckProxy => {
                "Check the proxy (proxy=, HTTPS_PROXY), that it speaks HTTP and lets this host through; NO_PROXY lists hosts to \
                 ask without it"
            }
            CheckProxyOrFirewall => "The body is not the service's: a proxy or a firewall may have answered",
            GiveProxyCredentials => {
                "Give the proxy's username and password in its address, http://user:password@host:port, with reserved \
                 characters percent-encoded"
            }
            AvoidProxy => {
                "An IPv6 address cannot be asked over https through a proxy: give the host's name, or list the address in \
                 NO_PROXY"
            }
            CheckClockOrCertificate => {
                "Check this machine's clock; where it is right, the server's operator must renew the certificate"
            }
            CheckHost => "Check the address: the certificate is for another host",
            TrustAuthority => {
                "If a proxy of your network issues the certificate, give its authority with ca_bundle=; else the server may \
                 leave out an intermediate certificate, which ca_bundle= may hold too"
            }
            SetClock => "The service refused the request's date: check this machine's clock",
            CheckCredentials => "Check the username and the secret (SIDELINE_USERNAME, SIDELINE_SECRET)",
            CheckKey => "Check the key (SIDELINE_API_KEY)",
            CheckToken => "Ask for a new token: one is good for one game and a short time",
            AskForPrivilege => "These credentials lack the privilege; the service grants it",
            CheckId => "Check the id, and that it belongs to this environment and sport",
            CorrectRequest => "Correct the request: .rules lists what it breaks",
            SlowDown => "Lower requests_per_second or max_concurrency, or try again later",
            TryAgain => "Try again",
            TryLater => "The service was busy; try again later",
            ReportToSupport => "The service failed; try again later, and name the request id to its support",
            RaiseTimeout => "Try again, or raise timeout=",
            AskForLess => "Ask for less at once, such as a shorter range",
            RaiseMaxResponseBytes => "Ask for less at once, such as a shorter range, or raise max_response_bytes",
            LookAtBody => "Look at the response: the exception's .payload has it where one arrived",
        }
    }
}
