"""How long prompts and answers are: a distribution turns a number in (0, 1) into tokens.

The same number gives the same quantile, whatever the mean: moving a slider stretches the lengths, it does not reshuffle
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

Quantile = Callable[[float], int]

Z99 = NormalDist().inv_cdf(0.99)
LARGEST_P99_RATIO = math.exp(Z99 * Z99 / 2)
"""No lognormal distribution has a p99 of more than this many times its mean (about 14.97)."""


def fixed(mean: int, spread: float, p99: int) -> Quantile:
    """Every length is the mean."""
    return lambda u: mean


def uniform(mean: int, spread: float, p99: int) -> Quantile:
    """Whole numbers from mean * (1 - spread) to mean * (1 + spread), both included, at least 1.

    Source: vllm/benchmarks/datasets/utils.py (0.33.0), the random data set's range ratio.
    """
    low = max(1, math.floor(mean * (1 - spread)))
    high = max(low, math.ceil(mean * (1 + spread)))
    return lambda u: low + int(u * (high - low + 1))


def lognormal(mean: int, spread: float, p99: int) -> Quantile:
    """A long tail with this mean and this 99th percentile, at least 1 token.

    mean <= p99 <= LARGEST_P99_RATIO * mean. Of the two lognormals that fit, the one with the smaller sigma.
    """
    sigma = Z99 - math.sqrt(max(0.0, Z99 * Z99 - 2 * math.log(p99 / mean)))
    mu = math.log(mean) - sigma * sigma / 2
    inv_cdf = NormalDist().inv_cdf
    return lambda u: max(1, round(math.exp(mu + sigma * inv_cdf(u))))


DISTRIBUTIONS: dict[str, Callable[[int, float, int], Quantile]] = {
    "fixed": fixed,
    "uniform": uniform,
    "lognormal": lognormal,
}
"""A distribution is one row: a name and a quantile function of mean [tokens], spread [of the mean], p99 [tokens]."""
