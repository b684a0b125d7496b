//! What goes wrong on purpose.

/// One fault. A request that it matches is served with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// A glob over the path: `*` matches any run of characters.
    pub path: String,
    pub status: Option<u16>,
    pub body: Option<Vec<u8>>,
    pub headers: Vec<(String, String)>,
    /// Seconds before the answer begins.
    pub delay: f64,
    /// The connection ends after this many bytes of the answer's body: by FIN, or by RST with `reset`. With neither status
    /// nor body it is the true answer that is cut.
    pub cut_at: Option<usize>,
    /// With `cut_at` absent: the connection is reset before a byte of the answer.
    pub reset: bool,
    /// Seconds added to the server's clock: to the `Date` header and to the skew check.
    pub clock_offset: f64,
    /// How often it strikes; `None`: always.
    pub times: Option<u32>,
    /// How likely it strikes a request that it matches.
    pub probability: f64,
}

/// The faults of a simulator, shared with it.
#[derive(Debug, Clone, Default)]
pub struct Faults {}

impl Faults {
    pub fn add(&self, _fault: Fault) {
        unimplemented!()
    }
    pub fn clear(&self) {
        unimplemented!()
    }
}
