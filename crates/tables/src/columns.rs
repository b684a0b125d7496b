//! Column builders: plain vectors and the positions of nulls. A builder holds one value for each element of its level;
//! values above the row level are repeated for their rows at the end.

use super::error::{DecodeErrorKind, DecodeResult};
use super::extent::Quota;
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, DictionaryArray, ListArray, PrimitiveArray, StringArray, StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::FieldRef;
use reader::{ErrorKind, Span, simd};
use std::collections::HashMap;
use std::sync::Arc;

/// The positions of nulls, ascending: non-null values cost nothing.
#[derive(Debug, Default, Clone)]
pub(super) struct Nulls(Vec<u32>);

impl Nulls {
    #[cold]
    #[inline(never)]
    pub(crate) fn mark(&mut self, position: usize) {
        self.0.push(position as u32);
    }

    pub(crate) fn last_is(&self, position: usize) -> bool {
        self.0.last() == Some(&(position as u32))
    }

    fn finish(self, len: usize) -> Option<NullBuffer> {
        if self.0.is_empty() {
            return None;
        }
        let mut valid = vec![0xFFu8; len.div_ceil(8)];
        for position in self.0 {
            valid[position as usize / 8] &= !(1 << (position % 8));
        }
        Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(valid), 0, len)))
    }

    /// Calls `visit` with every element's index, whether it is null, and the row after its last.
    fn runs(&self, ends: &[u32], mut visit: impl FnMut(usize, bool, usize)) {
        let mut nulls = self.0.iter().copied().peekable();
        for (element, end) in ends.iter().enumerate() {
            let null = nulls.next_if_eq(&(element as u32)).is_some();
            visit(element, null, *end as usize);
        }
    }
}

#[derive(Debug, Default, Clone)]
pub(super) struct Numbers<T> {
    pub values: Vec<T>,
    pub nulls: Nulls,
}

