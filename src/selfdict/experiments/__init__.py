"""Section 4 of the paper as commands: figures, tables, and an ablation of our own choices.

Each experiment is a function from a :class:`~selfdict.experiments.outcome.Request` to an
:class:`~selfdict.experiments.outcome.Outcome`. Its module is imported when it is run.
"""

from dataclasses import dataclass
from importlib import import_module

from selfdict._errors import InputError
from selfdict.experiments.outcome import Outcome, Request, write_outcome

__all__ = ["EXPERIMENTS", "Outcome", "Request", "run", "write_outcome"]


@dataclass(frozen=True)
class Experiment:
    """An experiment: its function as ``module.function``, and a description of one line."""

    function: str
    description: str


# Functions by name, since ``selfdict --help`` reads this table and must not load their modules.
EXPERIMENTS = {
    "figure1": Experiment(
        "midpoints.figure1", "middle points: index recovery over the noise level"
    ),
    "figure2": Experiment("midpoints.figure2", "scaled middle points, with normalised variants"),
    "table1": Experiment("tables.table1", "cost, memory and run times of each method"),
    "table2": Experiment("tables.table2", "errors on the Urban scene (needs --data)"),
    "table3": Experiment("tables.table3", "errors on the San Diego airport scene (needs --data)"),
    "table4": Experiment("tables.table4", "errors on the Terrain scene (needs --data)"),
    "cuprite": Experiment("tables.cuprite", "the remark on the Cuprite scene (needs --data)"),
    "scenes": Experiment("tables.scenes", "the rows of tables 2 to 4 on any scenes (needs --data)"),
    "endmembers": Experiment(
        "maps.endmembers", "figure 3: spectra of the pure pixels (needs --data)"
    ),
    "abundance-maps": Experiment(
        "maps.abundance_maps", "figures 4 to 6: abundance maps (needs --data)"
    ),
    "compression": Experiment(
        "compression.compression", "middle points with fewer features, over the noise level"
    ),
    "ablation": Experiment("ablation.ablation", "what each choice inside FGNSR is worth"),
}


def run(name: str, request: Request) -> Outcome:
    """Run an experiment by its name.

    Parameters
    ----------
    name : str
        One of :data:`EXPERIMENTS`.
    request : Request
        Data, size and seed.

    Returns
    -------
    Outcome
    """
    if name not in EXPERIMENTS:
        raise InputError(f"no experiment is called {name!r}; there are: {', '.join(EXPERIMENTS)}")
    module_name, function_name = EXPERIMENTS[name].function.split(".")
    module = import_module(f"selfdict.experiments.{module_name}")
    outcome: Outcome = getattr(module, function_name)(request)
    return outcome
