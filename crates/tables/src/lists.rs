//! Values with several parts: lists, lineups, links, and maps kept as one value.

use super::decode::TableDecoder;
use super::error::DecodeResult;
use super::scalars;
use reader::{Cursor, Expected, ReadResult};
use std::borrow::Cow;

impl<'a> TableDecoder<'a> {
    pub(crate) fn integers(&mut self, i: usize) -> DecodeResult<()> {
        let list = &mut self.builders.int_lists[i];
        let items = &mut list.items;
        let is_list = for_each(&mut self.cursor, |cursor| {
            items.push(cursor.integer()?);
            Ok(())
        })?;
        list.end(is_list, list.items.values.len());
        Ok(())
    }

    pub(crate) fn texts(&mut self, i: usize) -> DecodeResult<()> {
        let list = &mut self.builders.text_lists[i];
        let items = &mut list.items;
        let is_list = for_each(&mut self.cursor, |cursor| {
            match cursor.plain_string() {
                Some(plain) => items.push_span(plain),
                None => items.push_option(cursor.text(Expected::Text)?.as_deref()),
            }
            Ok(())
        })?;
        list.end(is_list, list.items.len());
        Ok(())
    }

    pub(crate) fn lineup(&mut self, i: usize) -> DecodeResult<()> {
        let ids = &mut self.ids;
        ids.clear();
        let is_list = for_each(&mut self.cursor, |cursor| {
            ids.extend(cursor.integer()?);
            Ok(())
        })?;
        self.lineup_of_ids(i, is_list);
        Ok(())
    }

    /// Reads a list of ids both as numbers and as a lineup.
    pub(crate) fn integers_and_lineup(&mut self, list: usize, lineup: usize) -> DecodeResult<()> {
        let ids = &mut self.ids;
        ids.clear();
        let list = &mut self.builders.int_lists[list];
        let items = &mut list.items;
        let is_list = for_each(&mut self.cursor, |cursor| {
            let id = cursor.integer()?;
            items.push(id);
            ids.extend(id);
            Ok(())
        })?;
        list.end(is_list, list.items.values.len());
        self.lineup_of_ids(lineup, is_list);
        Ok(())
    }

    /// The lineup of the ids read last.
    fn lineup_of_ids(&mut self, i: usize, is_list: bool) {
        let texts = &mut self.builders.texts[i];
        if is_list {
            self.text.clear();
            scalars::lineup_id(&mut self.ids, &mut self.text);
            texts.push(&self.text);
        } else {
            texts.null();
        }
    }

    /// Reads a link, or several joined by spaces.
    pub(crate) fn links(&mut self) -> DecodeResult<Option<Cow<'a, [u8]>>> {
        if self.cursor.peek_byte() != b'[' {
            return Ok(self.cursor.text(Expected::Links)?);
        }
        let mut text: Option<Vec<u8>> = None;
        for_each(&mut self.cursor, |cursor| {
            match (cursor.text(Expected::Text)?, &mut text) {
                (Some(link), Some(text)) => {
                    text.push(b' ');
                    text.extend_from_slice(&link);
                }
                (Some(link), None) => text = Some(link.into_owned()),
                (None, _) => {}
            }
            Ok(())
        })?;
        Ok(text.map(Cow::Owned))
    }

    /// Reads an object as one map value.
    pub(crate) fn entries(&mut self, i: usize) -> DecodeResult<()> {
        let is_map = self.each_entry(|decoder, key| {
            let entries = &mut decoder.builders.maps[i].items;
            entries.keys.push(key);
            entries.values.push(decoder.cursor.float()?);
            Ok(())
        })?;
        let map = &mut self.builders.maps[i];
        map.end(is_map, map.items.len());
        Ok(())
    }
}

/// Calls `item` at each element of an array; `false` for null.
#[inline(always)]
pub(super) fn for_each<'a>(
    cursor: &mut Cursor<'a>,
    mut item: impl FnMut(&mut Cursor<'a>) -> ReadResult<()>,
) -> ReadResult<bool> {
    if cursor.peek_byte() != b'[' {
        return cursor.expect_null(Expected::Array).map(|()| false);
    }
    // A copy, so that it stays in a register.
    let mut local = *cursor;
    local.advance(1);
    let mut more = Ok(local.has_first_item(b']'));
    while let Ok(true) = more {
        more = item(&mut local).and_then(|()| local.has_next_item(b']'));
    }
    cursor.go_to(&local);
    more.map(|_| true)
}
