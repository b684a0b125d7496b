//! A request for many ids as units: one operation for one id, in the order of the ids. All arguments are checked here,
//! before anything is sent.

use super::coverage::covered;
use super::{Payload, UnitOutcome};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::operation::{self, Arguments, Call, Merge, Value};
use std::time::SystemTime;

#[derive(Debug, Clone)]
pub struct Unit {
    pub call: Call,
    pub keys: UnitKeys,
}

/// The key of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitKeys {
    pub operation: &'static str,
    pub id: String,
    pub team_id: Option<String>,
    pub game_id: Option<String>,
    pub session_id: Option<String>,
    pub start: Option<i64>,
    pub end: Option<i64>,
}

impl UnitKeys {
    /// A value that is not an id may be of any length.
    fn shortened(self) -> UnitKeys {
        let short = |text: String| text.chars().take(200).collect::<String>();
        let UnitKeys { operation, id, team_id, game_id, session_id, start, end } = self;
        let [team_id, game_id, session_id] = [team_id, game_id, session_id].map(|id| id.map(short));
        UnitKeys { operation, id: short(id), team_id, game_id, session_id, start, end }
    }
}

#[derive(Debug, Clone)]
pub struct BatchPlan {
    /// A payload without a response: it knows the tables even if there are no units.
    pub shape: Payload,
    /// Those that can be sent.
    pub units: Vec<Unit>,
    /// Units that cannot be sent, with their positions among all.
    pub unsent: Vec<(usize, UnitKeys, Error)>,
}

impl BatchPlan {
    /// Inserts the outcomes of units that cannot be sent at their positions.
    pub fn with_unsent(
        unsent: Vec<(usize, UnitKeys, Error)>,
        done: Vec<UnitOutcome>,
        now: SystemTime,
    ) -> Vec<UnitOutcome> {
        let mut all = Vec::with_capacity(done.len() + unsent.len());
        let mut done = done.into_iter();
        for (place, keys, error) in unsent {
            all.extend(done.by_ref().take(place - all.len()));
            let ended = Err(error);
            let covered = covered(keys, &ended, None, 0, now);
            all.push(UnitOutcome { response: None, error: ended.err(), covered });
        }
        all.extend(done);
        all
    }
}

/// An id ready to be sent, or its text and why it cannot be sent.
pub type PlannedId = std::result::Result<Value, (String, String)>;

