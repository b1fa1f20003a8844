"""selfdict finds the few columns of a matrix whose cone contains all the others.

The public names load on first use, so that ``import selfdict`` stays quick: numba, scikit-learn and
the rest are imported by the rooms that need them.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "FGNSR": "estimators",
    "H2NMF": "estimators",
    "SNPA": "estimators",
    "SPA": "estimators",
    "VCA": "estimators",
    "XRAY": "estimators",
    "InputError": "_errors",
    "Huber": "model",
    "Loss": "model",
    "PseudoHuber": "model",
    "Solution": "model",
    "Squared": "model",
    "Status": "model",
    "Weighted": "model",
    "certify": "model",
    "conical_robustness": "model",
    "project_omega": "model",
    "fcls": "abundances",
    "nnls": "abundances",
    "Bundles": "readout",
    "Guarantee": "readout",
    "Clusters": "peers",
    "ErrorCurve": "readout",
    "bundles": "readout",
    "elbow": "readout",
    "hysime": "readout",
    "error_curve": "readout",
    "h2nmf": "peers",
    "robustness_report": "readout",
    "select_indices": "readout",
    "snpa": "peers",
    "spa": "peers",
    "suggest_rank": "readout",
    "vca": "peers",
    "xray": "peers",
    "compress": "reductions",
    "conic": "solvers",
    "denoise": "reductions",
    "fast_gradient": "solvers",
    "mu_heuristic": "solvers",
    "working_set": "solvers",
    "thread_limit": "compute.threads",
    "Candidates": "reductions",
    "Compression": "reductions",
    "Denoising": "reductions",
    "Sampling": "reductions",
    "Compressed": "reductions",
    "Denoised": "reductions",
    "WorkingSet": "solvers",
    "FastGradient": "solvers",
    "Conic": "solvers",
    "Solver": "solvers",
    "Problem": "model",
    "Reduction": "model",
    "UnsupportedError": "model",
    "Feature": "model",
    "lift": "model",
    "Progress": "model",
}
_PACKAGES = (
    "abundances",
    "datasets",
    "estimators",
    "metrics",
    "model",
    "peers",
    "readout",
    "reductions",
    "report",
    "scene",
    "solvers",
)

__all__ = [*sorted(_PUBLIC), "__version__"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(f"selfdict.{_PUBLIC[name]}"), name)
    elif name in _PACKAGES:
        value = import_module(f"selfdict.{name}")
    else:
        raise AttributeError(f"module 'selfdict' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES])
