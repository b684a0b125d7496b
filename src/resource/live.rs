//! Stream items as tables: every item, and the stats messages of the websocket.

use crate::table::{Resource, Table, Ty::*, col, key, root};

/// Any item of a stream as a row; fields that its kind lacks are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveItem {
    pub kind: String,
    pub at: i64,
    pub event: Option<String>,
    pub id: Option<String>,
    pub seq: Option<i64>,
    pub source: Option<String>,
    pub text: Option<String>,
    pub start: Option<i64>,
    pub end: Option<i64>,
    pub reason: Option<String>,
    pub status: Option<u16>,
    pub attempt: Option<u32>,
    pub retry_at: Option<i64>,
    pub dropped: Option<i64>,
}

pub static LIVE_ITEMS: Resource = Resource { name: "live_items", roots: &[root("[]")], tables: &[&ITEMS], known: &[] };

pub(crate) static ITEMS: Table = Table {
    name: "live_items",
    doc: "One row for each item of a live stream, notices among them.",
    rows: "",
    open: None,
    cols: &[
        col("kind", Category, "kind")
            .required()
            .doc("update, connected, disconnected, gap, recovered (its updates are the next rows) or quiet"),
        col("at", TimestampMs, "at").required().doc("when it was received, or happened"),
        col("event", Category, "event").doc("type of the event; message is the default"),
        col("id", Text, "id").doc("last event id in force"),
        col("seq", Int64, "seq").doc("number of a sequenced message"),
        col("source", Category, "source").doc("source of the message"),
        col("text", Text, "text").doc("the message as it came: JSON"),
        col("start", TimestampMs, "start").doc("start of a gap, or of the quiet"),
        col("end", TimestampMs, "end").doc("end of a gap; null where the stream ended in it"),
        col("reason", Text, "reason").doc("why the connection was lost"),
        col("status", Int64, "status").doc("status of an answer that was not 200"),
        col("attempt", Int64, "attempt").doc("attempts that failed in a row"),
        col("retry_at", TimestampMs, "retry_at").doc("when the next attempt is made"),
        col("dropped", Int64, "dropped").doc("messages that are missing in a gap; null where that is unknown"),
    ],
};

/// Messages of the websocket: `{"type":"stats","data":{..}}`, alone or in a list. Their `stats` hold current values,
/// not increments; `version` orders them.
pub static STAT_UPDATES: Resource =
    Resource { name: "stat_updates", roots: &[root(""), root("[]")], tables: &[&UPDATES], known: &["type"] };

static UPDATES: Table = Table {
    name: "stat_updates",
    doc: "One row for each stat code of each stats message: its new current value.",
    rows: "data.stats{}",
    open: None,
    cols: &[
        col("occurred_at", TimestampMs, "data.occurred_at").doc("when it happened; a correction repeats it"),
        col("team_id", Int64, "data.team_id").doc("team"),
        col("player_id", Int64, "data.player_id").doc("player; 0 is the team's own total"),
        key("stat", "data.stats{}").required().doc("stat code"),
        col("value", Float64, "@").doc("new current value, not an increment; DIST in cm, the others counts"),
        col("classification", Category, "data.classification").doc("what happened, such as TWO_POINT_MAKE"),
        col("version", Count, "data.version").doc("orders the states of a player's line; higher is newer"),
        col("seq", Int64, "seq").doc("number of a sequenced message"),
        col("source", Category, "source").doc("source of the message"),
    ],
};
