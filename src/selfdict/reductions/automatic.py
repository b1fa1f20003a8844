"""Whether all points are candidates, or cluster representatives: by the time it would take."""

from dataclasses import dataclass

# The certified solver takes SECONDS (n / POINTS)^EXPONENT (m / FEATURES) for n points of m features
# on two cores: fitted to `python -m benchmarks working_set --growth`
POINTS = 94_249
FEATURES = 162
SECONDS = 10.0
EXPONENT = 1.4
# more components mean a smaller penalty, which opens more rows: times (r / COMPONENTS)^0.75, from
# runs with 6, 12, 20 and 40 components on 21,025 points of 200 features
COMPONENTS = 6
COMPONENTS_EXPONENT = 0.75
# part of a time limit that the solver may be predicted to take; the rest is to choose and prove
LIMIT_SHARE = 0.4
# what a user waits for without being asked
MODERATE_SECONDS = 60.0
# clusters of the paper's FGNSR-500
N_CLUSTERS = 500


@dataclass(frozen=True)
class CandidateChoice:
    """What ``candidates="auto"`` means for some data.

    Attributes
    ----------
    n_clusters : int or None
        Number of clusters whose representatives are the candidates; None: all points are.
    reason : str
        A sentence for a person.
    """

    n_clusters: int | None
    reason: str


def predicted_seconds(n_points: int, n_features: int, n_components: int) -> float:
    """Return about how long the certified solver takes with all points as candidates."""
    seconds = SECONDS * (n_points / POINTS) ** EXPONENT * n_features / FEATURES
    many = max(1.0, n_components / COMPONENTS)
    return float(seconds * many**COMPONENTS_EXPONENT)


def choose_candidates(
    n_points: int, n_features: int, n_components: int, max_seconds: float | None = None
) -> CandidateChoice:
    """Take all points if that is predicted to take at most a minute, else representatives.

    With a time limit, all points may take 0.4 of it at most.

    Examples
    --------
    >>> from selfdict.reductions.automatic import choose_candidates
    >>> choose_candidates(10_000, 200, 6).n_clusters is None
    True
    >>> choose_candidates(10_000_000, 200, 6).n_clusters
    500
    """
    seconds = predicted_seconds(n_points, n_features, n_components)
    moderate = MODERATE_SECONDS
    if max_seconds is not None:
        moderate = min(moderate, LIMIT_SHARE * max_seconds)
    if seconds <= moderate:
        return CandidateChoice(
            None, f"All {n_points:,} points are candidates: that takes about {_rounded(seconds)}."
        )
    return CandidateChoice(
        N_CLUSTERS,
        f"{N_CLUSTERS} cluster representatives are the candidates: all {n_points:,} points would "
        f"take about {_rounded(seconds)}.",
    )


def _rounded(seconds: float) -> str:
    """Return a duration in words, to one digit."""
    if seconds < 1:
        return "a second"
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:.0f} hours"
