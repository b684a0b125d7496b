//! The bodies of the service, as it writes them.

pub mod ball_screens;
pub mod broadcast;
pub mod catch_up;
pub mod event;
pub mod game_shots;
pub mod game_totals;
pub mod locations;
pub mod play_by_play;
pub mod possessions;
pub mod roster;
pub mod schedule;
pub mod shots;
pub mod stats;
pub mod stats_details;
pub mod team;
pub mod videos;
