//! Teams.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Team {
    pub id: i64,
    pub name: String,
    pub gender: String,
    pub conference_name: String,
    pub league_name: String,
    pub sport: String,
    pub reference_id: String,
}
