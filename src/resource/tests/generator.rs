//! Random bodies of a resource, made from its declarations, in every notation that a service may use.

use crate::fuzz::Random;
use tables::path::{self, Segment};
use tables::{Resource, Root, Src, Ty};

/// The declared paths of a resource from the body, all tables together.
#[derive(Default, Clone)]
struct Shape {
    fields: Vec<(&'static str, Shape)>,
    item: Option<(Segment, Box<Shape>)>,
    map: Option<Box<Shape>>,
    types: Vec<Ty>,
    required: bool,
    /// An array that is never empty.
    needs_element: bool,
}

impl Shape {
    fn of(resource: &Resource, place: &Root) -> Shape {
        let mut shape = Shape { needs_element: place.needs_element, ..Shape::default() };
        let root = path::parse(place.path);
        // A body without its root is an error, and shows nothing else.
        for key in place.needs.iter().map(|need| need.trim_end_matches("[]")) {
            shape.at(&path::parse(key)).required = true;
        }
        if let Some(leading @ Segment::Key(_)) = root.first() {
            shape.at(&[*leading]).required = true;
        }
        for table in resource.tables {
            let row: Vec<Segment> = root.iter().copied().chain(path::parse(table.rows)).collect();
            shape.at(&row);
            for col in table.cols {
                if let Src::Path(text) = col.src {
                    let leaf = shape.at(&path::absolute(&root, &row, text));
                    leaf.types.push(col.ty);
                    leaf.required |= col.required;
                }
            }
        }
        shape
    }

    fn at(&mut self, path: &[Segment]) -> &mut Shape {
        path.iter().fold(self, |shape, segment| match segment {
            Segment::Key(key) => {
                let at = shape.fields.iter().position(|(k, _)| k == key).unwrap_or_else(|| {
                    shape.fields.push((key, Shape::default()));
                    shape.fields.len() - 1
                });
                &mut shape.fields[at].1
            }
            Segment::Map => shape.map.get_or_insert_default(),
            kind => &mut shape.item.get_or_insert_with(|| (*kind, Box::default())).1,
        })
    }
}

/// How strange a body may be, in percent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    pub missing: usize,
    pub null: usize,
    pub unknown_keys: usize,
    pub(crate) is_shuffled: bool,
    /// Wrong kinds and missing ids: the body may be an error.
    pub invalid: usize,
    /// Keys said twice.
    pub policy: usize,
    /// Numbers as text, integers as floats, escapes where none are needed.
    pub unusual: usize,
    pub(crate) spaces: Spaces,
    pub max_items: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Spaces {
    None,
    One,
    Indented,
    Wild,
}

impl Manner {
    pub(super) fn any(random: &mut Random) -> Manner {
        let percent = |random: &mut Random| random.pick(&[0, 0, 5, 30]);
        Manner {
            missing: percent(random),
            null: percent(random),
            unknown_keys: percent(random),
            is_shuffled: random.chance(50),
            invalid: 0,
            policy: 0,
            unusual: percent(random),
            spaces: random.pick(&[Spaces::None, Spaces::One, Spaces::Indented, Spaces::Wild]),
            max_items: random.pick(&[1, 3, 6]),
        }
    }
}

/// A body of a resource whose documents lie at `root`.
pub(super) fn body(resource: &Resource, root: &Root, manner: Manner, random: &mut Random) -> String {
    let mut writer = JsonWriter { text: String::new(), manner, random, depth: 0 };
    if writer.random.chance(5) {
        writer.text.push('\u{feff}');
    }
    writer.space();
    // The root's members must be present, or the body is read from another root.
    writer.value(&Shape::of(resource, root), true);
    writer.space();
    writer.text
}

struct JsonWriter<'a> {
    text: String,
    manner: Manner,
    random: &'a mut Random,
    depth: usize,
}

