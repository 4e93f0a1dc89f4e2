# SPDX-License-Identifier: LGPL-2.1-or-later
"""The little statistics that the benchmarks need."""

import math


def median(values):
    """The middle value, or the mean of the two in the middle."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values, hence no median")
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def percentile(values, percent):
    """The smallest value that at least @percent of all do not exceed (nearest rank)."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values, hence no percentile")
    if not 0 < percent <= 100:
        raise ValueError(f"{percent} is no percentage above 0 and up to 100")
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def ranks(values):
    """Each value's rank from 1 on, in their order; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for i in order[first : last + 1]:
            result[i] = (first + last) / 2 + 1
        first = last + 1
    return result


def mann_whitney_z(a, b):
    """z of the Mann-Whitney U test: how many standard deviations more pairs (of one of @a and one of @b) than half have
    the greater value in @a. Normal approximation with the correction for ties, without one for continuity: good from
    about 20 values a side on. Independent of the shape of the distributions, which boot times need (they have several
    peaks and a long tail). 0 where all values are equal."""
    n_a, n_b = len(a), len(b)
    if not n_a or not n_b:
        raise ValueError("a side without values cannot be compared")
    n = n_a + n_b
    together = [*a, *b]
    u = sum(ranks(together)[:n_a]) - n_a * (n_a + 1) / 2
    ties = sum(count**3 - count for count in (together.count(value) for value in set(together)))
    variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1)))
    return (u - n_a * n_b / 2) / math.sqrt(variance) if variance > 0 else 0.0
