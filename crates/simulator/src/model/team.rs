//! Teams.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Team {
    pub id: i64,
    pub name: String,
    pub gender: String,
    pub conference_name: String,
    pub league_name: String,
    pub sport: String,
    pub reference_id: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TeamsBody {
    pub teams: Vec<Team>,
}
