"""selfdict finds the few columns of a matrix whose cone contains all the others.

The public names are imported on first use, so that ``import selfdict`` stays quick: numba,
scikit-learn and the rest are imported by the packages that need them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the same names as in _PUBLIC, for editors and type checkers
    from selfdict._errors import (
        InputError,
        InputWarning,
    )
    from selfdict.abundances import (
        fcls,
        nnls,
        shares,
    )
    from selfdict.compute.threads import (
        thread_limit,
    )
    from selfdict.estimators import (
        FGNSR,
        H2NMF,
        SNPA,
        SPA,
        VCA,
        XRAY,
    )
    from selfdict.model import (
        Feature,
        Huber,
        Loss,
        Problem,
        Progress,
        PseudoHuber,
        Reduction,
        Solution,
        Squared,
        Status,
        UnsupportedError,
        Weighted,
        certify,
        conical_robustness,
        lift,
        project_omega,
    )
    from selfdict.peers import (
        Clusters,
        h2nmf,
        snpa,
        spa,
        vca,
        xray,
    )
    from selfdict.readout import (
        Bundles,
        ErrorCurve,
        Groups,
        Guarantee,
        Proof,
        bundles,
        elbow,
        error_curve,
        hysime,
        prove_groups,
        pure_groups,
        robustness_report,
        select_indices,
        suggest_rank,
    )
    from selfdict.reductions import (
        Candidates,
        Compressed,
        Compression,
        Denoised,
        Denoising,
        Sampling,
        compress,
        denoise,
    )
    from selfdict.scene import (
        advise_rank,
        read_library,
        read_scene,
        unmix,
    )
    from selfdict.solvers import (
        Conic,
        FastGradient,
        Solver,
        WorkingSet,
        conic,
        fast_gradient,
        mu_heuristic,
        working_set,
    )

__version__ = "0.1.0"

# public name → the package that defines it
_PUBLIC = {
    "Bundles": "readout",
    "Candidates": "reductions",
    "Clusters": "peers",
    "Compressed": "reductions",
    "Compression": "reductions",
    "Conic": "solvers",
    "Denoised": "reductions",
    "Denoising": "reductions",
    "ErrorCurve": "readout",
    "FGNSR": "estimators",
    "FastGradient": "solvers",
    "Feature": "model",
    "Groups": "readout",
    "Guarantee": "readout",
    "H2NMF": "estimators",
    "Huber": "model",
    "InputError": "_errors",
    "InputWarning": "_errors",
    "Loss": "model",
    "Problem": "model",
    "Progress": "model",
    "Proof": "readout",
    "PseudoHuber": "model",
    "Reduction": "model",
    "SNPA": "estimators",
    "SPA": "estimators",
    "Sampling": "reductions",
    "Solution": "model",
    "Solver": "solvers",
    "Squared": "model",
    "Status": "model",
    "UnsupportedError": "model",
    "VCA": "estimators",
    "Weighted": "model",
    "WorkingSet": "solvers",
    "XRAY": "estimators",
    "advise_rank": "scene",
    "bundles": "readout",
    "certify": "model",
    "compress": "reductions",
    "conic": "solvers",
    "conical_robustness": "model",
    "denoise": "reductions",
    "elbow": "readout",
    "error_curve": "readout",
    "fast_gradient": "solvers",
    "fcls": "abundances",
    "h2nmf": "peers",
    "hysime": "readout",
    "lift": "model",
    "mu_heuristic": "solvers",
    "nnls": "abundances",
    "project_omega": "model",
    "prove_groups": "readout",
    "pure_groups": "readout",
    "read_library": "scene",
    "read_scene": "scene",
    "robustness_report": "readout",
    "select_indices": "readout",
    "shares": "abundances",
    "snpa": "peers",
    "spa": "peers",
    "suggest_rank": "readout",
    "thread_limit": "compute.threads",
    "unmix": "scene",
    "vca": "peers",
    "working_set": "solvers",
    "xray": "peers",
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

__all__ = [
    "FGNSR",
    "H2NMF",
    "SNPA",
    "SPA",
    "VCA",
    "XRAY",
    "Bundles",
    "Candidates",
    "Clusters",
    "Compressed",
    "Compression",
    "Conic",
    "Denoised",
    "Denoising",
    "ErrorCurve",
    "FastGradient",
    "Feature",
    "Groups",
    "Guarantee",
    "Huber",
    "InputError",
    "InputWarning",
    "Loss",
    "Problem",
    "Progress",
    "Proof",
    "PseudoHuber",
    "Reduction",
    "Sampling",
    "Solution",
    "Solver",
    "Squared",
    "Status",
    "UnsupportedError",
    "Weighted",
    "WorkingSet",
    "__version__",
    "advise_rank",
    "bundles",
    "certify",
    "compress",
    "conic",
    "conical_robustness",
    "denoise",
    "elbow",
    "error_curve",
    "fast_gradient",
    "fcls",
    "h2nmf",
    "hysime",
    "lift",
    "mu_heuristic",
    "nnls",
    "project_omega",
    "prove_groups",
    "pure_groups",
    "read_library",
    "read_scene",
    "robustness_report",
    "select_indices",
    "shares",
    "snpa",
    "spa",
    "suggest_rank",
    "thread_limit",
    "unmix",
    "vca",
    "working_set",
    "xray",
]


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
