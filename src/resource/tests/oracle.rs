//! A slow second implementation of the declarations, over `serde_json::Value`, that the engine must match. They share
//! only the path parser, the pure scalars and the schema.

use arrow_array::builder::{
    Float64Builder, Int64Builder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder, StringDictionaryBuilder,
};
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_schema::{DataType, Field, Schema};
use serde_json::Value;
use std::sync::Arc;
use tables::path::{self, Segment};
use tables::{Col, Context, Resource, Root, Src, Table, Ty, scalars, schema};

type Outcome<T> = Result<T, String>;

enum Scalar {
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Map(Vec<(String, Option<f64>)>),
}

/// One element of a level: its value, the element it lies in, its key and position there.
struct Element<'a> {
    value: &'a Value,
    parent: usize,
    key: &'a str,
    position: usize,
}

/// The root of a body that has one, with all its documents.
pub(super) fn root(resource: &Resource, body: &Value) -> Outcome<&'static Root> {
    let leading = |root: &&&'static str| match path::parse(root).first() {
        Some(Segment::Key(key)) => body.get(*key).is_some(),
        _ => false,
    };
    let roots: Vec<&'static str> = resource.roots.iter().map(|root| root.path).collect();
    let first = if body.is_array() { roots.iter().find(|r| r.starts_with('[')) } else { roots.iter().find(leading) };
    let path = first.or_else(|| roots.iter().find(|r| r.is_empty())).ok_or("no root")?;
    let root = resource.roots.iter().find(|root| root.path == *path).unwrap();
    let list = |value: Option<&Value>, or_one: bool, empty: bool| match value {
        Some(Value::Array(items)) if items.iter().all(Value::is_object) && (empty || !items.is_empty()) => Ok(()),
        Some(Value::Object(_)) if or_one => Ok(()),
        other => Err(format!("{other:?} is no list of objects")),
    };
    match path.split_once('[') {
        Some(("", _)) => list(Some(body), false, !root.needs_element)?,
        Some((key, rest)) => list(body.get(key), rest == "?]", true)?,
        None => {
            let need = |need: &&str| match need.strip_suffix("[]") {
                Some(key) => body.get(key).filter(|value| value.is_array()).map(drop),
                None => body.get(*need).filter(|value| !value.is_null()).map(drop),
            };
            let mut needs = root.needs.iter().map(need);
            let has_needs =
                if root.needs_any { needs.any(|value| value.is_some()) } else { needs.all(|value| value.is_some()) };
            if !body.is_object() || !has_needs {
                return Err("no document".into());
            }
        }
    }
    Ok(root)
}

/// Arrays that a root needs and that hold something else than objects.
fn needs_without_objects<'a>(root: &'a Root, body: &'a Value) -> impl Iterator<Item = &'static str> + 'a {
    let items = |need: &str| body.get(need.trim_end_matches("[]")).and_then(Value::as_array);
    root.needs.iter().copied().filter(move |need| items(need).is_some_and(|items| !items.iter().all(Value::is_object)))
}

/// Whether a body is a response of the resource.
pub(super) fn has_root(resource: &Resource, body: &Value) -> bool {
    root(resource, body).is_ok_and(|root| needs_without_objects(root, body).next().is_none())
}

