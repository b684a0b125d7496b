//! A question for many ids, as units of work: one operation for one id, in the order of the ids. All of it is checked here,
//! before a byte is sent.

use super::Payload;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::operation::{self, Arguments, Call, Join, Value};

/// One operation for one id.
#[derive(Debug, Clone)]
pub struct Unit {
    pub call: Call,
    pub keys: Keys,
}

/// What names a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    pub operation: &'static str,
    pub team_id: Option<String>,
    pub game_id: Option<String>,
    pub session_id: Option<String>,
    pub start: Option<i64>,
    pub end: Option<i64>,
}

#[derive(Debug, Clone)]
pub struct Plan {
    /// A payload without an answer: it knows the tables, whether there are units or not.
    pub shape: Payload,
    pub units: Vec<Unit>,
}

/// `name` is the argument that takes the ids, `rest` the others. What is wrong without regard to the ids is told as for one
/// id, what is wrong with one of them with its place.
pub fn plan(operation: &str, name: &str, ids: &[Value], rest: &Arguments, config: &Config) -> Result<Plan> {
    let with =
        |id: Value| -> Arguments { std::iter::once((name.to_owned(), id)).chain(rest.iter().cloned()).collect() };
    let any = operation::call(operation, &with(Value::Int(0)), config)?;
    let Some(request) = any.requests.first() else { return Err(Error::Argument("a call without a request".into())) };
    let shape = Payload::from_answers(request.operation, Vec::new(), Join::Single, request.context.clone())?;
    let (start, end) = operation::range(rest);
    let unit = |(place, id): (usize, &Value)| {
        let arguments = with(id.clone());
        let call = operation::call(operation, &arguments, config).map_err(|error| match error {
            Error::Argument(text) => Error::Argument(format!("{name}[{place}]: {text}")),
            other => other,
        })?;
        let given = |key: &str| {
            let value = arguments.iter().find(|(name, _)| name == key).map(|(_, value)| value)?;
            match value {
                Value::Text(text) => Some(text.clone()),
                other => Some(other.to_string()),
            }
        };
        // A game's id goes by two names.
        let game_id = given("game_id").or_else(|| given("schedule_id"));
        let (team_id, session_id) = (given("team_id"), given("session_id"));
        Ok(Unit { call, keys: Keys { operation: shape.operation, team_id, game_id, session_id, start, end } })
    };
    let units = ids.iter().enumerate().map(unit).collect::<Result<_>>()?;
    Ok(Plan { shape, units })
}

#[cfg(test)]
mod tests {
    // A test that fails is meant to panic.
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::Options;

    fn planned(operation: &str, name: &str, ids: &[Value], rest: &[(&str, Value)]) -> Result<Plan> {
        let config = Options::default().resolve(&|_| None).unwrap();
        let rest: Arguments = rest.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        plan(operation, name, ids, &rest, &config)
    }

    fn refusal(plan: Result<Plan>) -> String {
        match plan {
            Err(Error::Argument(text)) => text,
            other => panic!("not refused as an argument: {other:?}"),
        }
    }

    #[test]
    fn each_id_is_a_unit_in_its_place() {
        let ids = [Value::Text("b".into()), Value::Int(7), Value::Text("b".into())];
        let rest = [("start", Value::Int(1_000)), ("end", Value::Int(5_000_000))];
        let plan = planned("locations", "session_id", &ids, &rest).unwrap();
        let sessions: Vec<_> = plan.units.iter().map(|unit| unit.keys.session_id.clone().unwrap()).collect();
        assert_eq!(sessions, ["b", "7", "b"]);
        // Windows of half an hour, within each unit.
        assert!(plan.units.iter().all(|unit| unit.call.requests.len() == 3));
        assert_eq!((plan.units[0].keys.start, plan.units[0].keys.end), (Some(1_000), Some(5_000_000)));
        let schedule = planned("broadcast_stats", "schedule_id", &ids[..1], &[]).unwrap();
        assert_eq!(schedule.units[0].keys.game_id.as_deref(), Some("b"));
    }

    #[test]
    fn no_ids_are_a_plan_that_knows_its_tables() {
        let plan = planned("catch_up", "game_id", &[], &[("resources", Value::Text("shots".into()))]).unwrap();
        assert_eq!((plan.units.len(), plan.shape.tables()), (0, vec!["shots"]));
    }

    #[test]
    fn a_wrong_id_is_told_with_its_place_and_a_wrong_argument_without() {
        let ids = [Value::Int(1), Value::Text("a/b".into())];
        assert!(refusal(planned("stats", "session_id", &ids, &[])).starts_with("session_id[1]: session_id \"a/b\""));
        let nonsense = [("start", Value::Text("soon".into())), ("end", Value::Int(9))];
        assert!(refusal(planned("locations", "session_id", &[], &nonsense)).starts_with("start \"soon\""));
        assert!(refusal(planned("stats", "session_id", &[], &[("x", Value::Int(1))])).contains("no argument"));
    }
}