const CODES: &[&str] = &[
    "FGA",
    "FG",
    "PTS",
    "TO",
    "FG3",
    "DIST",
    "REB",
    "LBTO",
    "FGA_OTD",
    "FGA3_OTD",
    "a code longer than any key is",
    "é",
    "TEAM_SCORE",
    "version",
    "",
    "Q\"1\\",
    "team_id",
];
const WORDS: &[&str] = &[
    "",
    "Q1",
    "GAME_ROUND",
    "BASKETBALL",
    "Iowa State",
    "São Paulo",
    "🏀",
    "a\"b\\c\n\u{1}",
    "exactly8",
    "sixteen bytes is!",
    "a text that is longer than the two words that are copied at once",
    "12",
    "null",
    "}]",
];
const CLOCKS: &[&str] = &[
    "12:30.0",
    "12:30.1",
    "1:2.3",
    "02.00",
    "4.5",
    "00:15:00",
    "0:00.0",
    "19:59.9",
    "END",
    "",
    "12:",
    "::",
    "1:2:3:4",
    "7.123456789",
    "100:00",
];
const LINKS: &[&str] = &[
    "https://api.shottracker.com/v1/data/sensors/locations?id=a&from=1700000000000&to=1700001800000",
    "https://api.shottracker.com/v1/data/games/0b0c",
    "/v1/data/x?to=5&from=3#f",
    "https://h/x?from=a&to=",
];

