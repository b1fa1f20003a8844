"""Exchange: replace one chosen column at a time by the candidate that lowers the error most.

Candidates are ranked on a few weighted points in a few directions, where a ranking of all of them
is one small matrix product; only the best are tried exactly.
"""

from itertools import combinations

import numpy as np

from selfdict._validation import Array
from selfdict.peers.greedy import Budget, Fit, grow

IMPROVEMENT = 1e-6  # relative; smaller ones are not worth a sweep
GOOD_ENOUGH = 1.05  # times the square no choice can fall below: no need to look further


def exchange(judge: Fit, guide: Fit, K: Array, trials: int, budget: Budget) -> tuple[Array, float]:
    """Exchange one column at a time while that lowers the error of ``judge``.

    Return the columns and that error.
    ``guide`` ranks the candidates, which both share; K and the result are positions among them.
    """
    K = np.array(K)
    square = judge.square(K)
    place = 0
    unchanged = 0  # places tried since the last exchange
    while unchanged < K.size and not budget.spent:
        rest = np.delete(K, place)
        choices = guide.promising(rest, trials)
        squares = budget.squares(judge, rest, choices)
        unchanged += 1
        if squares and min(squares) < square * (1 - IMPROVEMENT):
            best = int(np.argmin(squares))
            K[place] = choices[best]
            square = squares[best]
            unchanged = 1
        place = (place + 1) % K.size
    return K, square


def kick(fit: Fit, K: Array, square: float, trials: int, budget: Budget) -> tuple[Array, float]:
    """Leave a local minimum: drop each pair in turn, grow, exchange; go on from what is better."""
    pairs = list(combinations(range(K.size), 2))
    good_enough = GOOD_ENOUGH * fit.limit(K.size)
    since = 0  # pairs tried since the last improvement
    while since < len(pairs) and not budget.spent and square > good_enough:
        rest = np.delete(K, pairs[since])
        grown = grow(fit, K.size, rest, trials, budget)
        since += 1
        if grown.size == K.size:
            other, lower = exchange(fit, fit, grown, trials, budget)
            if lower < square * (1 - IMPROVEMENT):
                K = other
                square = lower
                since = 0
    return K, square
