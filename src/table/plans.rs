//! Plans are compiled once and kept for the life of the process.

use super::DecodeError;
use super::decl::{Resource, Root, Table};
use super::plan::{Plan, compile};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

/// Resource, root, table and columns. A declaration is told by its address: it is static.
type Key = (usize, &'static str, usize, Option<Vec<String>>);

static PLANS: LazyLock<Mutex<HashMap<Key, Arc<Plan>>>> = LazyLock::new(Mutex::default);

/// Beyond so many the plans are dropped and compiled anew: a caller's columns have no limit.
const KEPT: usize = 512;

pub(super) fn plan(
    resource: &'static Resource,
    root: &'static Root,
    table: &'static Table,
    columns: Option<&[String]>,
) -> Result<Arc<Plan>, DecodeError> {
    let key = (
        std::ptr::from_ref(resource).addr(),
        root.path,
        std::ptr::from_ref(table).addr(),
        columns.map(<[String]>::to_vec),
    );
    // Never waited for: another thread may have held them when this process was forked, and then nobody gives them back.
    let plans = || PLANS.try_lock().ok();
    if let Some(plan) = plans().and_then(|plans| plans.get(&key).cloned()) {
        return Ok(plan);
    }
    let plan = Arc::new(compile(resource, root, table, columns)?);
    if let Some(mut plans) = plans() {
        if plans.len() >= KEPT {
            plans.clear();
        }
        plans.insert(key, plan.clone());
    }
    Ok(plan)
}