impl<T: Copy + Default> Numbers<T> {
    pub(crate) fn with_capacity(elements: usize) -> Self {
        Numbers { values: Vec::with_capacity(elements), nulls: Nulls::default() }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, value: Option<T>) {
        match value {
            Some(value) => self.values.push(value),
            None => self.null(),
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn null(&mut self) {
        self.nulls.mark(self.values.len());
        self.values.push(T::default());
    }

    /// Repeats each value for the rows up to its end.
    pub(crate) fn repeat(&self, ends: &[u32]) -> Self {
        let mut rows = Numbers::with_capacity(ends.last().map_or(0, |end| *end as usize));
        self.nulls.runs(ends, |element, null, end| {
            if null {
                (rows.values.len()..end).for_each(|row| rows.nulls.mark(row));
            }
            rows.values.resize(end, self.values[element]);
        });
        rows
    }
}

impl<T: ArrowNativeType> Numbers<T> {
    pub(crate) fn into_array<A: ArrowPrimitiveType<Native = T>>(self) -> PrimitiveArray<A> {
        let nulls = self.nulls.finish(self.values.len());
        PrimitiveArray::new(self.values.into(), nulls)
    }
}

impl Numbers<i64> {
    pub(crate) fn into_positions(self) -> DecodeResult<Numbers<i32>> {
        let values: Result<_, _> = self.values.into_iter().map(i32::try_from).collect();
        Ok(Numbers { values: values.map_err(|_| ErrorKind::Range)?, nulls: self.nulls })
    }
}

impl Numbers<bool> {
    pub(crate) fn into_booleans(self) -> ArrayRef {
        let nulls = self.nulls.finish(self.values.len());
        Arc::new(BooleanArray::new(self.values.into(), nulls))
    }
}

/// Strings in Arrow's layout.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    data: Vec<u8>,
    /// One more than there are values. Overflows once `data` passes 2 GiB, which `into_array` rejects.
    offsets: Vec<i32>,
    pub nulls: Nulls,
}

impl Texts {
    pub(crate) fn with_capacity(elements: usize) -> Self {
        let mut offsets = Vec::with_capacity(elements + 1);
        offsets.push(0);
        Texts { data: Vec::with_capacity(elements.saturating_mul(8)), offsets, nulls: Nulls::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    fn value(&self, element: usize) -> &[u8] {
        &self.data[self.offsets[element] as usize..self.offsets[element + 1] as usize]
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, text: &[u8]) {
        self.data.extend_from_slice(text);
        self.offsets.push(self.data.len() as i32);
    }

    /// Like `push`, for text of the body: short text is copied as two words instead of by a call to `memcpy`.
    #[inline(always)]
    pub(crate) fn push_span(&mut self, text: Span) {
        if text.len() <= 16 {
            let words = [text.word(0).to_le_bytes(), text.word(8).to_le_bytes()];
            let len = self.data.len();
            self.data.extend_from_slice(words.as_flattened());
            self.data.truncate(len + text.len());
            self.offsets.push(self.data.len() as i32);
        } else {
            self.push(text.bytes());
        }
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn null(&mut self) {
        self.nulls.mark(self.len());
        self.offsets.push(self.data.len() as i32);
    }

    pub(crate) fn push_option(&mut self, text: Option<&[u8]>) {
        match text {
            Some(text) => self.push(text),
            None => self.null(),
        }
    }

    fn check(&self) -> DecodeResult<()> {
        if i32::try_from(self.data.len()).is_ok() { Ok(()) } else { Err(DecodeErrorKind::TooLarge) }
    }

    pub(crate) fn repeat(&self, ends: &[u32], quota: &Quota) -> DecodeResult<Self> {
        self.check()?;
        let (mut size, mut start) = (0usize, 0);
        for (element, end) in ends.iter().enumerate() {
            size = size.saturating_add(self.value(element).len().saturating_mul((*end - start) as usize));
            start = *end;
        }
        quota.check(size)?;
        i32::try_from(size).map_err(|_| DecodeErrorKind::TooLarge)?;
        let mut rows = Texts::with_capacity(0);
        rows.data.reserve(size);
        rows.offsets.reserve(start as usize);
        self.nulls.runs(ends, |element, null, end| {
            if null {
                (rows.len()..end).for_each(|row| rows.nulls.mark(row));
            }
            rows.push_times(self.value(element), end - rows.len());
        });
        Ok(rows)
    }

    /// Appends one text many times; `repeat` has checked that it fits.
    fn push_times(&mut self, text: &[u8], times: usize) {
        let start = self.data.len();
        let size = text.len() * times;
        if size > 0 {
            self.data.extend_from_slice(text);
            // Doubles the bytes with each copy: one call per row would cost more than the bytes.
            while self.data.len() - start < size {
                let more = (self.data.len() - start).min(size - (self.data.len() - start));
                self.data.extend_from_within(start..start + more);
            }
        }
        self.offsets.extend((1..=times).map(|time| (start + time * text.len()) as i32));
    }

    /// Like `repeat`, for an open set of few values: each text is stored once, and only if a row has it.
    pub(crate) fn repeat_as_categories(&self, ends: &[u32]) -> DecodeResult<Categories> {
        self.check()?;
        let mut rows = Categories::with_capacity(ends.last().map_or(0, |end| *end as usize));
        self.nulls.runs(ends, |element, null, end| {
            if end == rows.keys.values.len() {
                return;
            }
            if null {
                (rows.keys.values.len()..end).for_each(|_| rows.null());
            } else {
                let key = rows.key(self.value(element));
                rows.keys.values.resize(end, key);
            }
        });
        Ok(rows)
    }

    pub(crate) fn into_array(self) -> DecodeResult<StringArray> {
        self.check()?;
        let nulls = self.nulls.finish(self.offsets.len() - 1);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(self.offsets));
        let data = Buffer::from_vec(self.data);
        StringArray::try_new(offsets, data, nulls).map_err(|_| DecodeErrorKind::Engine)
    }
}

/// Texts of an open set of few values: keys into the values, which are in order of first appearance.
#[derive(Debug)]
pub(super) struct Categories {
    keys: Numbers<i32>,
    values: Texts,
    /// The first eight bytes and the length of the first values; most texts are found by these alone.
    heads: Vec<(u64, usize)>,
    /// The values beyond the first `SEARCHED`.
    others: HashMap<Box<[u8]>, i32>,
    last: i32,
}

/// Values up to this number are searched linearly; more are hashed, so that a body cannot force quadratic time.
const MAX_LINEAR_SEARCH: usize = 32;

impl Categories {
    pub(crate) fn with_capacity(elements: usize) -> Self {
        Categories {
            keys: Numbers::with_capacity(elements),
            values: Texts::with_capacity(8),
            heads: Vec::with_capacity(MAX_LINEAR_SEARCH),
            others: HashMap::new(),
            last: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn push_span(&mut self, text: Span) {
        let head = (simd::low_bytes(text.word(0), text.len()), text.len());
        let key = match self.heads.get(self.last as usize) {
            Some(last) if *last == head && text.len() <= 8 => self.last,
            _ => self.find(head, text.bytes()),
        };
        self.keys.values.push(key);
    }

    pub(crate) fn push(&mut self, text: &[u8]) {
        let key = self.key(text);
        self.keys.values.push(key);
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn null(&mut self) {
        self.keys.null();
    }

    pub(crate) fn last_is_null(&self) -> bool {
        self.keys.values.len().checked_sub(1).is_some_and(|last| self.keys.nulls.last_is(last))
    }

    fn key(&mut self, text: &[u8]) -> i32 {
        let mut word = [0; 8];
        let len = text.len().min(8);
        word[..len].copy_from_slice(&text[..len]);
        self.find((u64::from_le_bytes(word), text.len()), text)
    }

    #[inline(never)]
    fn find(&mut self, head: (u64, usize), text: &[u8]) -> i32 {
        let same = |i: &usize| self.heads[*i] == head && (text.len() <= 8 || self.values.value(*i) == text);
        // Texts tend to come in the order of their first appearance.
        let len = self.heads.len();
        let next = if self.last as usize + 1 < len { self.last as usize + 1 } else { 0 };
        let from_next = |i: usize| if next + i < len { next + i } else { next + i - len };
        let key = match (0..len).map(from_next).find(same) {
            Some(key) => key as i32,
            None => {
                let next = self.values.len() as i32;
                let key = if self.heads.len() < MAX_LINEAR_SEARCH {
                    self.heads.push(head);
                    next
                } else {
                    *self.others.entry(text.into()).or_insert(next)
                };
                if key == next {
                    self.values.push(text);
                }
                key
            }
        };
        self.last = key;
        key
    }

    pub(crate) fn into_array(self) -> DecodeResult<ArrayRef> {
        let keys = self.keys.into_array();
        let values = Arc::new(self.values.into_array()?);
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, values).map_err(|_| DecodeErrorKind::Engine)?))
    }
}

/// Lists, by the end of each among the items.
#[derive(Debug)]
pub(super) struct Lists<T> {
    ends: Vec<i32>,
    pub items: T,
    pub nulls: Nulls,
}

impl<T> Lists<T> {
    pub(crate) fn new(items: T, elements: usize) -> Self {
        Lists { ends: Vec::with_capacity(elements), items, nulls: Nulls::default() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Ends a list with the items pushed since the previous one, or adds a null.
    pub(crate) fn end(&mut self, is_list: bool, items: usize) {
        if is_list { self.ends.push(items as i32) } else { self.null() }
    }

    pub(crate) fn null(&mut self) {
        self.nulls.mark(self.ends.len());
        self.ends.push(self.ends.last().copied().unwrap_or(0));
    }

    pub(crate) fn into_array(
        self,
        item: FieldRef,
        items: impl FnOnce(T) -> DecodeResult<ArrayRef>,
    ) -> DecodeResult<ListArray> {
        let nulls = self.nulls.finish(self.ends.len());
        let offsets: Vec<i32> = std::iter::once(0).chain(self.ends).collect();
        ListArray::try_new(item, OffsetBuffer::new(ScalarBuffer::from(offsets)), items(self.items)?, nulls)
            .map_err(|_| DecodeErrorKind::Engine)
    }
}

#[derive(Debug)]
pub(super) struct MapEntries {
    pub keys: Texts,
    pub values: Numbers<f64>,
}

impl MapEntries {
    pub(crate) fn with_capacity(elements: usize) -> Self {
        MapEntries { keys: Texts::with_capacity(elements), values: Numbers::with_capacity(elements) }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.values.len()
    }

    pub(crate) fn into_array(self) -> DecodeResult<ArrayRef> {
        let parts: Vec<ArrayRef> =
            vec![Arc::new(self.keys.into_array()?), Arc::new(self.values.into_array::<Float64Type>())];
        Ok(Arc::new(StructArray::try_new(super::schema::entry(), parts, None).map_err(|_| DecodeErrorKind::Engine)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;

    fn texts(all: &[Option<&[u8]>]) -> Texts {
        let mut texts = Texts::with_capacity(0);
        all.iter().for_each(|text| texts.push_option(*text));
        texts
    }

    #[test]
    fn texts_are_an_array_with_their_nulls_whether_ascii_or_not() {
        for word in ["Iowa", "São Paulo", ""] {
            let array = texts(&[Some(word.as_bytes()), None, Some(b"x")]).into_array().unwrap();
            assert_eq!(array, StringArray::from(vec![Some(word), None, Some("x")]));
            array.to_data().validate_full().unwrap();
        }
    }

    #[test]
    fn bytes_that_are_no_texts_are_no_array() {
        // Each byte alone is invalid; together they would be one letter.
        assert_eq!(texts(&[Some(b"\xC3"), Some(b"\xA9")]).into_array(), Err(DecodeErrorKind::Engine));
        let beyond = Texts { data: b"ab".to_vec(), offsets: vec![0, 3], nulls: Nulls::default() };
        assert_eq!(beyond.into_array(), Err(DecodeErrorKind::Engine));
    }

    #[test]
    fn a_category_is_found_whatever_came_before_it() {
        let names: Vec<String> = (0..2 * MAX_LINEAR_SEARCH).map(|i| format!("category {i}")).collect();
        let count = names.len();
        // In order twice, every seventh, and backwards.
        let places = [1, 1, 7, count - 1].into_iter().flat_map(|step| (0..count).map(move |i| i * step % count));
        let places: Vec<usize> = places.collect();
        let mut categories = Categories::with_capacity(0);
        places.iter().for_each(|i| categories.push(names[*i].as_bytes()));
        assert_eq!(categories.values.len(), count);
        assert_eq!(categories.keys.values, places.iter().map(|i| *i as i32).collect::<Vec<_>>());
    }
}
