//! Sensor locations.

use serde::Serialize;

/// One time step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LocationBatch {
    pub locations: Vec<Location>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Location {
    pub x: f64,
    pub t: i64,
    pub z: f64,
    #[serde(rename = "type")]
    pub kind: String,
    pub sid: String,
    pub y: f64,
    pub tag: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tid: Option<i64>,
    pub speed: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i64>,
    pub gc: Option<String>,
    pub sc: Option<String>,
}
