//! Text that is safe to show: whatever a peer, a library or a URL contains, without secrets and control characters, and
//! short.
//!
//! A [`Scrubbed`] is made by a [`Scrubber`], which knows the client's secrets, where the text enters. Errors, logs,
//! payloads and their pickles hold peer text only in this form.

mod spelling;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use spelling::{ByteSet, Needle, is_name_part, matches, unit};
use std::collections::VecDeque;
use std::fmt::{Debug, Display, Formatter, Write};
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum bytes of a message, a URL, an id and a header value: an error's text stays under 2 kB.
pub(crate) const MAX_MESSAGE: usize = 900;
pub(crate) const MAX_URL: usize = 400;
pub(crate) const MAX_ID: usize = 200;
pub(crate) const MAX_HEADER: usize = 4096;
/// Maximum bytes of a text composed of such parts.
pub(crate) const MAX_TEXT: usize = 1900;

/// Replaces a secret, also in the `Debug` of `Secret`.
const MASK: &str = "***";
/// Masking shorter secrets would damage words and protect nothing.
const MIN_SECRET_LEN: usize = 4;
/// A shorter part of an encoded secret may be any word.
const MIN_PART_LEN: usize = 6;
/// From this length on, case is ignored: a peer may lower-case a URL.
const MIN_CASE_INSENSITIVE_LEN: usize = 8;
/// Parameters whose value is a credential (docs/wire.md).
static SECRET_PARAMETERS: [Needle; 2] = [Needle::case_insensitive(b"apikey"), Needle::case_insensitive(b"token")];
/// Maximum length of a username and password before a host.
const MAX_USERINFO: usize = 16 * 1024;

/// Text without secrets and control characters, and short.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scrubbed(Arc<str>);

impl Scrubbed {
    /// Text of this program, without any part of a peer's.
    pub fn local(text: impl AsRef<str>) -> Self {
        Scrubber::default().text(text)
    }
}

impl From<&'static str> for Scrubbed {
    fn from(text: &'static str) -> Self {
        Scrubbed(text.into())
    }
}

impl From<Scrubbed> for String {
    fn from(text: Scrubbed) -> Self {
        text.0.to_string()
    }
}

impl Deref for Scrubbed {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Scrubbed {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Display for Scrubbed {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Debug for Scrubbed {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        Debug::fmt(&*self.0, f)
    }
}

/// Makes text safe to show. The default one knows no secrets. Cheap to clone.
#[derive(Clone, Default)]
pub struct Scrubber {
    needles: Arc<Needles>,
    /// Shared by clones.
    learned_secrets: Arc<Mutex<LearnedSecrets>>,
}

/// The most recent secrets learned while running, such as tokens, each with its forms.
type LearnedSecrets = VecDeque<(String, Arc<Needles>)>;

/// The forms of some secrets.
#[derive(Clone, Default)]
struct Needles {
    /// Each with what it may begin with.
    forms: Vec<(ByteSet, Needle)>,
    /// What any of them may begin with.
    first_bytes: ByteSet,
}

impl Needles {
    fn add(&mut self, secret: &str) {
        for form in needles_of(secret) {
            let first_bytes = form.first_bytes();
            self.first_bytes.add(first_bytes);
            self.forms.push((first_bytes, form));
        }
    }
}

/// Characters that end a parameter's value in a URL, and in a sentence.
const ENDS_IN_URL: &[u8] = b"&#";
const ENDS_IN_TEXT: &[u8] = b"&#;,<>()[]{}\"'`";

/// How to treat a text.
#[derive(Clone, Copy)]
struct TextForm {
    /// Maximum bytes.
    limit: usize,
    /// Replace runs of whitespace by one blank.
    folds: bool,
    /// The text was cut and may end within a secret.
    is_cut: bool,
    /// Characters that end a parameter's value; `None`: URLs in it are our own or already scrubbed.
    ends: Option<&'static [u8]>,
}

impl Scrubber {
    pub fn new(secrets: &[String]) -> Self {
        Self::default().with(secrets)
    }

    /// A scrubber that also knows these secrets.
    pub fn with(&self, secrets: &[String]) -> Self {
        let mut needles = Needles::clone(&self.needles);
        for secret in secrets.iter().filter(|secret| secret.len() >= MIN_SECRET_LEN) {
            needles.add(secret);
        }
        Scrubber { needles: Arc::new(needles), learned_secrets: Arc::clone(&self.learned_secrets) }
    }

    /// Hides the secret from now on, in this scrubber and its clones. Keeps the last 16.
    pub fn learn(&self, secret: &str) {
        const MAX_LEARNED_SECRETS: usize = 16;
        let mut secrets = self.learned_secrets.lock().unwrap_or_else(PoisonError::into_inner);
        if secret.len() < MIN_SECRET_LEN || secrets.iter().any(|(other, _)| other == secret) {
            return;
        }
        if secrets.len() == MAX_LEARNED_SECRETS {
            secrets.pop_front();
        }
        let mut needles = Needles::default();
        needles.add(secret);
        secrets.push_back((secret.to_owned(), Arc::new(needles)));
    }

