"""Anchors of a text collection: 30 documents out of 9,394 with 36,771 words, never made dense.

``text_tdt2_top30.npz`` in the folder given as ``data`` holds the counts as CSR (``data``,
``indices``, ``indptr``, ``shape``) and ``labels``; without it, a generated collection stands in.
Words in fewer than three documents are dropped, counts become (1 + log count) · log(n/df), and
documents get length one: otherwise long documents and rare words would be the extreme points. A
document belongs to the anchor with its largest abundance. *Purity* is the share of documents whose
label is the most frequent one of their cluster; *labels* says how many different ones the anchors
have.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks.working_set import peak_resident, resident
from selfdict import FGNSR, SPA, XRAY


def run(quick: bool = False, data: str | None = None) -> None:
    """Print a line for each method."""
    X, labels = load(data) if data is not None else generated(300 if quick else 3_000)
    X = tf_idf(X)
    r = len(np.unique(labels))
    print(f"topics: {X.shape[0]} documents × {X.shape[1]} words, {X.nnz} counts, {r} anchors")
    print(
        f"{'':26} {'seconds':>8} {'MiB':>6} {'purity':>7} {'labels':>7} {'error':>7}  certified gap"
    )
    methods: dict[str, Callable] = {
        "SPA": lambda: SPA(r),
        "XRAY": lambda: XRAY(r),
        f"FGNSR, compress={2 * r}": lambda: FGNSR(r, compress=2 * r, random_state=0),
    }
    for name, make in methods.items():
        before = resident()
        start = time.perf_counter()
        model = make()
        H = model.fit_transform(X)
        seconds, peak = time.perf_counter() - start, peak_resident()
        table = np.zeros((r, labels.max() + 1))
        np.add.at(table, (H.argmax(axis=1), labels), 1)
        gaps = (
            f"{model.compressed_gap_:.1e} (compressed), {model.gap_:.2f} (whole)"
            if hasattr(model, "gap_")
            else ""
        )
        print(
            f"{name:26} {seconds:8.1f} {peak:6.0f} {table.max(axis=1).sum() / len(labels):7.3f} "
            f"{len(np.unique(labels[model.indices_])):7} {model.reconstruction_err_:7.4f}  {gaps}",
            flush=True,
        )
    print(f"MiB: peak of the process, {before:.0f} of it before the last fit")


def load(data: str) -> tuple[sp.csr_array, np.ndarray]:
    """Read the counts and the labels."""
    with np.load(Path(data) / "text_tdt2_top30.npz", allow_pickle=False) as file:
        parts = file["data"].astype(np.float64), file["indices"].astype(np.int32), file["indptr"]
        return sp.csr_array(parts, shape=tuple(file["shape"])), file["labels"].astype(int)


def generated(
    n: int, topics: int = 10, words: int = 5_000, length: int = 100
) -> tuple[sp.csr_array, np.ndarray]:
    """Draw documents from a topic model, each mostly about one topic."""
    rng = np.random.default_rng(0)
    words_of = rng.dirichlet(np.full(words, 0.02), topics)
    labels = rng.integers(topics, size=n)
    shares = 0.7 * np.eye(topics)[labels] + 0.3 * rng.dirichlet(np.full(topics, 0.3), n)
    return sp.csr_array(
        np.stack([rng.multinomial(length, p / p.sum()) for p in shares @ words_of])
    ), labels


def tf_idf(X: sp.csr_array) -> sp.csr_array:
    """Weigh the counts; see above."""
    seen = np.bincount(X.indices, minlength=X.shape[1])
    X = X[:, seen >= 3].astype(np.float64)
    X.data = 1 + np.log(X.data)
    X = X @ sp.diags_array(np.log(X.shape[0] / seen[seen >= 3]))
    lengths = np.sqrt(X.power(2).sum(axis=1))
    return sp.csr_array(
        sp.diags_array(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)) @ X
    )
