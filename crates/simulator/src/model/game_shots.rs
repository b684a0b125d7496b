//! Shots of a whole game, in abbreviations.

use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct GameShot {
    pub label: Option<String>,
    pub t: i64,
    pub pid: String,
    pub tid: String,
    pub sid: String,
    pub sst: String,
    pub gid: String,
    /// `MAKE` or `MISS`.
    pub st: String,
    pub is3: bool,
    /// -1 on a miss.
    pub pts: i64,
    /// The zone, not a height.
    pub z: i64,
    pub az: i64,
    pub px: f64,
    pub py: f64,
    pub pz: f64,
    pub hx: f64,
    pub hy: f64,
    pub hz: f64,
    pub hsx: f64,
    pub hsy: f64,
    pub s: String,
    pub drb: i64,
    pub dd: Option<f64>,
    pub fid: String,
    pub hid: String,
    pub gc: Option<String>,
    pub sc: Option<String>,
    pub prd: String,
    pub attributes: Vec<String>,
    pub players: Vec<String>,
    /// Distance in cm.
    pub d: f64,
    #[serde(rename = "shotDefenders")]
    pub shot_defenders: Vec<i64>,
}
