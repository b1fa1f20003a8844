"""The methods the paper compares with."""

from selfdict._errors import InputError
from selfdict._validation import Array
from selfdict.methods.base import Method
from selfdict.peers import Clusters, h2nmf, snpa, spa, vca, xray


class SPAMethod(Method):
    """Successive projection algorithm."""

    _finds_independent = True

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return spa(M, self.n_components)


class SNPAMethod(Method):
    """Successive nonnegative projection algorithm."""

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return snpa(M, self.n_components)


class XRAYMethod(Method):
    """Extreme rays, variant "max"."""

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return xray(M, self.n_components)


class VCAMethod(Method):
    """Vertex component analysis."""

    _finds_independent = True

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        return vca(M, self.n_components, self._generator())


class H2NMFMethod(Method):
    """Hierarchical clustering by rank-two NMF, one point per cluster."""

    clusters_: Clusters
    labels_: Array

    def _select(self, M: Array, sample_weight: Array | None) -> Array:
        self.clusters_ = h2nmf(M, self.n_components)
        self.labels_ = self.clusters_.labels
        found = self.clusters_.indices
        if found.size < self.n_components:
            raise InputError(
                f"n_components must be at most {found.size} for this X, got {self.n_components}: "
                "no cluster can be divided further"
            )
        return found