impl JsonWriter<'_> {
    fn space(&mut self) {
        match self.manner.spaces {
            Spaces::Wild => {
                for _ in 0..self.random.below(4) {
                    let blank = self.random.pick(&[' ', '\n', '\t', '\r']);
                    self.text.push(blank);
                }
            }
            Spaces::Indented if !self.text.is_empty() => {
                self.text.push('\n');
                self.text.push_str(&"  ".repeat(self.depth));
            }
            _ => {}
        }
    }

    fn list<T>(&mut self, spans: [char; 2], items: Vec<T>, mut write: impl FnMut(&mut Self, T)) {
        self.text.push(spans[0]);
        self.depth += 1;
        let empty = items.is_empty();
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                self.text.push(',');
                if self.manner.spaces == Spaces::One {
                    self.text.push(' ');
                }
            }
            self.space();
            write(self, item);
            if self.manner.spaces == Spaces::Wild {
                self.space();
            }
        }
        self.depth -= 1;
        if !empty {
            self.space();
        }
        self.text.push(spans[1]);
    }

    fn value(&mut self, shape: &Shape, present: bool) {
        if !present && self.random.chance(self.manner.invalid) {
            return self.anything();
        }
        if !present && !shape.required && self.random.chance(self.manner.null) {
            return self.text.push_str("null");
        }
        if let Some((kind, item)) = &shape.item {
            let count = self.random.below(self.manner.max_items + 1).max(usize::from(shape.needs_element));
            if *kind == Segment::EachOrOne && self.random.chance(30) {
                return self.value(item, true);
            }
            // A null element would lack its ids.
            self.list(['[', ']'], vec![(); count], |w, ()| {
                let right = !w.random.chance(w.manner.invalid);
                w.value(item, right);
            });
        } else if !shape.fields.is_empty() || shape.map.is_some() {
            self.object(shape);
        } else {
            self.leaf(&shape.types);
        }
    }

    fn object(&mut self, shape: &Shape) {
        enum Member<'s> {
            Field(&'static str, &'s Shape),
            Entry(String, &'s Shape),
            UnknownPath,
        }
        let mut members = Vec::new();
        for (key, field) in &shape.fields {
            let is_invalid = self.random.chance(self.manner.invalid);
            let leads = self.depth == 0 && shape.fields.len() == 1;
            if leads || (field.required && !is_invalid) || !self.random.chance(self.manner.missing) {
                members.push(Member::Field(key, field));
            }
        }
        if let Some(entry) = &shape.map {
            for code in CODES {
                let is_declared = shape.fields.iter().any(|(k, _)| k == code);
                if !is_declared && self.random.below(CODES.len()) < self.manner.max_items {
                    members.push(Member::Entry((*code).into(), entry));
                }
            }
        }
        // Each value of a map is an element, known or not.
        while shape.map.is_none() && self.random.chance(self.manner.unknown_keys) {
            members.push(Member::UnknownPath);
        }
        if self.manner.is_shuffled {
            self.random.shuffle(&mut members);
        }
        if !members.is_empty() && self.random.chance(self.manner.policy) {
            match members[self.random.below(members.len())] {
                Member::Field(key, field) => members.push(Member::Field(key, field)),
                Member::Entry(ref key, entry) => members.push(Member::Entry(key.clone(), entry)),
                Member::UnknownPath => {}
            }
        }
        let has_map = shape.map.is_some();
        self.list(['{', '}'], members, |w, member| match member {
            Member::Field(key, field) => {
                w.key(key);
                let leads = w.depth == 1 && field.item.is_some();
                w.value(field, leads);
            }
            Member::Entry(key, entry) => {
                w.key(&key);
                w.value(entry, false);
            }
            Member::UnknownPath => {
                let name = format!("new_{}", w.random.below(6));
                w.key(&name);
                if has_map { w.text.push('7') } else { w.anything() }
            }
        });
    }

    fn key(&mut self, key: &str) {
        self.string(key);
        if self.manner.spaces == Spaces::Wild {
            self.space();
        }
        self.text.push(':');
        match self.manner.spaces {
            Spaces::None => {}
            Spaces::Wild => self.space(),
            _ => self.text.push(' '),
        }
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        let escape = self.random.chance(self.manner.unusual);
        for c in text.chars() {
            match c {
                '"' | '\\' => self.text.extend(['\\', c]),
                _ if (c as u32) < 0x20 || (escape && self.random.chance(30)) => {
                    let mut units = [0; 2];
                    for unit in c.encode_utf16(&mut units) {
                        self.text.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                _ => self.text.push(c),
            }
        }
        self.text.push('"');
    }

    fn integer(&mut self) {
        let value: i64 = match self.random.below(5) {
            0 => 0,
            1 => self.random.below(100) as i64,
            2 => self.random.below(100_000_000) as i64 - 50_000_000,
            3 => 1_700_000_000_000 + self.random.below(1_000_000_000) as i64,
            _ => self.random.word() as i64 >> 12,
        };
        if !self.random.chance(self.manner.unusual) {
            return self.text.push_str(&value.to_string());
        }
        let text = match self.random.below(4) {
            0 => format!("\"{value}\""),
            1 => format!("{value}.0"),
            2 => format!("{value}e0"),
            _ => format!("\"{value}.00\""),
        };
        self.text.push_str(&text);
    }

    fn float(&mut self) {
        let text = match self.random.below(6) {
            0 => (self.random.below(30_000) as i64 - 15_000).to_string(),
            1 => format!("{}.{}", self.random.below(1000), self.random.below(1000)),
            2 => format!("-{}.{:03}", self.random.below(20_000), self.random.below(1000)),
            3 => format!("{:e}", self.random.word() as f64 / 1e7),
            4 => format!("{}", f64::from_bits(self.random.word() >> 2)),
            _ => format!("0.{:017}", self.random.below(1_000_000_000)),
        };
        if self.random.chance(self.manner.unusual) {
            self.text.push_str(&format!("\"{text}\""));
        } else {
            self.text.push_str(&text);
        }
    }

    /// A value that all of these types accept.
    fn leaf(&mut self, types: &[Ty]) {
        let has_type = |predicate: fn(&Ty) -> bool| types.iter().any(predicate);
        if has_type(|t| matches!(t, Ty::Int64 | Ty::Count | Ty::IsTeamTotal | Ty::TimestampMs | Ty::Int32)) {
            self.integer();
        } else if has_type(|t| *t == Ty::Float64) {
            self.float();
        } else if has_type(|t| *t == Ty::MapFloat64) {
            self.entries();
        } else if has_type(|t| *t == Ty::IsMake) {
            let is_unusual = self.random.chance(self.manner.unusual);
            let known_words: &[&str] = &["\"MAKE\"", "\"MISS\"", "true", "false", "\"M\\u0041KE\""];
            let word = self.random.pick(if is_unusual { &["\"BLOCKED\"", "\"made\"", "0"] } else { known_words });
            self.text.push_str(word);
        } else if has_type(|t| *t == Ty::Bool) {
            let is_unusual = self.random.chance(self.manner.unusual);
            let text = self.random.pick(if is_unusual { &["1", "0", "1.0"] } else { &["true", "false", "true"] });
            self.text.push_str(text);
        } else if has_type(|t| *t == Ty::ClockSeconds) {
            if self.random.chance(self.manner.unusual) {
                let clock = self.random.below(900).to_string();
                self.text.push_str(&clock);
            } else {
                let clock = self.random.pick(CLOCKS);
                self.string(clock);
            }
        } else if has_type(|t| matches!(t, Ty::LinkFrom | Ty::LinkTo)) {
            self.string(LINKS[0]);
        } else if has_type(|t| matches!(t, Ty::Links | Ty::LinkId)) {
            let link = |w: &mut Self| {
                let link = w.random.pick(LINKS);
                w.string(link);
            };
            if self.random.chance(70) {
                link(self);
            } else {
                let count = self.random.below(4);
                self.list(['[', ']'], vec![(); count], |w, ()| {
                    if w.random.chance(w.manner.null) { w.text.push_str("null") } else { link(w) }
                });
            }
        } else if has_type(|t| matches!(t, Ty::ListInt64 | Ty::LineupId)) {
            let count = self.random.below(7);
            self.list(['[', ']'], vec![(); count], |w, ()| {
                if w.random.chance(w.manner.null) { w.text.push_str("null") } else { w.integer() }
            });
        } else if has_type(|t| *t == Ty::ListText) {
            let count = self.random.below(4);
            self.list(['[', ']'], vec![(); count], |w, ()| {
                if w.random.chance(w.manner.null) {
                    w.text.push_str("null");
                } else {
                    let word = w.random.pick(WORDS);
                    w.string(word);
                }
            });
        } else if has_type(|t| *t == Ty::BeforeAt) {
            let id = self.random.pick(&["court@facility", "/court/facility", "@", "a@b@c", ""]);
            self.string(id);
        } else if self.random.chance(self.manner.unusual) {
            let number = self.random.below(100_000).to_string();
            self.text.push_str(&number);
        } else {
            let word = self.random.pick(WORDS);
            self.string(word);
        }
    }

    /// A map of numbers that is one value.
    fn entries(&mut self) {
        let mut keys: Vec<&str> =
            CODES.iter().copied().filter(|_| self.random.below(CODES.len()) < self.manner.max_items).collect();
        if !keys.is_empty() && self.random.chance(self.manner.policy) {
            keys.push(keys[0]);
        }
        self.list(['{', '}'], keys, |w, key| {
            w.key(key);
            if w.random.chance(w.manner.invalid) {
                w.anything();
            } else if w.random.chance(w.manner.null) {
                w.text.push_str("null");
            } else {
                w.float();
            }
        });
    }

    fn anything(&mut self) {
        match self.random.below(if self.depth > 8 { 6 } else { 8 }) {
            0 => self.text.push_str("null"),
            1 => self.text.push_str("true"),
            // As serde_json writes it: a text column keeps the token, and the oracle has only the number.
            2 => self.text.push_str("-0.25"),
            3 => self.text.push_str("1.5"),
            4 | 5 => {
                let word = self.random.pick(WORDS);
                self.string(word);
            }
            6 => {
                let count = self.random.below(3);
                self.list(['[', ']'], vec![(); count], |w, ()| w.anything());
            }
            _ => {
                let count = self.random.below(3);
                self.list(['{', '}'], (0..count).collect(), |w, i| {
                    w.key(&format!("deep_{i}"));
                    w.anything();
                });
            }
        }
    }
}