    /// The forms of all secrets.
    fn all_needles(&self) -> Vec<Arc<Needles>> {
        let secrets = self.learned_secrets.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = secrets.iter().map(|(_, needles)| needles);
        std::iter::once(&self.needles).chain(recent).cloned().collect()
    }

    /// A one-line message of a peer or a library.
    pub fn message(&self, text: impl AsRef<str>) -> Scrubbed {
        self.scrub(text.as_ref(), TextForm { limit: MAX_MESSAGE, folds: true, is_cut: false, ends: Some(ENDS_IN_TEXT) })
    }

    /// The start of a body, in one line.
    pub fn start(&self, body: &[u8], limit: usize) -> Scrubbed {
        const READ: usize = 16 * 1024;
        let body = body.trim_ascii_start();
        // Do not split a character.
        let is_letter = |end: &usize| body.get(*end).is_none_or(|byte| *byte & 0xC0 != 0x80);
        let end = (0..=body.len().min(READ)).rev().take(4).find(is_letter).unwrap_or_default();
        let text = String::from_utf8_lossy(&body[..end]);
        self.scrub(&text, TextForm { limit, folds: true, is_cut: body.len() > READ, ends: Some(ENDS_IN_TEXT) })
    }

    pub fn url(&self, address: impl AsRef<str>) -> Scrubbed {
        self.scrub(address.as_ref(), TextForm { limit: MAX_URL, folds: false, is_cut: false, ends: Some(ENDS_IN_URL) })
    }

    /// An id, or a name chosen by a peer.
    pub fn id(&self, text: impl AsRef<str>) -> Scrubbed {
        self.short(text, MAX_ID)
    }

    pub fn header(&self, value: impl AsRef<str>) -> Scrubbed {
        self.short(value, MAX_HEADER)
    }

    /// A text of our own words and scrubbed parts. It may itself contain `http://user:password@host`.
    pub(crate) fn text(&self, text: impl AsRef<str>) -> Scrubbed {
        self.scrub(text.as_ref(), TextForm { limit: MAX_TEXT, folds: false, is_cut: false, ends: None })
    }

    fn short(&self, text: impl AsRef<str>, limit: usize) -> Scrubbed {
        self.scrub(text.as_ref(), TextForm { limit, folds: false, is_cut: false, ends: Some(ENDS_IN_TEXT) })
    }

    /// Reads no more of the text than is shown, so that long texts cost no more than short ones.
    fn scrub(&self, text: &str, form: TextForm) -> Scrubbed {
        let secrets = self.all_needles();
        let mut special = ByteSet::of(MARKS);
        secrets.iter().for_each(|needles| special.add(needles.first_bytes));
        scrub(text, form, &secrets, |byte| byte.is_ascii_graphic() && !special.contains(byte))
    }
}

/// What a parameter or a username and password may begin with, spelled in any way.
const MARKS: &[u8] = b"aAtT/%&\\+";

/// Copies bytes for which `is_plain` at once: they are visible, and nothing that is looked for begins with them.
fn scrub(text: &str, form: TextForm, secrets: &[Arc<Needles>], is_plain: impl Fn(u8) -> bool) -> Scrubbed {
    let mut out = String::with_capacity(text.len().min(form.limit));
    // The end of the last encoded unit, and its byte.
    let mut last = (0, b' ');
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        if out.len() > form.limit {
            break;
        }
        let rest = &text.as_bytes()[at..];
        let capacity = form.limit + 1 - out.len();
        let plain = rest.iter().take(capacity).take_while(|byte| is_plain(**byte)).count();
        if plain > 0 {
            out.push_str(&text[at..at + plain]);
            at += plain;
            continue;
        }
        let before =
            if last.0 == at && at > 0 { last.1 } else { at.checked_sub(1).map_or(b' ', |i| text.as_bytes()[i]) };
        if let Some(len) = secret_at(secrets, rest, form.is_cut) {
            out.push_str(MASK);
            at += len;
            continue;
        }
        if let Some((name, value)) = form.ends.and_then(|ends| parameter_at(rest, before, ends)) {
            let _ = write!(out, "{}{MASK}", &text[at..at + name]);
            at += name + value;
            continue;
        }
        if let Some((slashes, userinfo)) = form.ends.and_then(|_| userinfo_at(rest, before)) {
            out.push_str(&text[at..at + slashes]);
            at += slashes + userinfo;
            continue;
        }
        if let Some(unit) = unit(rest).filter(|unit| unit.len > 1) {
            last = (at + unit.len, unit.byte);
        }
        match letter {
            letter if form.folds && letter.is_whitespace() => {
                if !out.is_empty() && !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            letter if letter.is_ascii_graphic() => out.push(letter),
            letter => push_visible(&mut out, letter),
        }
        at += letter.len_utf8();
    }
    if form.folds {
        out.truncate(out.trim_end().len());
    }
    Scrubbed(cut(out, form.limit).into())
}

/// Number of bytes of a secret, in any spelling, at the start of `rest`.
fn secret_at(secrets: &[Arc<Needles>], rest: &[u8], is_cut: bool) -> Option<usize> {
    let first = *rest.first()?;
    let likely = secrets.iter().filter(|needles| needles.first_bytes.contains(first));
    let forms = likely.flat_map(|needles| &needles.forms).filter(|(first_bytes, _)| first_bytes.contains(first));
    forms.map(|(_, needle)| needle).find_map(|needle| matches(needle, rest, is_cut))
}

impl Debug for Scrubber {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scrubber").field("needles", &self.needles.forms.len()).finish_non_exhaustive()
    }
}

/// Our own text with a caller's arguments: without control characters, and short.
pub fn printable(text: &str) -> String {
    let end = text.char_indices().nth(MAX_TEXT + 1).map_or(text.len(), |(end, _)| end);
    cut(visible(&text[..end]), MAX_TEXT)
}

/// Escapes control characters.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|letter| push_visible(&mut out, letter));
    out
}