/// `name` is the argument that takes the ids, `rest` the others; `game_ids` has the game of each id, or is empty.
/// Errors that do not depend on an id fail the plan; an invalid id fails one unit.
pub fn plan(
    operation: &str,
    name: &str,
    ids: &[PlannedId],
    game_ids: &[Option<PlannedId>],
    rest: &Arguments,
    config: &Config,
) -> Result<BatchPlan> {
    let with = |id: Value, game_id: Option<Value>| -> Arguments {
        let game_id = game_id.map(|game_id| ("game_id".to_owned(), game_id));
        std::iter::once((name.to_owned(), id)).chain(game_id).chain(rest.iter().cloned()).collect()
    };
    let any = operation::call(operation, &with(Value::Int(0), None), config)?;
    let request = any.first()?;
    let shape =
        Payload::from_answers(request.operation, Vec::new(), Merge::Single, request.sport, request.context.clone())?;
    let (start, end) = operation::range(rest);
    let arguments_of = operation::arguments_of(operation);
    let mut plan = BatchPlan { shape, units: Vec::with_capacity(ids.len()), unsent: Vec::new() };
    for (place, id) in ids.iter().enumerate() {
        let game_id = game_ids.get(place).cloned().flatten();
        let arguments = |id: PlannedId, game_id: Option<PlannedId>| Ok(with(id?, game_id.transpose()?));
        let call = arguments(id.clone(), game_id.clone())
            .map_err(|(_, why): (String, String)| Error::Argument(why))
            .and_then(|arguments| operation::call(operation, &arguments, config));
        let given = |argument: &str| match argument == name {
            true => Some(written(id)),
            false if argument == "game_id" && game_id.is_some() => game_id.as_ref().map(written),
            false => rest.iter().find(|(name, _)| name == argument).map(|(_, value)| written(&Ok(value.clone()))),
        };
        let of_column = |column: &str| {
            let filled = arguments_of.iter().filter(|argument| argument.coverage_key == Some(column));
            filled.filter_map(|argument| given(argument.name)).next()
        };
        let (team_id, game_id, session_id) = (of_column("team_id"), of_column("game_id"), of_column("session_id"));
        let operation = plan.shape.operation;
        let keys = UnitKeys { operation, id: written(id), team_id, game_id, session_id, start, end };
        match call {
            Ok(call) => plan.units.push(Unit { call, keys }),
            Err(Error::Argument(why)) => {
                let keys = keys.shortened();
                plan.unsent.push((place, keys, Error::Argument(format!("{name}[{place}]: {why}"))));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(plan)
}

fn written(id: &PlannedId) -> String {
    match id {
        Ok(Value::Text(text)) => text.clone(),
        Ok(other) => other.to_string(),
        Err((given, _)) => given.clone(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::config::ClientOptions;

    fn planned(operation: &str, name: &str, ids: &[Value], rest: &[(&str, Value)]) -> Result<BatchPlan> {
        let config = ClientOptions::default().resolve(&|_| None).unwrap();
        let rest: Arguments = rest.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let ids: Vec<PlannedId> = ids.iter().cloned().map(Ok).collect();
        plan(operation, name, &ids, &[], &rest, &config)
    }

    fn refusal(plan: Result<BatchPlan>) -> String {
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
        let plan = planned("locations", "session_id", &ids, &rest).unwrap();
        let sessions: Vec<_> = plan.units.iter().map(|unit| unit.keys.session_id.clone().unwrap()).collect();
        assert_eq!(sessions, ["b", "7", "b"]);
        // Windows of half an hour, within each unit.
        assert!(plan.units.iter().all(|unit| unit.call.requests.len() == 3));
        assert_eq!((plan.units[0].keys.start, plan.units[0].keys.end), (Some(start), Some(end)));
        let schedule = planned("broadcast_stats", "schedule_id", &ids[..1], &[]).unwrap();
        assert_eq!(schedule.units[0].keys.game_id.as_deref(), Some("b"));
    }

    #[test]
    fn no_ids_are_a_plan_that_knows_its_tables() {
        let plan = planned("catch_up", "game_id", &[], &[("resources", Value::Text("shots".into()))]).unwrap();
        assert_eq!((plan.units.len(), plan.shape.tables()), (0, vec!["shots"]));
    }

    #[test]
    fn a_wrong_id_is_one_unit_s_failure_and_a_wrong_argument_all_of_them() {
        let ids = [Value::Int(1), Value::Text("a/b".into()), Value::Int(2)];
        let BatchPlan { units, unsent, .. } = planned("stats", "session_id", &ids, &[]).unwrap();
        assert_eq!(units.iter().map(|unit| unit.keys.id.as_str()).collect::<Vec<_>>(), ["1", "2"]);
        let done = |unit: &Unit| UnitOutcome {
            response: None,
            error: None,
            covered: covered(unit.keys.clone(), &Ok(Some(1)), None, 1, SystemTime::UNIX_EPOCH),
        };
        let done = BatchPlan::with_unsent(unsent, units.iter().map(done).collect(), SystemTime::UNIX_EPOCH);
        let ended =
            done.iter().map(|done| (done.covered.unit.as_str(), done.covered.status.as_str())).collect::<Vec<_>>();
        assert_eq!(ended, [("stats/1", "fetched"), ("stats/a/b", "failed"), ("stats/2", "fetched")]);
        assert!(done[1].covered.error.as_ref().unwrap().starts_with("session_id[1]: session_id \"a/b\""));
        assert_eq!(done[1].covered.attempts, 0);
        let nonsense = [("start", Value::Text("soon".into())), ("end", Value::Int(9))];
        assert!(refusal(planned("locations", "session_id", &[], &nonsense)).starts_with("start \"soon\""));
        assert!(refusal(planned("stats", "session_id", &[], &[("x", Value::Int(1))])).contains("no argument"));
    }

    #[test]
    fn each_id_may_have_a_game_of_its_own() {
        let config = ClientOptions::default().resolve(&|_| None).unwrap();
        let ids: Vec<PlannedId> = ["a", "b", "c"].map(|id| Ok(Value::Text(id.into()))).to_vec();
        let games = [Some(Ok(Value::Text("g".into()))), None, Some(Ok(Value::Text("g/".into())))];
        let plan = plan("stats", "session_id", &ids, &games, &Arguments::new(), &config).unwrap();
        let games: Vec<_> = plan.units.iter().map(|unit| unit.call.requests[0].context.get("game_id")).collect();
        assert_eq!(games, [Some("g"), None]);
        assert_eq!(plan.units[0].keys.game_id.as_deref(), Some("g"));
        assert_eq!(plan.unsent[0].0, 2);
    }
}
