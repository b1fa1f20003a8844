"""Run the benchmarks.

``python -m benchmarks [NAME …] [--quick] [--data DIR] …``
"""

import argparse
import inspect
from importlib import import_module

NAMES = (
    "first_fit",
    "fast_gradient",
    "abundances",
    "peers",
    "working_set",
    "accuracy",
    "shares",
    "dirichlet",
    "smooth",
    "wide",
    "prediction",
    "many_components",
    "library",
    "identification",
    "scene_memory",
    "maps",
    "sensors",
    "thinning",
    "rank",
    "dask",
    "gpu",
)


def main() -> None:
    """Parse the command line and run what it names."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Accuracy, and speed as ratios measured in one run.",
    )
    parser.add_argument(
        "names", nargs="*", choices=[*NAMES, []], help="benchmarks to run (default: all)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, to check that everything runs"
    )
    parser.add_argument("--data", help="folder with real scenes as .npz files (Y, scale)")
    parser.add_argument(
        "--growth",
        action="store_true",
        help="working_set: plot time and memory as functions of the size",
    )
    parser.add_argument(
        "--smooth", type=float, default=0.0, help="working_set: squares of the gates, times mu"
    )
    parser.add_argument("--pixels", help="dask: sizes of the scenes, for example 5000000,20000000")
    parser.add_argument(
        "--every-pixel", action="store_true", help="dask: with every pixel as a candidate"
    )
    arguments = parser.parse_args()
    for name in arguments.names or NAMES:
        run = import_module(f"benchmarks.{name}").run
        options = vars(arguments)
        run(**{key: options[key] for key in inspect.signature(run).parameters})
        print()


if __name__ == "__main__":
    main()
