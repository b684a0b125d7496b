//! Touches, passes and spacing as tables.

use super::motion_tables::period_at;
use super::sessions::EventRow;
use super::write::Writer;
use arrow_array::RecordBatch;
use sideline::resource::tracking as declared;
use tracking::ball::{Pass, Touch, passes as passes_of, touches as touches_of};
use tracking::defenders::time_of;
use tracking::reason::Reason;
use tracking::recording::RecordedSession;
use tracking::spacing::{Shape, by_frame as shapes_by_frame, by_possession};
use tracking::track::known_team;

type Batch = Result<RecordBatch, String>;

/// The touches of each session; an error names what is missing. A shot without a time would look like a pass to the rebounder.
fn session_touches<'a>(
    sessions: &'a [RecordedSession],
    shots: &[EventRow],
) -> Result<Vec<(&'a RecordedSession, Vec<Touch>)>, String> {
    let mut times: Vec<Vec<(i64, i64)>> = vec![Vec::new(); sessions.len()];
    for shot in shots {
        let Some(place) = shot.session_place(sessions) else { continue };
        if shot.moment.t_ms.is_none() {
            continue;
        }
        let entry = &sessions[place];
        let t_ms = time_of(&entry.session, &shot.moment).map_err(|reason| explain(entry, reason))?;
        times[place].extend(shot.moment.player_id.map(|player| (t_ms, player)));
    }
    let touches = |(entry, times): (&'a RecordedSession, Vec<(i64, i64)>)| {
        let touches = touches_of(&entry.session, &times);
        touches.map(|touches| (entry, touches)).map_err(|reason| explain(entry, reason))
    };
    sessions.iter().zip(times).map(touches).collect()
}

fn explain(entry: &RecordedSession, reason: Reason) -> String {
    let id = entry.session_id.as_deref().unwrap_or("without an id");
    match reason {
        Reason::RateTooLow => {
            let rate = entry.session.rate_hz.unwrap_or(0.0);
            let rate = entry.session.ball().map_or(rate, |ball| rate.min(ball.rate_hz.unwrap_or(0.0)));
            format!("rate_too_low: session {id} has {rate:.3} frames a second; touches and passes need at least 5")
        }
        Reason::ClockUnknown => {
            let problem = "the clocks of its shots and positions could not be compared";
            format!("clock_unknown: session {id}: {problem}; build a Tracking without shots to ignore them")
        }
        _ => format!("no_ball: session {id} has no positions of the ball, which touches and passes need"),
    }
}

pub(super) fn touches(sessions: &[RecordedSession], shots: &[EventRow]) -> Batch {
    let parts = session_touches(sessions, shots)?;
    let rows = || parts.iter().flat_map(|(entry, touches)| touches.iter().map(move |touch| (*entry, touch)));
    Writer::default()
        .texts(rows().map(|(entry, _)| entry.session_id.as_deref()))
        .texts(rows().map(|(entry, _)| entry.game_id.as_deref()))
        .categories(rows().map(|(entry, touch)| period_at(entry, touch.start_ms)))
        .integers(rows().map(|(_, touch)| known_team(touch.team_id)))
        .integers(rows().map(|(_, touch)| Some(touch.player_id)))
        .times(rows().map(|(_, touch)| Some(touch.start_ms)))
        .times(rows().map(|(_, touch)| Some(touch.end_ms)))
        .numbers(rows().map(|(_, touch)| Some((touch.end_ms - touch.start_ms) as f64 / 1000.0)))
        .numbers(rows().map(|(_, touch)| Some(touch.distance_m)))
        .categories(rows().map(|(_, touch)| Some(touch.ending.name())))
        .finish(&declared::TOUCHES)
}

pub(super) fn passes(sessions: &[RecordedSession], shots: &[EventRow]) -> Batch {
    let parts: Vec<(&RecordedSession, Vec<Pass>)> = session_touches(sessions, shots)?
        .into_iter()
        .map(|(entry, touches)| (entry, passes_of(&entry.session, &touches)))
        .collect();
    let rows = || parts.iter().flat_map(|(entry, passes)| passes.iter().map(move |pass| (*entry, pass)));
    Writer::default()
        .texts(rows().map(|(entry, _)| entry.session_id.as_deref()))
        .texts(rows().map(|(entry, _)| entry.game_id.as_deref()))
        .categories(rows().map(|(entry, pass)| period_at(entry, pass.t_ms)))
        .integers(rows().map(|(_, pass)| Some(pass.team_id)))
        .integers(rows().map(|(_, pass)| Some(pass.passer_id)))
        .integers(rows().map(|(_, pass)| Some(pass.receiver_id)))
        .times(rows().map(|(_, pass)| Some(pass.t_ms)))
        .numbers(rows().map(|(_, pass)| Some(pass.distance_m)))
        .numbers(rows().map(|(_, pass)| Some(pass.air_time_s)))
        .finish(&declared::PASSES)
}

/// The shape of a team in a possession or at a frame.
struct ShapeRow<'a> {
    entry: &'a RecordedSession,
    team_id: i64,
    possession: Option<i32>,
    frame: Option<usize>,
    t_ms: i64,
    shape: Result<Shape, Reason>,
}

pub(super) fn spacing(sessions: &[RecordedSession], by_frame: bool) -> Batch {
    let rows: Vec<ShapeRow<'_>> =
        sessions.iter().flat_map(|entry| if by_frame { frame_rows(entry) } else { possession_rows(entry) }).collect();
    let shapes = || rows.iter().map(|row| row.shape.ok());
    Writer::default()
        .texts(rows.iter().map(|row| row.entry.session_id.as_deref()))
        .texts(rows.iter().map(|row| row.entry.game_id.as_deref()))
        .categories(rows.iter().map(|row| period_at(row.entry, row.t_ms)))
        .integers(rows.iter().map(|row| Some(row.team_id)))
        .positions(rows.iter().map(|row| row.possession))
        .positions(rows.iter().map(|row| i32::try_from(row.frame?).ok()))
        .times(rows.iter().map(|row| Some(row.t_ms)))
        .numbers(shapes().map(|shape| Some(shape?.hull_m2)))
        .numbers(shapes().map(|shape| Some(shape?.teammate_m)))
        .numbers(
            rows.iter().map(|row| {
                row.shape.ok().filter(|_| row.entry.session.court.paint.is_some()).map(|shape| shape.in_paint)
            }),
        )
        .numbers(shapes().map(|shape| shape?.ball_side))
        .categories(rows.iter().map(|row| reason(row).map(Reason::name)))
        .finish(&declared::SPACING)
}

fn reason(row: &ShapeRow<'_>) -> Option<Reason> {
    match row.shape {
        Err(reason) => Some(reason),
        Ok(shape) if shape.ball_side.is_none() => Some(Reason::NoBall),
        Ok(_) => None,
    }
}

fn possession_rows(entry: &RecordedSession) -> Vec<ShapeRow<'_>> {
    let shapes = by_possession(&entry.session);
    let rows = entry.session.possessions.iter().zip(shapes).map(|(possession, shape)| ShapeRow {
        entry,
        team_id: possession.team_id,
        possession: possession.number,
        frame: None,
        t_ms: possession.start_ms,
        shape,
    });
    rows.collect()
}

fn frame_rows(entry: &RecordedSession) -> Vec<ShapeRow<'_>> {
    let times = entry.session.frame_times(None);
    let rows = shapes_by_frame(&entry.session, &times).into_iter().map(|(frame, team_id, shape)| ShapeRow {
        entry,
        team_id,
        possession: None,
        frame: Some(frame),
        t_ms: times[frame],
        shape,
    });
    rows.collect()
}
