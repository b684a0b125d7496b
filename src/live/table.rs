//! Converts a stream's items to Arrow tables, whose columns are declared in `src/resource/live.rs`.

use super::item::{Item, Notice, Update};
use super::rows::{Problem, is_change, without_data};
use crate::error::{Error, Result};
use crate::resource::live::{ITEMS, LiveItem, STAT_UPDATES};
use crate::scrub::Scrubber;
use arrow_array::RecordBatch;
use reader::{Body, Value};
use std::time::{SystemTime, UNIX_EPOCH};
use tables::from_rows::{categories, from_columns, integers, texts, times};
use tables::{Context, DecodeError};

/// Builds a table of items, `live_items` or `stat_updates`; also returns what it leaves out.
pub fn build(name: &str, stream_items: &[Item]) -> Result<(RecordBatch, Vec<Problem>)> {
    match name {
        _ if name == ITEMS.name => items(stream_items).map(|batch| (batch, Vec::new())),
        _ if name == STAT_UPDATES.name => stat_updates(stream_items),
        _ => Err(Error::Argument(format!(
            "there is no table {name:?} of items; it is {:?} or {:?}",
            ITEMS.name, STAT_UPDATES.name
        ))),
    }
}

/// Builds the table `live_items`: one row per item.
pub fn items(items: &[Item]) -> Result<RecordBatch> {
    let rows: Vec<LiveItem> = items.iter().flat_map(rows).collect();
    let columns = vec![
        categories(rows.iter().map(|row| Some(row.kind.as_str()))),
        times(rows.iter().map(|row| Some(row.at))),
        categories(rows.iter().map(|row| row.event.as_deref())),
        texts(rows.iter().map(|row| row.id.as_deref())),
        integers(rows.iter().map(|row| row.seq)),
        categories(rows.iter().map(|row| row.source.as_deref())),
        texts(rows.iter().map(|row| row.text.as_deref())),
        times(rows.iter().map(|row| row.start)),
        times(rows.iter().map(|row| row.end)),
        texts(rows.iter().map(|row| row.reason.as_deref())),
        integers(rows.iter().map(|row| row.status.map(i64::from))),
        integers(rows.iter().map(|row| row.attempt.map(i64::from))),
        times(rows.iter().map(|row| row.retry_at)),
        integers(rows.iter().map(|row| row.dropped)),
    ];
    from_columns(&ITEMS, columns).map_err(|error| Error::internal(error.to_string()).caused_by(error))
}

/// Builds the table `stat_updates`: one row per stat code of each stats message; other items have no rows. A message that is
/// unreadable is left out, and returned as a problem.
pub fn stat_updates(items: &[Item]) -> Result<(RecordBatch, Vec<Problem>)> {
    let (mut messages, mut problems) = (Vec::new(), Vec::new());
    for message in items.iter().filter_map(stats_message) {
        match message {
            Ok(message) => messages.push(message),
            Err(problem) => problems.push(problem),
        }
    }
    if let Ok(batch) = decode(&messages) {
        return Ok((batch, problems));
    }
    let mut readable = Vec::new();
    for message in messages {
        match decode(&[message]) {
            Ok(_) => readable.push(message),
            Err(error) => problems.push(Problem::relocate(error, "$[0]", "$")),
        }
    }
    let batch = decode(&readable).map_err(|error| Error::decode(error, &Scrubber::default()))?;
    Ok((batch, problems))
}

fn decode(messages: &[&[u8]]) -> std::result::Result<RecordBatch, DecodeError> {
    let json = [b"[", messages.join(&b',').as_slice(), b"]"].concat();
    tables::decode(&STAT_UPDATES, "stat_updates", None, &Body::from(json.as_slice()), &Context::default())
}

/// Returns the text of a stats message, `{"type":"stats","data":{"stats":{..}}}`, or why it is unreadable.
fn stats_message(item: &Item) -> Option<std::result::Result<&[u8], Problem>> {
    let Item::Update(update) = item else { return None };
    // A cheap test first, which rejects most messages of other sources.
    if !update.text.contains("\"stats\"") {
        return None;
    }
    let body = Body::from(update.raw());
    let padded_body = body.with_padding();
    let message = match Value::of(&body, &padded_body) {
        Ok(message) => message,
        // Something else than JSON, such as a heartbeat.
        Err(_) if !update.text.trim_start().starts_with('{') => return None,
        Err(error) => return Some(Err(Problem::new(error.path, error.message))),
    };
    let has_data = message.get("data").is_some_and(|data| data.is_object());
    is_change(&message).then(|| has_data.then_some(update.raw()).ok_or_else(|| without_data(&message)))
}

/// `Recovering` and `Recovered` have a row for themselves and one for each of their updates.
fn rows(item: &Item) -> Vec<LiveItem> {
    match item {
        Item::Notice(notice @ (Notice::Recovering { gap, updates, .. } | Notice::Recovered { gap, updates, .. })) => {
            let (kind, reason) = match notice {
                Notice::Recovering { missing, .. } => ("recovering", Some(format!("missing: {}", missing.join(", ")))),
                _ => ("recovered", None),
            };
            let of_gap = notice_row(gap);
            let reason = reason.or(of_gap.reason);
            let notice = LiveItem { kind: kind.into(), at: ms(notice.at()), reason, ..of_gap };
            std::iter::once(notice).chain(updates.iter().map(update_row)).collect()
        }
        Item::Notice(notice) => vec![notice_row(notice)],
        Item::Update(update) => vec![update_row(update)],
    }
}

fn update_row(update: &Update) -> LiveItem {
    let to_string = |text: &std::sync::Arc<str>| text.to_string();
    LiveItem {
        kind: "update".into(),
        at: ms(update.received_at),
        event: Some(update.event.as_ref().map_or_else(|| "message".into(), to_string)),
        id: Some(to_string(&update.id)).filter(|id| !id.is_empty()),
        seq: update.seq,
        source: update.source.as_ref().map(to_string),
        text: Some(update.text.clone()),
        ..LiveItem::default()
    }
}

fn notice_row(notice: &Notice) -> LiveItem {
    let row = |kind: &str| LiveItem { kind: kind.into(), at: ms(notice.at()), ..LiveItem::default() };
    match notice {
        Notice::Connected { .. } => row("connected"),
        Notice::Disconnected { reason, status, attempt, retry_at, .. } => LiveItem {
            reason: Some(reason.clone()),
            status: *status,
            attempt: Some(*attempt),
            retry_at: retry_at.map(ms),
            ..row("disconnected")
        },
        Notice::Gap { start, end, reason, dropped, is_final } => LiveItem {
            start: Some(ms(*start)),
            end: end.map(ms),
            reason: Some(reason.to_string()),
            dropped: dropped.and_then(|count| i64::try_from(count).ok()),
            ..row(if *is_final { "final_gap" } else { "gap" })
        },
        Notice::Quiet { since } => LiveItem { start: Some(ms(*since)), ..row("quiet") },
        Notice::Recovering { gap, .. } | Notice::Recovered { gap, .. } => notice_row(gap),
    }
}

fn ms(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
