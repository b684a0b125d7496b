//! The bodies of the service, as it writes them.

pub(crate) mod ball_screens;
pub(crate) mod broadcast;
pub(crate) mod catch_up;
pub(crate) mod event;
pub(crate) mod game_shots;
pub(crate) mod game_totals;
pub(crate) mod locations;
pub(crate) mod play_by_play;
pub(crate) mod possessions;
pub(crate) mod roster;
pub(crate) mod schedule;
pub(crate) mod shots;
pub(crate) mod stats;
pub(crate) mod stats_details;
pub(crate) mod team;
pub(crate) mod videos;
