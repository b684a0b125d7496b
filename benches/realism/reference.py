"""Real games in figures: distributions, draws of rows, and how far others are from them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import roc_auc_score

Numbers = npt.NDArray[np.float64]
REAL: dict[str, Any] = json.loads((Path(__file__).parent / "basketball.json").read_text())


@dataclass(frozen=True)
class Rows:
    """Rows for a classifier: columns in the order of a feature set, and what must stay in one fold."""

    values: Numbers
    groups: npt.NDArray[np.int64]


def draw(name: str, count: int, seed: int) -> Rows:
    """Draw rows of a feature set as real games have them, by a Gaussian copula. Each is a group of its own."""
    features = REAL["feature_sets"]["sets"][name]
    grids = features.get("grid") or {
        feature: REAL[features["league"]]["samples"]["team-game: " + feature]["grid"] for feature in features["names"]
    }
    zero = np.zeros(len(features["names"]))
    z = np.random.default_rng(seed).multivariate_normal(zero, features["correlation"], count, method="eigh")
    columns = []
    for feature, column in zip(features["names"], z.T, strict=True):
        values = np.interp(norm.cdf(column), np.linspace(0, 1, 101), grids[feature])
        columns.append(values.round() if feature in features["whole"] else values)
    return Rows(np.column_stack(columns), np.arange(count))


def auc(own_rows: Rows, real: Rows, shuffles: int = 4) -> float:
    """Tell how well gradient boosting tells simulated rows from real ones: of the rows left out in 5 folds."""
    values = np.vstack([own_rows.values, real.values])
    values = np.where(np.isnan(values), np.nanmedian(values, axis=0), values)
    is_simulated = np.repeat([1, 0], [len(own_rows.values), len(real.values)])
    groups = np.concatenate([own_rows.groups, real.groups + own_rows.groups.max() + 1])
    results = []
    for shuffle in range(shuffles):
        names = np.random.default_rng(shuffle).permutation(np.unique(groups))
        fold = dict(zip(names.tolist(), (np.arange(len(names)) % 5).tolist(), strict=True))
        folds = np.array([fold[group] for group in groups.tolist()])
        chance = np.empty(len(values))
        for left_out in range(5):
            model = GradientBoostingClassifier(
                n_estimators=120, max_depth=2, learning_rate=0.08, subsample=0.7, random_state=shuffle
            )
            model.fit(values[folds != left_out], is_simulated[folds != left_out])
            chance[folds == left_out] = model.predict_proba(values[folds == left_out])[:, 1]
        results.append(roc_auc_score(is_simulated, chance))
    return float(np.mean(results))


def sample_distance(values: Numbers, grid: list[float]) -> float:
    """Return the largest difference of two cumulative distributions (Kolmogorov and Smirnov): 0 to 1."""
    values = np.sort(values)
    points = np.unique(np.concatenate([values, grid]))
    own_shares = [np.searchsorted(values, points, side) / len(values) for side in ("left", "right")]
    quantiles = np.asarray(grid)
    real = [np.searchsorted(quantiles, points, side) / len(grid) for side in ("left", "right")]
    between = np.interp(points, quantiles, np.linspace(0, 1, len(grid)))
    # A value that the grid has several times is a step; elsewhere the grid is joined by straight lines.
    steps = np.asarray(real[1]) - np.asarray(real[0]) > 1.5 / len(grid)
    low, high = np.where(steps, real[0], between), np.where(steps, real[1], between)
    return float(max(np.abs(own_shares[0] - low).max(), np.abs(own_shares[1] - high).max()))


def count_distance(own_shares: dict[str, int], real: dict[str, int]) -> float:
    """Return half of the sum of the differences of shares: 0 to 1."""
    sums = sum(own_shares.values()) or 1, sum(real.values())
    return 0.5 * sum(
        abs(own_shares.get(kind, 0) / sums[0] - real.get(kind, 0) / sums[1]) for kind in {*own_shares, *real}
    )
