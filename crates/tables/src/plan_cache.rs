//! What was compiled of a resource, kept with it for the life of the process.

use super::DecodeError;
use super::declaration::{Resource, Root, Table};
use super::plan::{DecodePlan, compile};
use super::schema_tree::SchemaTree;
use std::sync::{Arc, Mutex};

/// The plans are dropped when there are so many, since callers may request any columns.
const MAX_PLANS: usize = 64;

#[derive(Debug)]
pub struct PlanCache {
    plans: Mutex<Vec<(PlanKey, Arc<DecodePlan>)>>,
    /// By the path of their root.
    trees: Mutex<Vec<(&'static str, Arc<SchemaTree>)>>,
}

/// Path of the root, names of the tables, columns.
type PlanKey = (&'static str, Vec<&'static str>, Option<Vec<String>>);

impl PlanCache {
    #[allow(clippy::new_without_default, reason = "a declaration is `const`")]
    pub const fn new() -> Self {
        PlanCache { plans: Mutex::new(Vec::new()), trees: Mutex::new(Vec::new()) }
    }
}

impl Resource {
    /// The plan for tables, or for some columns of each, with the documents at `root`.
    pub(super) fn plan(
        &'static self,
        root: &'static Root,
        tables: &[&'static Table],
        columns: Option<&[String]>,
    ) -> Result<Arc<DecodePlan>, DecodeError> {
        let is_same = |(path, names, column_names): &PlanKey| {
            *path == root.path
                && names.iter().eq(tables.iter().map(|table| &table.name))
                && column_names.as_deref() == columns
        };
        // Uses `try_lock`, because after a fork another thread may have held the lock forever.
        let plans = || self.cache.plans.try_lock().ok();
        let entry = plans().and_then(|plans| plans.iter().find(|(key, _)| is_same(key)).map(|(_, plan)| plan.clone()));
        if let Some(plan) = entry {
            return Ok(plan);
        }
        let plan = Arc::new(compile(root, tables, columns)?);
        if let Some(mut plans) = plans() {
            if plans.len() >= MAX_PLANS {
                plans.clear();
            }
            let names = tables.iter().map(|table| table.name).collect();
            plans.push(((root.path, names, columns.map(<[String]>::to_vec)), plan.clone()));
        }
        Ok(plan)
    }

    /// What the schema check follows, with the documents at `root`.
    pub(super) fn schema_tree(&'static self, root: &'static Root) -> Arc<SchemaTree> {
        let trees = || self.cache.trees.try_lock().ok();
        let entry =
            trees().and_then(|trees| trees.iter().find(|(path, _)| *path == root.path).map(|(_, tree)| tree.clone()));
        entry.unwrap_or_else(|| {
            let tree = Arc::new(SchemaTree::of(self, root));
            if let Some(mut trees) = trees() {
                trees.push((root.path, tree.clone()));
            }
            tree
        })
    }
}
