//! A smooth curve through points: the cubic spline whose second derivative is continuous.

/// The slopes of the spline at its points. The ends have the slope of the polynomial through the four points there.
///
/// `t` rises strictly. Formulas: de Boor, A Practical Guide to Splines (1978), chapter 4.
pub fn slopes(t: &[f64], v: &[f64]) -> Vec<f64> {
    let n = t.len();
    if n < 2 {
        return vec![0.0; n];
    }
    let mut slopes = vec![0.0; n];
    slopes[0] = end_slope(&t[..n.min(4)], &v[..n.min(4)]);
    let last: (Vec<f64>, Vec<f64>) = (n.saturating_sub(4)..n).rev().map(|i| (t[i], v[i])).unzip();
    slopes[n - 1] = end_slope(&last.0, &last.1);
    // The Thomas algorithm; the system is diagonally dominant.
    let mut above = vec![0.0; n];
    for i in 1..n - 1 {
        let (before, after) = (1.0 / (t[i] - t[i - 1]), 1.0 / (t[i + 1] - t[i]));
        let right = 3.0 * ((v[i] - v[i - 1]) * before * before + (v[i + 1] - v[i]) * after * after);
        let pivot = 2.0 * (before + after) - before * above[i - 1];
        let end_term = if i == 1 { before * slopes[0] } else { 0.0 };
        above[i] = after / pivot;
        let previous_term = if i == 1 { 0.0 } else { before * slopes[i - 1] };
        slopes[i] = (right - end_term - previous_term) / pivot;
    }
    for i in (1..n - 1).rev() {
        slopes[i] -= above[i] * slopes[i + 1];
    }
    slopes
}

/// The slopes of the spline through points at equal steps: [`slopes`] without a division for each.
pub fn even_slopes(step: f64, v: &[f64]) -> Vec<f64> {
    /// The pivots of the Thomas algorithm have settled by then.
    const PIVOTS: usize = 32;
    let (n, t) = (v.len(), [0.0, step, 2.0 * step, 3.0 * step]);
    if n <= t.len() {
        return slopes(&t[..n], v);
    }
    let mut pivots = [0.25; PIVOTS];
    (1..PIVOTS).for_each(|i| pivots[i] = 1.0 / (4.0 - pivots[i - 1]));
    let mut slopes = vec![0.0; n];
    slopes[0] = end_slope(&t, &v[..4]);
    slopes[n - 1] = end_slope(&t.map(|t| -t), &[v[n - 1], v[n - 2], v[n - 3], v[n - 4]]);
    let (scale, mut previous) = (3.0 / step, slopes[0]);
    for i in 1..n - 1 {
        previous = (scale * (v[i + 1] - v[i - 1]) - previous) * pivots[(i - 1).min(PIVOTS - 1)];
        slopes[i] = previous;
    }
    let mut next = slopes[n - 1];
    for i in (1..n - 1).rev() {
        next = slopes[i] - pivots[(i - 1).min(PIVOTS - 1)] * next;
        slopes[i] = next;
    }
    slopes
}

/// The slope at the first of up to four points of the polynomial through them.
fn end_slope(t: &[f64], v: &[f64]) -> f64 {
    let mut slope = 0.0;
    for k in 0..t.len() {
        let weight = if k == 0 {
            (1..t.len()).map(|j| 1.0 / (t[0] - t[j])).sum()
        } else {
            let others = (1..t.len()).filter(|j| *j != k).map(|j| (t[0] - t[j]) / (t[k] - t[j]));
            others.product::<f64>() / (t[k] - t[0])
        };
        slope += v[k] * weight;
    }
    slope
}

/// The value of a piece of the curve, and its derivative. `piece` has the time, value and slope of both ends.
pub fn evaluate(piece: [(f64, f64, f64); 2], t: f64) -> (f64, f64) {
    let [(t0, v0, m0), (t1, v1, m1)] = piece;
    let h = t1 - t0;
    let s = (t - t0) / h;
    let (a, b) = (m0 * h - (v1 - v0), -m1 * h + (v1 - v0));
    let value = (1.0 - s) * v0 + s * v1 + s * (1.0 - s) * (a * (1.0 - s) + b * s);
    let derivative = (v1 - v0) + (1.0 - 2.0 * s) * (a * (1.0 - s) + b * s) + s * (1.0 - s) * (b - a);
    (value, derivative / h)
}

/// The value of the spline at a time between its points, which are few.
pub(crate) fn value_at(t: &[f64], v: &[f64], at: f64) -> f64 {
    let slopes = slopes(t, v);
    let i = t.partition_point(|time| *time <= at).clamp(1, t.len() - 1);
    evaluate([(t[i - 1], v[i - 1], slopes[i - 1]), (t[i], v[i], slopes[i])], at).0
}
