//! Live data: the Broadcast API's event stream and the live websocket (specification 6; facts 3.3, 4, 5).

pub mod sse;
