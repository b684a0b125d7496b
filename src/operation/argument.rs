//! What an operation takes, as data, from which argument conversion, pickling, both Python clients and pages follow.

/// The values that an argument accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An id of the service, which needs no encoding in a path.
    Id,
    /// Ids of another system: one text or several.
    ForeignIds,
    /// In the query, as epoch milliseconds.
    Time,
    /// In the query as `true`, or absent.
    Flag,
    Text,
    /// A whole number from 1.
    Count,
    /// One of these words, in any case.
    Choice(&'static [&'static str]),
    /// One or several of these words; all of them by default.
    Choices(&'static [&'static str]),
    /// The parameters of a query, by name.
    Parameters,
}

/// One argument of an operation. Built by [`arg`] and the methods below.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    pub name: &'static str,
    pub kind: Kind,
    /// One sentence, for the docstrings.
    pub doc: &'static str,
    pub is_required: bool,
    pub is_keyword_only: bool,
    /// Several values make a batch. Only of the first argument.
    pub takes_many: bool,
    /// Fills a column of the tables and is not sent.
    pub is_context_only: bool,
    /// May hold a credential, which no traceback may show.
    pub is_confidential: bool,
    /// Its parameter in the query, for those that are sent unchanged.
    pub parameter: Option<&'static str>,
}

/// A required argument. Optional ones are keyword-only, unless they are `positional`.
pub(crate) const fn arg(name: &'static str, kind: Kind, doc: &'static str) -> Argument {
    Argument {
        name,
        kind,
        doc,
        is_required: true,
        is_keyword_only: false,
        takes_many: false,
        is_context_only: false,
        is_confidential: false,
        parameter: None,
    }
}

impl Argument {
    pub const fn optional(self) -> Self {
        Argument { is_required: false, is_keyword_only: true, ..self }
    }

    pub(crate) const fn keyword_only(self) -> Self {
        Argument { is_keyword_only: true, ..self }
    }

    pub(crate) const fn positional(self) -> Self {
        Argument { is_keyword_only: false, ..self }
    }

    pub const fn many(self) -> Self {
        Argument { takes_many: true, ..self }
    }

    pub(crate) const fn context_only(self) -> Self {
        Argument { is_context_only: true, ..self }
    }

    pub(crate) const fn confidential(self) -> Self {
        Argument { is_confidential: true, ..self }
    }

    pub const fn parameter(self, name: &'static str) -> Self {
        Argument { parameter: Some(name), ..self }
    }

    pub const fn doc(self, doc: &'static str) -> Self {
        Argument { doc, ..self }
    }
}
