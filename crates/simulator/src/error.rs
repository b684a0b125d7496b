//! Why the simulator refuses to do something.

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The system refuses a socket or a thread.
    #[error("{0}")]
    Configuration(String),
    /// An invalid argument.
    #[error("{0}")]
    Argument(String),
}
