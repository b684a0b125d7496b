//! Values that hold several: lists, what is computed from a list, links, maps kept as one value.

use super::cursor::Cursor;
use super::decode::Decoder;
use super::fault::{Read, Wanted};
use super::scalars;
use std::borrow::Cow;

impl<'a> Decoder<'a> {
    pub fn integers(&mut self, i: usize) -> Read<()> {
        let list = &mut self.cells.int_lists[i];
        let items = &mut list.items;
        let is_list = each(&mut self.cursor, |cursor| {
            items.push(cursor.integer()?);
            Ok(())
        })?;
        list.end(is_list, list.items.values.len());
        Ok(())
    }

    pub fn texts(&mut self, i: usize) -> Read<()> {
        let list = &mut self.cells.text_lists[i];
        let items = &mut list.items;
        let is_list = each(&mut self.cursor, |cursor| {
            match cursor.plain_string() {
                Some(plain) => items.push_span(plain),
                None => items.push_option(cursor.text(Wanted::Text)?.as_deref()),
            }
            Ok(())
        })?;
        list.end(is_list, list.items.len());
        Ok(())
    }

    pub fn lineup(&mut self, i: usize) -> Read<()> {
        let here = self.cursor;
        let ids = &mut self.ids;
        ids.clear();
        let is_list = each(&mut self.cursor, |cursor| {
            ids.extend(cursor.integer()?);
            Ok(())
        })?;
        self.lineup_of_ids(i, here, is_list);
        Ok(())
    }

    /// A list kept as it is and, beside it, as a lineup.
    pub fn integers_and_lineup(&mut self, list: usize, lineup: usize) -> Read<()> {
        let here = self.cursor;
        let ids = &mut self.ids;
        ids.clear();
        let list = &mut self.cells.int_lists[list];
        let items = &mut list.items;
        let is_list = each(&mut self.cursor, |cursor| {
            let id = cursor.integer()?;
            items.push(id);
            ids.extend(id);
            Ok(())
        })?;
        list.end(is_list, list.items.values.len());
        self.lineup_of_ids(lineup, here, is_list);
        Ok(())
    }

    /// The cursor is behind the list that began at `here`.
    fn lineup_of_ids(&mut self, i: usize, here: Cursor<'a>, is_list: bool) {
        let texts = &mut self.cells.texts[i];
        if is_list {
            self.text.clear();
            let list = self.cursor.since(&here).inner().bytes();
            if !(self.ids.is_sorted() && scalars::lineup_as_written(list, &mut self.text)) {
                scalars::lineup_id(&mut self.ids, &mut self.text);
            }
            texts.push(&self.text);
        } else {
            texts.null();
        }
    }

    /// A link as it is, several joined by blanks.
    pub fn links(&mut self, i: usize) -> Read<()> {
        match self.cursor.plain_string() {
            Some(plain) => self.cells.texts[i].push_span(plain),
            None => {
                let links = self.joined_links()?;
                self.cells.texts[i].push_option(links.as_deref());
            }
        }
        Ok(())
    }

    pub fn joined_links(&mut self) -> Read<Option<Vec<u8>>> {
        let mut joined: Option<Vec<u8>> = None;
        if self.cursor.byte() == b'[' {
            each(&mut self.cursor, |cursor| {
                if let Some(link) = cursor.text(Wanted::Text)? {
                    match &mut joined {
                        Some(joined) => {
                            joined.push(b' ');
                            joined.extend_from_slice(&link);
                        }
                        None => joined = Some(link.into_owned()),
                    }
                }
                Ok(())
            })?;
        } else {
            joined = self.cursor.text(Wanted::Links)?.map(Cow::into_owned);
        }
        Ok(joined)
    }

    /// An object as one value.
    pub fn entries(&mut self, i: usize) -> Read<()> {
        if self.cursor.byte() != b'{' {
            self.cursor.null_or(Wanted::Object)?;
            self.cells.maps[i].null();
            return Ok(());
        }
        self.cursor.advance(1);
        if self.cursor.opened(b'}') {
            self.repeats.open();
            loop {
                let key = self.key_of_map()?;
                let entries = &mut self.cells.maps[i].items;
                entries.keys.push(&key);
                entries.values.push(self.cursor.float()?);
                if !self.cursor.another(b'}')? {
                    break;
                }
            }
            self.repeats.close();
        }
        let map = &mut self.cells.maps[i];
        map.close(map.items.len());
        Ok(())
    }
}

/// Calls `item` at each element of an array; `false` for null.
#[inline(always)]
pub(super) fn each<'a>(cursor: &mut Cursor<'a>, mut item: impl FnMut(&mut Cursor<'a>) -> Read<()>) -> Read<bool> {
    if cursor.byte() != b'[' {
        return cursor.null_or(Wanted::Array).map(|()| false);
    }
    // A copy: it stays in a register.
    let mut here = *cursor;
    here.advance(1);
    let mut more = Ok(here.opened(b']'));
    while let Ok(true) = more {
        more = item(&mut here).and_then(|()| here.another(b']'));
    }
    cursor.go_to(&here);
    more.map(|_| true)
}