pub(super) fn decode(
    resource: &'static Resource,
    table: &'static Table,
    columns: Option<&[String]>,
    body: &Value,
    context: &Context,
) -> Outcome<RecordBatch> {
    let place = root(resource, body)?;
    let root = path::parse(place.path);
    let row: Vec<Segment> = root.iter().copied().chain(path::parse(table.rows)).collect();
    if let Some(need) = needs_without_objects(place, body).find(|need| row.starts_with(&path::parse(need))) {
        return Err(format!("{need} holds what is no object"));
    }
    let levels = levels(&row, body)?;
    let rows = levels.last().map_or(0, Vec::len);
    // The element of each level that a row lies in.
    let above = |mut element: usize, level: usize| {
        for below in levels[level + 1..].iter().rev() {
            element = below[element].parent;
        }
        element
    };
    let read = |col: &Col| -> Outcome<ArrayRef> {
        if let Src::Absent = col.src {
            return Ok(array(col.ty, (0..rows).map(|_| None).collect()));
        }
        if let Src::Request(name) = col.src {
            let value = context.get(name);
            let scalar = |_| match (value, col.ty) {
                (Some(v), Ty::Int64) => v.parse().ok().filter(|_| !v.starts_with(['-', '+'])).map(Scalar::Int),
                (v, _) => v.map(|v| Scalar::Text(v.into())),
            };
            return if col.required && scalar(0).is_none() {
                Err(format!("{} is required", col.name))
            } else {
                Ok(array(col.ty, (0..rows).map(scalar).collect()))
            };
        }
        let (Src::Path(text) | Src::Key(text) | Src::Index(text)) = col.src else { unreachable!() };
        let place = path::absolute(&root, &row, text);
        let level = place.iter().filter(|s| s.is_level()).count();
        let values: Vec<Outcome<Option<&Value>>> =
            levels[level].iter().map(|e| member(e.value, &place[path::scope(&place)..])).collect();
        if let Src::Path(_) = col.src {
            for value in &values {
                scalar(col.ty, value.clone()?)?;
            }
        }
        let of_request = || Some(Scalar::Text(context.get(col.or_request?)?.into()));
        let of_row = |r: usize| {
            if let (true, Some(value)) = (col.by_request, of_request()) {
                return Ok(Some(value));
            }
            let element = above(r, level);
            Ok(match col.src {
                Src::Key(_) => Some(Scalar::Text(levels[level][element].key.into())),
                Src::Index(_) => Some(Scalar::Int(levels[level][element].position as i64)),
                _ => scalar(col.ty, values[element].clone()?)?,
            }
            .or_else(of_request))
        };
        let scalars: Vec<Option<Scalar>> = (0..rows).map(of_row).collect::<Outcome<_>>()?;
        if col.required && scalars.iter().any(Option::is_none) {
            return Err(format!("{} is required", col.name));
        }
        Ok(array(col.ty, scalars))
    };
    let by_name = |name: &str| table.cols.iter().find(|c| c.name == name);
    let make = |col: &Col| match col.src {
        Src::Derived(derivation) => {
            let inputs: Outcome<Vec<ArrayRef>> = derivation.inputs.iter().map(|n| read(by_name(n).unwrap())).collect();
            Ok((derivation.make)(&inputs?, context))
        }
        _ => read(col),
    };
    let names: Vec<String> = match columns {
        Some(names) => names.to_vec(),
        None => table.cols.iter().filter(|c| !c.is_hidden).map(|c| c.name.into()).collect(),
    };
    let mut extra: Vec<String> = Vec::new();
    let object = |r: usize| match table.open {
        Some(open) => match member(levels.last().unwrap()[r].value, &path::parse(open))? {
            Some(value) if !value.is_object() => Err(format!("{value} is no object")),
            value => Ok(value),
        },
        None => Ok(None),
    };
    // If only declared columns are requested, the open object is not read.
    let open_rows = if columns.is_none() || names.iter().any(|n| by_name(n).is_none()) { rows } else { 0 };
    for r in 0..open_rows {
        for (key, _) in object(r)?.and_then(Value::as_object).into_iter().flatten() {
            if by_name(key).is_none() && !extra.contains(key) {
                extra.push(key.clone());
            }
        }
    }
    extra.sort();
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    let all = if columns.is_none() { extra.as_slice() } else { &[] };
    for name in names.iter().chain(all) {
        if let Some(col) = by_name(name) {
            fields.push(schema::field(col));
            arrays.push(make(col)?);
        } else {
            if !extra.contains(name) {
                return Err(format!("no column {name}"));
            }
            let value = |r| scalar(Ty::Float64, object(r)?.and_then(|o| o.get(name)).filter(|v| !v.is_null()));
            fields.push(Arc::new(Field::new(name, DataType::Float64, true)));
            arrays.push(array(Ty::Float64, (0..rows).map(value).collect::<Outcome<_>>()?));
        }
    }
    let schema = Arc::new(Schema::new(fields).with_metadata(schema::metadata(table)));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(|e| e.to_string())
}

/// The elements of each level on the way to the rows.
fn levels<'a>(row: &[Segment], body: &'a Value) -> Outcome<Vec<Vec<Element<'a>>>> {
    let element = |value, parent, key, position| Element { value, parent, key, position };
    let mut levels = vec![if body.is_null() { vec![] } else { vec![element(body, 0, "", 0)] }];
    for part in row.split_inclusive(|s| s.is_level()) {
        let (bracket, keys) = part.split_last().unwrap();
        let mut next = Vec::new();
        for (parent, above) in levels.last().unwrap().iter().enumerate() {
            match (bracket, member(above.value, keys)?) {
                (_, None) => {}
                (Segment::Map, Some(Value::Object(map))) => {
                    next.extend(map.iter().map(|(key, value)| element(value, parent, key, 0)));
                }
                (Segment::Each | Segment::EachOrOne, Some(Value::Array(items))) => {
                    next.extend(items.iter().enumerate().map(|(i, value)| element(value, parent, "", i)));
                }
                (Segment::EachOrOne, Some(value)) => next.push(element(value, parent, "", 0)),
                (_, Some(value)) => return Err(format!("{value} is no container")),
            }
        }
        levels.push(next);
    }
    Ok(levels)
}

