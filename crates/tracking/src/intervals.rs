//! Intervals of 90 % for small samples.

/// The quantile of the normal distribution that leaves 5 % on each side.
const Z: f64 = 1.644_853_626_951_472_2;

const DRAWS: usize = 2000;
const SEED: u64 = 0x5EED;

/// Wilson's interval of a share. `None` without a trial.
///
/// Wilson, Probable inference, the law of succession, and statistical inference (1927).
pub fn wilson(successes: u64, trials: u64) -> Option<(f64, f64)> {
    if trials == 0 {
        return None;
    }
    let n = trials as f64;
    let (share, z2) = (successes as f64 / n, Z * Z);
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    // At shares of 0 and 1 the ends are those shares, but for rounding.
    Some(((middle - half).clamp(0.0, share), (middle + half).clamp(share, 1.0)))
}

/// The percentile interval of a mean by drawing again from the values, with a fixed seed. `None` without a value.
///
/// Efron, Bootstrap methods: another look at the jackknife (1979).
pub fn bootstrap(values: &[f64]) -> Option<(f64, f64)> {
    if values.is_empty() {
        return None;
    }
    // The order of the values decides nothing.
    let mut ordered_values = values.to_vec();
    ordered_values.sort_unstable_by(f64::total_cmp);
    let mut state = SEED;
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let draws = (0..ordered_values.len())
                .map(|_| ordered_values[(split_mix(&mut state) % ordered_values.len() as u64) as usize]);
            draws.sum::<f64>() / ordered_values.len() as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    Some((means[DRAWS / 20], means[DRAWS - 1 - DRAWS / 20]))
}

/// SplitMix64.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
