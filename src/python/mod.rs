//! What Python sees. This module knows Python and decides nothing.
