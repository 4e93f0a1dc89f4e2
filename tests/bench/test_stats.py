# SPDX-License-Identifier: LGPL-2.1-or-later
"""The statistics of the benchmarks, against figures worked out by other means."""

import itertools
import math
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import stats


@pytest.mark.parametrize(
    "values, middle",
    [([5], 5), ([3, 1, 2], 2), ([4, 1, 3, 2], 2.5), ([1, 1, 1, 9], 1), ([0.5, -2.0], -0.75)],
)
def test_median(values, middle):
    assert stats.median(values) == middle


def test_median_leaves_its_input_alone():
    values = [3, 1, 2]
    stats.median(values)
    assert values == [3, 1, 2]


@pytest.mark.parametrize("percent, value", [(1, 1), (10, 1), (11, 2), (50, 5), (90, 9), (91, 10), (100, 10)])
def test_percentile_is_one_of_the_values(percent, value):
    assert stats.percentile([10, 9, 8, 7, 6, 5, 4, 3, 2, 1], percent) == value


@pytest.mark.parametrize("percent", [0, -1, 100.5])
def test_percentile_refuses_what_is_none(percent):
    with pytest.raises(ValueError):
        stats.percentile([1], percent)


@pytest.mark.parametrize("function", [stats.median, lambda values: stats.percentile(values, 50)])
def test_nothing_has_no_middle(function):
    with pytest.raises(ValueError):
        function([])


def test_ranks_of_equal_values_are_shared():
    assert stats.ranks([30, 10, 20, 10]) == [4, 1.5, 3, 1.5]
    assert stats.ranks([7, 7, 7]) == [2, 2, 2]
    assert stats.ranks([]) == []


def test_z_of_sides_apart():
    # Without ties the variance of U is n m (n + m + 1) / 12 (Mann and Whitney 1947).
    expected = (25 - 12.5) / math.sqrt(5 * 5 * 11 / 12)
    assert stats.mann_whitney_z([6, 7, 8, 9, 10], [1, 2, 3, 4, 5]) == pytest.approx(expected)
    assert stats.mann_whitney_z([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]) == pytest.approx(-expected)


def test_z_of_equal_sides_is_nothing():
    assert stats.mann_whitney_z([1, 2, 3], [1, 2, 3]) == 0
    assert stats.mann_whitney_z([4, 4, 4], [4, 4]) == 0


def enumerate_u(a, b):
    """U by its definition, and mean and variance of it over every way to deal the same values to two sides."""

    def u(one, other):
        return sum((x > y) + (x == y) / 2 for x in one for y in other)

    together = [*a, *b]
    dealt = []
    for chosen in itertools.combinations(range(len(together)), len(a)):
        one = [together[i] for i in chosen]
        other = [value for i, value in enumerate(together) if i not in chosen]
        dealt.append(u(one, other))
    mean = sum(dealt) / len(dealt)
    return u(a, b), mean, sum((x - mean) ** 2 for x in dealt) / len(dealt)


@pytest.mark.parametrize(
    "a, b",
    [
        ([1.2, 3.4, 2.2], [2.3, 0.1, 5.5, 4.1]),
        ([1, 2, 2, 3], [2, 3, 3, 4]),
        ([5, 5, 1], [5, 2, 2, 1, 1]),
    ],
)
def test_z_is_what_enumerating_all_cases_gives(a, b):
    u, mean, variance = enumerate_u(a, b)
    assert stats.mann_whitney_z(a, b) == pytest.approx((u - mean) / math.sqrt(variance))


def test_z_is_that_of_a_normal_distribution_where_nothing_differs():
    source = random.Random(1)
    found = [
        stats.mann_whitney_z([source.expovariate(1) for _ in range(30)], [source.expovariate(1) for _ in range(30)])
        for _ in range(400)
    ]
    beyond = sum(abs(z) > 1.96 for z in found) / len(found)
    assert 0.02 < beyond < 0.08


@pytest.mark.parametrize("a, b", [([], [1]), ([1], []), ([], [])])
def test_z_needs_two_sides(a, b):
    with pytest.raises(ValueError):
        stats.mann_whitney_z(a, b)