/// A member below a value; `None` if it, or an object above it, is null or missing.
fn member<'a>(value: &'a Value, keys: &[Segment]) -> Outcome<Option<&'a Value>> {
    let Some((Segment::Key(key), rest)) = keys.split_first() else {
        return Ok(Some(value).filter(|v| !v.is_null()));
    };
    match value {
        Value::Null => Ok(None),
        Value::Object(map) => map.get(*key).map_or(Ok(None), |value| member(value, rest)),
        _ => Err(format!("{value} is no object")),
    }
}

fn scalar(ty: Ty, value: Option<&Value>) -> Outcome<Option<Scalar>> {
    let Some(value) = value else { return Ok(None) };
    let ints = |value: &Value| -> Outcome<Vec<Option<i64>>> {
        match value {
            Value::Array(items) => {
                items.iter().map(|v| if v.is_null() { Ok(None) } else { integer(v).map(Some) }).collect()
            }
            _ => Err(format!("{value} is no array")),
        }
    };
    Ok(match ty {
        Ty::Int64 => Some(Scalar::Int(integer(value)?)),
        Ty::Count => number(value).map(|_| integer(value).ok().map(Scalar::Int))?,
        Ty::TimestampMs => {
            let cut = || float(value).ok().map(f64::floor).filter(|f| f.abs() < 9.2e18).map(|f| f as i64);
            number(value).map(|_| integer(value).ok().or_else(cut).map(Scalar::Int))?
        }
        Ty::Int32 => Some(Scalar::Int(i32::try_from(integer(value)?).map_err(|e| e.to_string())?.into())),
        Ty::Float64 => Some(Scalar::Float(float(value)?)),
        Ty::IsTeamTotal => Some(Scalar::Bool(integer(value)? == 0)),
        Ty::Bool => match value {
            Value::Bool(b) => Some(Scalar::Bool(*b)),
            Value::Number(n) if n.as_f64() == Some(0.0) => Some(Scalar::Bool(false)),
            Value::Number(n) if n.as_f64() == Some(1.0) => Some(Scalar::Bool(true)),
            _ => return Err(format!("{value} is no boolean")),
        },
        Ty::IsMake => match value {
            Value::String(s) => match s.as_str() {
                "MAKE" => Some(Scalar::Bool(true)),
                "MISS" => Some(Scalar::Bool(false)),
                _ => None,
            },
            _ => return scalar(Ty::Bool, Some(value)),
        },
        Ty::Text | Ty::Category => Some(Scalar::Text(text(value)?)),
        Ty::Links => links(value)?.map(Scalar::Text),
        Ty::LinkId => {
            let id = links(value)?.and_then(|l| scalars::link_text(l.as_bytes(), "id").map(<[u8]>::to_vec));
            id.map(|text| Scalar::Text(String::from_utf8(text).unwrap()))
        }
        Ty::MapFloat64 => match value {
            Value::Object(map) => {
                let entry = |(key, value): (&String, &Value)| match value {
                    Value::Null => Ok((key.clone(), None)),
                    _ => Ok((key.clone(), Some(float(value)?))),
                };
                Some(Scalar::Map(map.iter().map(entry).collect::<Outcome<_>>()?))
            }
            _ => return Err(format!("{value} is no object")),
        },
        Ty::ListInt64 => Some(Scalar::Ints(ints(value)?)),
        Ty::ListText => Some(Scalar::Texts(texts(value)?)),
        Ty::LineupId => {
            let mut ids: Vec<i64> = ints(value)?.into_iter().flatten().collect();
            ids.sort_unstable();
            let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
            Some(Scalar::Text(ids.join("-")))
        }
        Ty::ClockSeconds => match value {
            Value::String(s) => scalars::any_clock(s.as_bytes()).map(Scalar::Float),
            Value::Number(n) => n.as_f64().map(Scalar::Float),
            _ => None,
        },
        Ty::LinkFrom | Ty::LinkTo => scalars::link_ms(text(value)?.as_bytes(), ty).map(Scalar::Int),
        Ty::BeforeAt => text(value)?.split_once('@').map(|(before, _)| Scalar::Text(before.into())),
        Ty::AfterAt => text(value)?.split_once('@').map(|(_, after)| Scalar::Text(after.into())),
    })
}

fn texts(value: &Value) -> Outcome<Vec<Option<String>>> {
    match value {
        Value::Array(items) => items.iter().map(|v| if v.is_null() { Ok(None) } else { text(v).map(Some) }).collect(),
        _ => Err(format!("{value} is no array")),
    }
}

