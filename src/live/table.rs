//! Converts a stream's items to Arrow tables, whose columns are declared in `src/resource/live.rs`.

use super::item::{Item, Notice, Update};
use crate::error::{Error, Result};
use crate::resource::live::{ITEMS, LiveItem, STAT_UPDATES};
use crate::scrub::Scrubber;
use arrow_array::RecordBatch;
use reader::Body;
use serde::Deserialize;
use std::time::{SystemTime, UNIX_EPOCH};
use tables::Context;
use tables::from_rows::{categories, from_columns, integers, texts, times};

/// Builds the table `live_items`: one row per item.
pub fn items(items: &[Item]) -> Result<RecordBatch> {
    let rows: Vec<LiveItem> = items.iter().flat_map(rows).collect();
    fn text(value: &Option<String>) -> Option<&str> {
        value.as_deref()
    }
    let columns = vec![
        categories(rows.iter().map(|row| Some(row.kind.as_str()))),
        times(rows.iter().map(|row| Some(row.at))),
        categories(rows.iter().map(|row| text(&row.event))),
        texts(rows.iter().map(|row| text(&row.id))),
        integers(rows.iter().map(|row| row.seq)),
        categories(rows.iter().map(|row| text(&row.source))),
        texts(rows.iter().map(|row| text(&row.text))),
        times(rows.iter().map(|row| row.start)),
        times(rows.iter().map(|row| row.end)),
        texts(rows.iter().map(|row| text(&row.reason))),
        integers(rows.iter().map(|row| row.status.map(i64::from))),
        integers(rows.iter().map(|row| row.attempt.map(i64::from))),
        times(rows.iter().map(|row| row.retry_at)),
        integers(rows.iter().map(|row| row.dropped)),
    ];
    from_columns(&ITEMS, columns).map_err(|error| Error::Internal(error.to_string()))
}

/// Builds the table `stat_updates`: one row per stat code of each stats message; other items have no rows.
pub fn stat_updates(items: &[Item]) -> Result<RecordBatch> {
    let mut json = vec![b'['];
    for update in items.iter().filter_map(stats_message) {
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(update.text.as_bytes());
    }
    json.push(b']');
    tables::decode(&STAT_UPDATES, "stat_updates", None, &Body::from(json.as_slice()), &Context::default())
        .map_err(|error| Error::decode(error, &Scrubber::default()))
}

/// Returns the update if it is a stats message: `{"type":"stats","data":{"stats":{..}}}`.
fn stats_message(item: &Item) -> Option<&Update> {
    #[derive(Deserialize)]
    struct TypedMessage<'a> {
        #[serde(rename = "type", borrow)]
        kind: std::borrow::Cow<'a, str>,
        #[serde(rename = "data")]
        _data: serde::de::IgnoredAny,
    }
    let Item::Update(update) = item else { return None };
    // A cheap test first, which rejects most messages of other sources.
    if !update.text.contains("\"stats\"") {
        return None;
    }
    let message: TypedMessage = serde_json::from_str(&update.text).ok()?;
    (message.kind == "stats").then_some(update)
}

/// A `Recovered` notice has a row for itself and one for each of its updates.
fn rows(item: &Item) -> Vec<LiveItem> {
    match item {
        Item::Notice(Notice::Recovered { gap, updates }) => {
            let notice = LiveItem {
                kind: "recovered".into(),
                at: updates.last().map_or(0, |last| ms(last.received_at)),
                ..notice_row(gap)
            };
            std::iter::once(notice).chain(updates.iter().map(update_row)).collect()
        }
        Item::Notice(notice) => vec![notice_row(notice)],
        Item::Update(update) => vec![update_row(update)],
    }
}

fn update_row(update: &Update) -> LiveItem {
    let owned = |text: &std::sync::Arc<str>| text.to_string();
    LiveItem {
        kind: "update".into(),
        at: ms(update.received_at),
        event: Some(update.event.as_ref().map_or_else(|| "message".into(), owned)),
        id: Some(owned(&update.id)).filter(|id| !id.is_empty()),
        seq: update.seq,
        source: update.source.as_ref().map(owned),
        text: Some(update.text.clone()),
        ..LiveItem::default()
    }
}

fn notice_row(notice: &Notice) -> LiveItem {
    let at = ms(notice.at());
    match notice {
        Notice::Connected { .. } => LiveItem { kind: "connected".into(), at, ..LiveItem::default() },
        Notice::Disconnected { reason, status, attempt, retry_at, .. } => LiveItem {
            kind: "disconnected".into(),
            at,
            reason: Some(reason.clone()),
            status: *status,
            attempt: Some(*attempt),
            retry_at: retry_at.map(ms),
            ..LiveItem::default()
        },
        Notice::Gap { start, end, reason, dropped, .. } => LiveItem {
            kind: "gap".into(),
            at,
            start: Some(ms(*start)),
            end: end.map(ms),
            reason: Some(reason.clone()),
            dropped: dropped.and_then(|count| i64::try_from(count).ok()),
            ..LiveItem::default()
        },
        Notice::Quiet { since } => {
            LiveItem { kind: "quiet".into(), at, start: Some(ms(*since)), ..LiveItem::default() }
        }
        Notice::Recovered { gap, .. } => notice_row(gap),
    }
}

fn ms(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
