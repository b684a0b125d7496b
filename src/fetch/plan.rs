//! A request for many ids as units, one for each id, in their order. All arguments are checked before anything is sent.

use super::Payload;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::operation::{self, Arguments, Call, Merge, Value};
use crate::resource::coverage::Covered;

#[derive(Debug, Clone)]
pub struct Unit {
    /// Or why it cannot be sent.
    pub call: Result<Call>,
    /// Its row of `coverage`, without an outcome.
    pub row: Covered,
}

/// A value that is not an id may be of any length: its unit is named by so many characters of it.
const MAX_UNSENT_ID_CHARS: usize = 200;

/// An id ready to be sent, or its text and why it cannot be sent.
pub type PlannedId = std::result::Result<Value, (String, String)>;

/// A payload without a response, which knows the tables even if there are no units, and the units. `name` is the argument
/// that takes the ids, `rest` the others; `game_ids` has the game of each id, or is empty. Errors that do not depend on an
/// id fail the plan; an invalid id fails one unit.
pub fn plan(
    operation: &str,
    name: &str,
    ids: &[PlannedId],
    game_ids: &[Option<PlannedId>],
    rest: &Arguments,
    config: &Config,
) -> Result<(Payload, Vec<Unit>)> {
    let time = |name| {
        let argument = rest.iter().find(|(argument, _)| argument == name);
        argument.and_then(|(_, value)| operation::time(name, value.clone()).ok())
    };
    let (start, end) = (time("start"), time("end"));
    let mut units = Vec::with_capacity(ids.len());
    for (place, id) in ids.iter().enumerate() {
        let game_id = game_ids.get(place).and_then(Option::as_ref).map(|id| ("game_id", id.as_ref()));
        let of_all = rest.iter().map(|(name, value)| (name.as_str(), Ok(value)));
        let inputs: Vec<_> = std::iter::once((name, id.as_ref())).chain(game_id).chain(of_all).collect();
        let arguments = inputs.iter().map(|(name, value)| match value {
            Ok(value) => Ok(((*name).to_owned(), (*value).clone())),
            Err((_, reason)) => Err(Error::Argument(reason.clone())),
        });
        let call =
            arguments.collect::<Result<_>>().and_then(|arguments| operation::call(operation, &arguments, config));
        let longest = if call.is_ok() { usize::MAX } else { MAX_UNSENT_ID_CHARS };
        let first = |names: &[&str]| -> Option<String> {
            let (_, value) = inputs.iter().find(|(name, _)| names.contains(name))?;
            Some(written(value).chars().take(longest).collect())
        };
        let row = Covered {
            operation: operation.to_owned(),
            unit: format!("{operation}/{}", first(&[name]).unwrap_or_default()),
            // An id from another system may not be numeric.
            team_id: first(&["team_id"]).and_then(|id| id.parse().ok()),
            game_id: first(&["game_id", "schedule_id"]),
            session_id: first(&["session_id"]),
            start,
            end,
            ..Covered::default()
        };
        let call = match call {
            Err(Error::Argument(reason)) => Err(Error::Argument(format!("{name}[{place}]: {reason}"))),
            call => Ok(call?),
        };
        units.push(Unit { call, row });
    }
    let any = std::iter::once((name.to_owned(), Value::Text(name.to_owned()))).chain(rest.iter().cloned()).collect();
    let any = operation::call(operation, &any, config)?;
    let request = any.first()?;
    let shape =
        Payload::from_answers(request.operation, Vec::new(), Merge::Single, request.sport, request.context.clone())?;
    Ok((shape, units))
}

