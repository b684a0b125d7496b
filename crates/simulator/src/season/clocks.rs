//! ClockFormat as strings. The service writes them in several formats; each event here uses one.

use super::rng::Rng;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockFormat {
    /// "9:58.7", "4.5"
    Plain,
    /// "09:58.7", "04.5"
    Padded,
    /// "9:8.7", "4.5"
    Bare,
}

impl ClockFormat {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        [ClockFormat::Plain, ClockFormat::Plain, ClockFormat::Padded, ClockFormat::Bare][rng.index(4)]
    }

    /// Time left in the period, truncated to tenths.
    pub(crate) fn game(self, left: i64) -> String {
        let (minutes, seconds, tenths) = (left / 60_000, left / 1000 % 60, left / 100 % 10);
        match self {
            ClockFormat::Plain => format!("{minutes}:{seconds:02}.{tenths}"),
            ClockFormat::Padded => format!("{minutes:02}:{seconds:02}.{tenths}"),
            ClockFormat::Bare => format!("{minutes}:{seconds}.{tenths}"),
        }
    }

    pub(crate) fn shot(self, left: i64) -> String {
        let (seconds, tenths) = (left / 1000, left / 100 % 10);
        match self {
            ClockFormat::Padded => format!("{seconds:02}.{tenths}"),
            _ => format!("{seconds}.{tenths}"),
        }
    }
}

/// The format of locations: "12:30.00" and "02.00".
pub(super) fn of_location(left: i64) -> String {
    format!("{:02}:{:02}.{:02}", left / 60_000, left / 1000 % 60, left / 10 % 100)
}

pub(super) fn shot_of_location(left: i64) -> String {
    format!("{:02}.{:02}", left / 1000, left / 10 % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_come_in_the_documented_shapes() {
        assert_eq!(ClockFormat::Plain.game(750_099), "12:30.0");
        assert_eq!(ClockFormat::Bare.game(62_399), "1:2.3");
        assert_eq!(ClockFormat::Padded.game(598_700), "09:58.7");
        assert_eq!(
            (ClockFormat::Plain.shot(4599), ClockFormat::Padded.shot(4599)),
            ("4.5".to_owned(), "04.5".to_owned())
        );
        assert_eq!((of_location(750_000), shot_of_location(2000)), ("12:30.00".to_owned(), "02.00".to_owned()));
    }
}
