"""Sample weights as lengths of columns."""

import numpy as np
from scipy.sparse import diags_array

from selfdict._validation import Array
from selfdict.model.problem import Problem


def weighted_columns(problem: Problem) -> Array:
    """Return M with each column times the root of its sample weight."""
    if problem.sample_weight is None:
        return problem.M
    roots = np.sqrt(problem.sample_weight).astype(problem.M.dtype)
    if problem.is_sparse:
        scaled: Array = (problem.M @ diags_array(roots)).tocsc().astype(problem.M.dtype)
        return scaled
    weighted: Array = problem.M * roots
    return weighted
