//! Plans are compiled once and cached for the life of the process.

use super::DecodeError;
use super::declaration::{Resource, Root, Table};
use super::plan::{DecodePlan, compile};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// Address of the static resource, root, addresses of the first table and number of tables, columns.
type PlanKey = (usize, &'static str, (usize, usize), Option<Vec<String>>);

static PLANS: LazyLock<Mutex<HashMap<PlanKey, Arc<DecodePlan>>>> = LazyLock::new(Mutex::default);

/// The cache is cleared when it is full, since callers may request any columns.
const MAX_PLANS: usize = 512;

/// The plan for tables, or for some columns of each, with the documents at `root`.
pub(super) fn plan(
    resource: &'static Resource,
    root: &'static Root,
    tables: &[&'static Table],
    columns: Option<&[String]>,
) -> Result<Arc<DecodePlan>, DecodeError> {
    let key = (
        std::ptr::from_ref(resource).addr(),
        root.path,
        (tables.first().map_or(0, |table| std::ptr::from_ref(*table).addr()), tables.len()),
        columns.map(<[String]>::to_vec),
    );
    // Uses `try_lock`, because after a fork another thread may have held the lock forever.
    let plans = || PLANS.try_lock().ok();
    if let Some(plan) = plans().and_then(|plans| plans.get(&key).cloned()) {
        return Ok(plan);
    }
    let plan = Arc::new(compile(resource, root, tables, columns)?);
    if let Some(mut plans) = plans() {
        if plans.len() >= MAX_PLANS {
            plans.clear();
        }
        plans.insert(key, plan.clone());
    }
    Ok(plan)
}