fn links(value: &Value) -> Outcome<Option<String>> {
    if !value.is_array() {
        return text(value).map(Some);
    }
    let links: Vec<String> = texts(value)?.into_iter().flatten().collect();
    Ok(if links.is_empty() { None } else { Some(links.join(" ")) })
}

fn text(value: &Value) -> Outcome<String> {
    match value {
        Value::String(s) => Ok(s.clone()),
        Value::Number(n) => Ok(n.to_string()),
        _ => Err(format!("{value} is no text")),
    }
}

/// A number, or a string that is one; leading zeros are for strings only.
fn number(value: &Value) -> Outcome<serde_json::Number> {
    match value {
        Value::Number(n) => Ok(n.clone()),
        Value::String(s) => {
            let (sign, digits) = s.strip_prefix('-').map_or(("", s.as_str()), |digits| ("-", digits));
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            let zeros = if plain { digits.trim_start_matches('0') } else { digits };
            let text = if plain && zeros.is_empty() { format!("{sign}0") } else { format!("{sign}{zeros}") };
            serde_json::from_str(&text).ok().filter(|_| text.trim() == text).ok_or(format!("{s:?} is no number"))
        }
        _ => Err(format!("{value} is no number")),
    }
}

fn integer(value: &Value) -> Outcome<i64> {
    let number = number(value)?;
    let exact = |f: f64| (f.fract() == 0.0 && f.abs() < 9.2e18).then_some(f as i64);
    number.as_i64().or_else(|| exact(number.as_f64()?)).ok_or(format!("{number} is no integer"))
}

fn float(value: &Value) -> Outcome<f64> {
    Ok(number(value)?.as_f64().unwrap())
}

fn array(ty: Ty, values: Vec<Option<Scalar>>) -> ArrayRef {
    let ints = || values.iter().map(|v| if let Some(Scalar::Int(i)) = v { Some(*i) } else { None });
    let texts = || values.iter().map(|v| if let Some(Scalar::Text(t)) = v { Some(t.as_str()) } else { None });
    match ty {
        Ty::Int64 | Ty::Count => {
            // A request's value fills in as text.
            let int = |v: &Option<Scalar>| match v {
                Some(Scalar::Int(i)) => Some(*i),
                Some(Scalar::Text(t)) => t.parse().ok(),
                _ => None,
            };
            Arc::new(values.iter().map(int).collect::<Int64Array>())
        }
        Ty::Int32 => Arc::new(ints().map(|v| v.map(|i| i as i32)).collect::<Int32Array>()),
        Ty::TimestampMs | Ty::LinkFrom | Ty::LinkTo => {
            Arc::new(ints().collect::<TimestampMillisecondArray>().with_timezone("UTC"))
        }
        Ty::Float64 | Ty::ClockSeconds => {
            let float = |v: &Option<Scalar>| if let Some(Scalar::Float(f)) = v { Some(*f) } else { None };
            Arc::new(values.iter().map(float).collect::<Float64Array>())
        }
        Ty::Bool | Ty::IsTeamTotal | Ty::IsMake => {
            let bool = |v: &Option<Scalar>| if let Some(Scalar::Bool(b)) = v { Some(*b) } else { None };
            Arc::new(values.iter().map(bool).collect::<BooleanArray>())
        }
        Ty::Category => {
            let mut builder = StringDictionaryBuilder::<Int32Type>::new();
            texts().for_each(|t| builder.append_option(t));
            Arc::new(builder.finish())
        }
        Ty::ListInt64 => {
            let mut builder = ListBuilder::new(Int64Builder::new());
            for value in &values {
                builder.append_option(if let Some(Scalar::Ints(list)) = value { Some(list.clone()) } else { None });
            }
            Arc::new(builder.finish())
        }
        Ty::ListText => {
            let mut builder = ListBuilder::new(StringBuilder::new());
            for value in &values {
                builder.append_option(if let Some(Scalar::Texts(list)) = value { Some(list.clone()) } else { None });
            }
            Arc::new(builder.finish())
        }
        Ty::MapFloat64 => {
            let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
            let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), Float64Builder::new());
            for value in &values {
                let map = if let Some(Scalar::Map(map)) = value { Some(map) } else { None };
                for (key, value) in map.into_iter().flatten() {
                    builder.keys().append_value(key);
                    builder.values().append_option(*value);
                }
                builder.append(map.is_some()).unwrap();
            }
            Arc::new(builder.finish())
        }
        _ => Arc::new(texts().collect::<StringArray>()),
    }
}
