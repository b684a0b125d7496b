//! Stream items as tables: every item, and the stats messages of the websocket.

use tables::{Resource, Table, Ty::*, col, key, member, root, table};

/// Any item of a stream as a row; fields that its kind lacks are absent.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LiveItem {
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

pub(crate) static LIVE_ITEMS: Resource = Resource::of_rows("live_items", &[&ITEMS]);

pub(crate) static ITEMS: Table = table("live_items", "").doc("One row for each update and notice of a live stream.").columns(&[
        member("kind", Category)
            .required()
            .doc("Kind: update, connected, disconnected, gap, final_gap, quiet, or recovering or recovered, followed by its updates"),
        member("at", TimestampMs).required().doc("Time of receipt of an update, or time of a notice"),
        member("event", Category).doc("Event type of an update; message by default"),
        member("id", Text).doc("Last event id of an update"),
        member("seq", Int64).doc("Sequence number of the message"),
        member("source", Category).doc("Source of the message"),
        member("text", Text).doc("Message text as received"),
        member("start", TimestampMs).doc("Start of a gap or of a quiet phase"),
        member("end", TimestampMs).doc("End of a gap; null if the stream ended in the gap"),
        member("reason", Text).doc("Reason for a disconnection or gap"),
        member("status", Int64).doc("HTTP status of a response other than 200"),
        member("attempt", Int64).doc("Number of consecutive failed attempts"),
        member("retry_at", TimestampMs).doc("Time of the next attempt"),
        member("dropped", Int64).doc("Number of missing messages in a gap; null if unknown"),
    ]);

pub(crate) static LIVE_LEADERS: Resource = Resource::of_rows("live_leaders", &[&LEADERS]);

pub(crate) static LEADERS: Table = table("live_leaders", "")
    .doc("One row for each player with the highest values of one stat code in a live box score, the highest first.")
    .columns(&[
        member("team_id", Int64).required().doc("Team id"),
        member("team_name", Text).doc("Team name"),
        member("player_id", Int64).required().doc("Player id"),
        member("player_name", Text).doc("First and last name of the player"),
        member("value", Float64).required().doc("Value of the stat code"),
    ]);

/// Messages of the websocket: `{"type":"stats","data":{..}}`, alone or in a list. Their `stats` hold current values,
/// not increments; `version` orders them.
pub(crate) static STAT_UPDATES: Resource =
    Resource::new("stat_updates", &[root(""), root("[]")], &[&UPDATES]).paths(&["type"]);

static UPDATES: Table = table("stat_updates", "data.stats{}")
    .doc("One row for each stat code of each stats message, with its current value.")
    .columns(&[
        col("occurred_at", TimestampMs, "data.occurred_at").doc("Time of the event, which a correction repeats"),
        col("team_id", Int64, "data.team_id").doc("Team id"),
        col("player_id", Int64, "data.player_id").doc("Player id; 0 marks a team total"),
        key("stat", "data.stats{}").required().doc("Stat code, such as FGA or PTS"),
        col("value", Float64, "@")
            .doc("Current value of the stat, not an increment; DIST in cm, other codes are counts"),
        col("classification", Category, "data.classification")
            .doc("Classification of the event, such as TWO_POINT_MAKE"),
        col("version", Count, "data.version").doc("Version of the player's stats; the higher version is newer"),
        member("seq", Int64).doc("Sequence number of the message"),
        member("source", Category).doc("Source of the message"),
    ]);
