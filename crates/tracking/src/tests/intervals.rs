use crate::intervals::{bootstrap, wilson};

#[test]
fn wilson_agrees_with_published_values() {
    // Newcombe (1998), table I, computed for 90 %: 81 of 263 and 0 of 20.
    let (low, high) = wilson(81, 263).unwrap_or_default();
    assert!((low - 0.2632).abs() < 1e-3 && (high - 0.3568).abs() < 1e-3, "{low} {high}");
    let (low, high) = wilson(0, 20).unwrap_or_default();
    assert!(low == 0.0 && (high - 0.1191).abs() < 1e-3, "{high}");
    for trials in 1..200 {
        assert_eq!(wilson(trials, trials).map(|interval| interval.1), Some(1.0));
        assert_eq!(wilson(0, trials).map(|interval| interval.0), Some(0.0));
    }
    assert_eq!(wilson(0, 0), None);
}

#[test]
fn bootstrap_is_repeatable_and_about_the_mean() {
    let values: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
    let (low, high) = bootstrap(&values).unwrap_or_default();
    // 1.645 standard errors of 0.05 on each side.
    assert!((low - 0.418).abs() < 0.02 && (high - 0.582).abs() < 0.02, "{low} {high}");
    let backwards: Vec<f64> = values.iter().rev().copied().collect();
    assert_eq!(bootstrap(&values), bootstrap(&backwards));
    assert_eq!(bootstrap(&[]), None);
}