fn written(id: &std::result::Result<&Value, &(String, String)>) -> String {
    match id {
        Ok(Value::Text(text)) => text.clone(),
        Ok(other) => other.to_string(),
        Err((text, _)) => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::ClientOptions;

    fn plan_units(operation: &str, name: &str, ids: &[Value], rest: &[(&str, Value)]) -> Result<(Payload, Vec<Unit>)> {
        let config = ClientOptions::default().resolve(&|_| None).unwrap();
        let rest: Arguments = rest.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let ids: Vec<PlannedId> = ids.iter().cloned().map(Ok).collect();
        plan(operation, name, &ids, &[], &rest, &config)
    }

    fn refusal<T: std::fmt::Debug>(plan: Result<T>) -> String {
        match plan {
            Err(Error::Argument(text)) => text,
            other => panic!("not refused as an argument: {other:?}"),
        }
    }

    #[test]
    fn each_id_is_a_unit_in_its_place() {
        let ids = [Value::Text("b".into()), Value::Int(7), Value::Text("b".into())];
        let (start, end) = (1_793_534_400_000, 1_793_534_400_000 + 4_999_000);
        let rest = [("start", Value::Int(start)), ("end", Value::Int(end))];
        let (_, units) = plan_units("locations", "session_id", &ids, &rest).unwrap();
        let sessions: Vec<_> = units.iter().map(|unit| unit.row.session_id.clone().unwrap()).collect();
        assert_eq!(sessions, ["b", "7", "b"]);
        // Windows of half an hour, within each unit.
        assert!(units.iter().all(|unit| unit.call.as_ref().unwrap().requests.len() == 3));
        assert_eq!((units[0].row.start, units[0].row.end), (Some(start), Some(end)));
        let (_, schedule) = plan_units("broadcast_stats", "schedule_id", &ids[..1], &[]).unwrap();
        assert_eq!(schedule[0].row.game_id.as_deref(), Some("b"));
    }

    #[test]
    fn no_ids_are_a_plan_that_knows_its_tables() {
        let (shape, units) =
            plan_units("catch_up", "game_id", &[], &[("resources", Value::Text("shots".into()))]).unwrap();
        assert_eq!((units.len(), shape.tables()), (0, vec!["shots"]));
    }

    #[test]
    fn a_wrong_id_is_one_unit_s_failure_and_a_wrong_argument_all_of_them() {
        let ids = [Value::Int(1), Value::Text("a/b".into()), Value::Int(2)];
        let (_, units) = plan_units("stats", "session_id", &ids, &[]).unwrap();
        assert_eq!(
            units.iter().map(|unit| unit.row.unit.as_str()).collect::<Vec<_>>(),
            ["stats/1", "stats/a/b", "stats/2"]
        );
        assert_eq!(units.iter().map(|unit| unit.call.is_ok()).collect::<Vec<_>>(), [true, false, true]);
        let Err(Error::Argument(reason)) = &units[1].call else { panic!() };
        assert!(reason.starts_with("session_id[1]: session_id \"a/b\""), "{reason}");
        let nonsense = [("start", Value::Text("soon".into())), ("end", Value::Int(9))];
        assert!(refusal(plan_units("locations", "session_id", &[], &nonsense)).starts_with("start \"soon\""));
        assert!(refusal(plan_units("stats", "session_id", &[], &[("x", Value::Int(1))])).contains("no argument"));
    }

    #[test]
    fn each_id_may_have_a_game_of_its_own() {
        let config = ClientOptions::default().resolve(&|_| None).unwrap();
        let ids: Vec<PlannedId> = ["a", "b", "c"].map(|id| Ok(Value::Text(id.into()))).to_vec();
        let games = [Some(Ok(Value::Text("g".into()))), None, Some(Ok(Value::Text("g/".into())))];
        let (_, units) = plan("stats", "session_id", &ids, &games, &Arguments::new(), &config).unwrap();
        let calls: Vec<_> = units.iter().filter_map(|unit| unit.call.as_ref().ok()).collect();
        let games: Vec<_> = calls.iter().map(|call| call.requests[0].context.get("game_id")).collect();
        assert_eq!(games, [Some("g"), None]);
        assert_eq!(units[0].row.game_id.as_deref(), Some("g"));
        assert!(units[2].call.is_err());
    }
}
