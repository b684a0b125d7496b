//! Dimensions of a court in metres.

/// A court about its centre: x across, y along.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Court {
    pub half_width: f64,
    pub half_length: f64,
    /// Half the width of the paint and its length from the baseline; `None` on a football field.
    pub paint: Option<(f64, f64)>,
}

/// A position farther off the court is impossible.
pub const MAX_OFF_COURT_M: f64 = 2.0;

impl Court {
    pub fn is_inside(&self, x: f64, y: f64) -> bool {
        x.abs() <= self.half_width && y.abs() <= self.half_length
    }

    pub(crate) fn is_possible(&self, x: f64, y: f64) -> bool {
        x.abs() <= self.half_width + MAX_OFF_COURT_M && y.abs() <= self.half_length + MAX_OFF_COURT_M
    }

    pub(crate) fn is_in_paint(&self, x: f64, y: f64) -> bool {
        self.paint.is_some_and(|(half_width, length)| {
            x.abs() <= half_width && y.abs() <= self.half_length && y.abs() >= self.half_length - length
        })
    }
}
