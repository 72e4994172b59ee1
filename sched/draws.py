"""Random numbers that are the same on every machine and in every Python from 3.11 on.

Only random.Random's string seeding and random() are used, which Python promises to keep; everything else is worked out
here from numbers in (0, 1). One stream for each purpose, named: drawing more from one never moves another.
"""

from __future__ import annotations

import math
import random
from statistics import NormalDist

SMALLEST = 2.0**-54
DECIMALS = 9
NORMAL = NormalDist()


def stream(seed: int, purpose: str) -> random.Random:
    """The stream of one purpose; equal seed and purpose give equal numbers."""
    return random.Random(f"{seed}/{purpose}")


def uniforms(seed: int, purpose: str, count: int) -> list[float]:
    """`count` numbers strictly between 0 and 1; a larger count only appends."""
    draw = stream(seed, purpose).random
    return [max(draw(), SMALLEST) for _ in range(count)]


def unit_gammas(seed: int, purpose: str, shape: float, count: int) -> list[float]:
    """`count` gamma numbers of mean 1; shape 1 is exponential, below 1 bursty, above 1 regular.

    Marsaglia and Tsang's method. First tries and the rare retries have streams of their own, so another shape keeps
    nearly all numbers at their quantile. Rounded to 9 decimals, where maths libraries agree.
    """
    larger = shape if shape >= 1 else shape + 1
    first = uniforms(seed, f"{purpose}: normal", count), uniforms(seed, f"{purpose}: accept", count)
    again = stream(seed, f"{purpose}: again")
    numbers = [_gamma(larger, x, y, again) for x, y in zip(*first, strict=True)]
    if shape < 1:
        boosts = uniforms(seed, f"{purpose}: boost", count)
        numbers = [number * boost ** (1 / shape) for number, boost in zip(numbers, boosts, strict=True)]
    return [round(number / shape, DECIMALS) for number in numbers]


def unit_weibulls(seed: int, purpose: str, shape: float, count: int) -> list[float]:
    """`count` Weibull numbers of mean 1, rounded to 9 decimals."""
    mean = math.gamma(1 + 1 / shape)
    return [round((-math.log(u)) ** (1 / shape) / mean, DECIMALS) for u in uniforms(seed, purpose, count)]


def _gamma(shape: float, u_normal: float, u_accept: float, again: random.Random) -> float:
    """One gamma number of mean `shape`, shape >= 1."""
    d = shape - 1 / 3
    c = 1 / math.sqrt(9 * d)
    while True:
        x = NORMAL.inv_cdf(u_normal)
        v = (1 + c * x) ** 3
        if v > 0 and math.log(u_accept) < x * x / 2 + d * (1 - v + math.log(v)):
            return d * v
        u_normal, u_accept = max(again.random(), SMALLEST), max(again.random(), SMALLEST)
