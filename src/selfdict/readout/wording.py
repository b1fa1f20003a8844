"""Bounds as text: rounded to the side on which they still hold."""

import math


def at_most(part: float) -> str:
    """Write an upper bound in percent, rounded up.

    Examples
    --------
    >>> at_most(0.01234), at_most(1e-9), at_most(25.0)
    ('1.3 %', '0.001 %', '2,500 %')
    """
    value = max(100 * part, 0.001)
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    # A value that is a round number but for the last digit is not rounded.
    return _percent(math.ceil(value / step - 1e-9) * step)


def at_least(part: float) -> str:
    """Write a lower bound in percent, rounded down.

    Examples
    --------
    >>> at_least(0.01239), at_least(1e-9), at_least(1e9)
    ('1.2 %', '0 %', '10,000 %')
    """
    # Beyond this a number says no more than that it is large.
    value = min(100 * part, 10_000.0)
    if value < 0.01:
        return "0 %"
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return _percent(math.floor(value / step + 1e-9) * step)


def share_of(part: int, whole: int) -> str:
    """Write a part of a whole number in percent, rounded down to a tenth.

    Examples
    --------
    >>> share_of(2499, 2500), share_of(2500, 2500)
    ('99.9 %', '100 %')
    """
    return f"{1000 * part // whole / 10:.4g} %"


def _percent(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f} %"
    return f"{value:.4g} %"
