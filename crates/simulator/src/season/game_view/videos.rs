//! A game's recording: one file from the first period's start, a part for each possession.

use super::{GamePeriod, GamePossession, GameSnapshot};
use crate::model::videos::Video;
use crate::season::ids::IdKind;

/// How far the picture lags behind the clock.
const DELAY_MS: i64 = 1_500;

impl GameSnapshot<'_> {
    /// One part for each possession that is over; the URL leads nowhere.
    pub(crate) fn videos(&self) -> Vec<Video> {
        let Some(first) = self.game_log.periods.first() else { return Vec::new() };
        let file = format!("https://videos.shottracker.com/sim/{}/game.m3u8", self.id(IdKind::Game, 0));
        let part = |(period, possession): (&GamePeriod, &GamePossession)| Video {
            hls_file: file.clone(),
            hls_video_start_timestamp: first.started_at,
            hls_start_offset: (possession.started_at - first.started_at + DELAY_MS) as f64 / 1000.0,
            hls_video_delay_ms: DELAY_MS,
            hls_duration: (possession.ended_at - possession.started_at) as f64 / 1000.0,
            game_id: self.game().event_id.clone(),
            session_id: period.id.clone(),
            period: period.name.clone(),
            event_start_timestamp: possession.started_at,
            event_end_timestamp: possession.ended_at,
        };
        self.possessions_shown().into_iter().map(part).collect()
    }
}