/// Cuts a long text.
fn cut(mut text: String, limit: usize) -> String {
    const MARK: &str = "…";
    if text.len() > limit {
        let fits = |end: &usize| text.is_char_boundary(*end);
        text.truncate((0..=limit - MARK.len()).rev().find(fits).unwrap_or_default());
        text.push_str(MARK);
    }
    text
}

/// Control characters, and those that reorder or hide others.
fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{feff}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

fn push_visible(out: &mut String, letter: char) {
    if !is_invisible(letter) {
        return out.push(letter);
    }
    let _ = match letter {
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        _ if u32::from(letter) < 0x100 => write!(out, "\\x{:02x}", u32::from(letter)),
        _ => write!(out, "\\u{{{:x}}}", u32::from(letter)),
    };
}

/// The forms of a secret: plain, hex, and base64 alone and within a longer text.
fn needles_of(secret: &str) -> Vec<Needle> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut needles = vec![Needle::new(secret, secret.len() >= MIN_CASE_INSENSITIVE_LEN), Needle::new(&hex, true)];
    let mut add = |text: &str| {
        if text.len() >= MIN_PART_LEN {
            needles.push(Needle::new(text, false));
        }
    };
    for engine in [&STANDARD, &URL_SAFE] {
        add(engine.encode(secret).trim_end_matches('='));
        for shift in 0..3 {
            let base64 = engine.encode([&[0; 3][..shift], secret.as_bytes()].concat());
            // The letters that encode only bits of the secret.
            add(&base64[(shift * 8).div_ceil(6)..(shift + secret.len()) * 8 / 6]);
        }
    }
    needles
}

/// The lengths of a secret parameter's name, including its `=`, and of its value.
fn parameter_at(rest: &[u8], before: u8, ends: &[u8]) -> Option<(usize, usize)> {
    if before.is_ascii_alphanumeric() || !is_name_part(rest) {
        return None;
    }
    let (name, equals) = SECRET_PARAMETERS.iter().find_map(|name| {
        let len = matches(name, rest, false)?;
        unit(&rest[len..]).filter(|unit| unit.byte == b'=').map(|unit| (len, unit))
    })?;
    let name = name + equals.len;
    let mut value = 0;
    while let Some(unit) = unit(&rest[name + value..]) {
        // A delimiter with more encoding than the value belongs to it.
        if unit.depth <= equals.depth && ends.contains(&unit.byte) || unit.byte.is_ascii_whitespace() && unit.depth == 0
        {
            break;
        }
        value += unit.len;
    }
    (value > 0).then_some((name, value))
}

/// The lengths of the two slashes before a username and password, and of the part up to and including `@`.
fn userinfo_at(rest: &[u8], before: u8) -> Option<(usize, usize)> {
    if before != b':' {
        return None;
    }
    static SLASHES: Needle = Needle::case_insensitive(b"//");
    let slashes = matches(&SLASHES, rest, false)?;
    let depth = unit(rest)?.depth;
    let (mut at, mut end) = (slashes, None);
    while let Some(unit) = unit(&rest[at..]).filter(|_| at < MAX_USERINFO) {
        match unit.byte {
            b'@' => end = Some(at + unit.len),
            // An `@` with more encoding belongs to the password.
            _ if unit.depth > depth => {}
            b'/' | b'?' | b'#' | b'"' | b'<' | b'>' => break,
            byte if byte.is_ascii_whitespace() => break,
            _ => {}
        }
        at += unit.len;
    }
    end.map(|end| (slashes, end - slashes))
}

#[cfg(test)]
mod tests;
