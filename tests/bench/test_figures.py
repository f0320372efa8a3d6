"""Percentiles, spreads, and how figures are written."""

import pytest

from tests.bench.figures import percentile, shown, spread


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.501, 51), (0.99, 99), (0.995, 100), (1.0, 100)]
)
def test_a_percentile_is_the_smallest_value_that_enough_others_do_not_exceed(share, expected):
    hundred = list(range(100, 0, -1))
    assert percentile(hundred, share) == expected
    assert sum(value <= expected for value in hundred) >= share * 100


def test_a_percentile_of_one_value_is_that_value():
    assert {percentile([7.5], share) for share in (0.0, 0.5, 0.99, 1.0)} == {7.5}


def test_no_values_have_no_percentile():
    with pytest.raises(ValueError, match="no values"):
        percentile([], 0.5)


def test_a_spread_is_the_median_between_the_lowest_and_the_highest():
    assert spread([3.0, 1.0, 2.0]) == (2.0, 1.0, 3.0)
    assert spread([4.0, 1.0]) == (2.5, 1.0, 4.0)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.123, "0.12"),
        (9.876, "9.88"),
        (12.34, "12.3"),
        (123.4, "123"),
        (1234.5, "1 234"),
        (12_345.0, "12 340"),
        (1_234_567.0, "1 234 570"),
        (5.0, "5"),
    ],
)
def test_a_figure_shows_the_digits_that_count(value, expected):
    assert shown(value) == expected
