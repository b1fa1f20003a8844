"""Reference implementations of the selection methods: explicit residuals, plain loops."""

import numpy as np
import scipy.optimize

import naive_abundances


def first_largest(residuals, norms):
    tied = [j for j in range(len(norms)) if residuals[j] >= (1 - 1e-6) * max(residuals)]
    return max(tied, key=lambda j: (norms[j], -j))


def spa(M, r):
    R = M.astype(np.float64)
    norms = [float(m @ m) for m in R.T]
    selected = []
    for _ in range(r):
        k = first_largest([float(residual @ residual) for residual in R.T], norms)
        selected.append(k)
        u = R[:, k] / np.linalg.norm(R[:, k])
        R = R - np.outer(u, u @ R)
    return selected


def h2nmf(M, n_clusters):
    """Every leaf is tried at once, with a full SVD; labels, representatives, splits by node."""
    M = np.maximum(M.astype(np.float64), 0)
    leaves = {0: np.arange(M.shape[1])}
    tried = {}
    splits = []
    while len(leaves) < n_clusters:
        for node, columns in leaves.items():
            if node not in tried:
                tried[node] = try_split(M, columns)
        node = max(leaves, key=lambda node: (tried[node][0], -node))
        if tried[node][0] < 0:
            break
        del leaves[node]
        for new, columns in enumerate(tried[node][1:], start=2 * len(splits) + 1):
            leaves[new] = columns
        splits.append(node)
    labels = np.empty(M.shape[1], dtype=int)
    indices = []
    for label, node in enumerate(sorted(leaves)):
        labels[leaves[node]] = label
        indices.append(representative(M, leaves[node]))
    return labels, indices, splits


def largest_eigenvalue(A):
    return np.linalg.norm(A, 2) ** 2


def try_split(M, columns):
    """Return the gain and the two parts, or −1 where the columns cannot be divided."""
    A = M[:, columns]
    U, S, Vt = np.linalg.svd(A, full_matrices=False)
    if columns.size < 2 or len(S) < 2 or S[1] ** 2 <= 1e-13 * S[0] ** 2:
        return (-1,)
    Z = S[:2, None] * Vt[:2]
    W = np.maximum(U[:, :2] @ Z[:, spa(Z, 2)], 0)
    x = []
    for a in A.T:
        h = naive_abundances.nnls(W, a)
        x.append(h[0] / (h[0] + h[1] + 1e-16))
    x = np.array(x)
    costs = []
    grid = [0.01 * i for i in range(101)]
    for delta in grid:
        F = np.mean(x <= delta)
        low, high = max(delta - 0.05, 0), min(delta + 0.05, 1)
        g = np.mean((x >= low) & (x <= high)) / (high - low)
        costs.append(-np.log(F * (1 - F)) + np.exp(g) if 0 < F < 1 else np.inf)
    first = x >= grid[int(np.argmin(costs))]
    if first.all() or not first.any():
        return (-1,)
    parts = columns[first], columns[~first]
    gain = sum(largest_eigenvalue(M[:, part]) for part in parts) - largest_eigenvalue(A)
    return gain, *parts


def representative(M, columns):
    u = np.abs(np.linalg.svd(M[:, columns], full_matrices=False)[0][:, 0])
    u = u - u.mean()
    cosines = []
    for a in M[:, columns].T:
        a = a - a.mean()
        cosines.append(a @ u / (np.linalg.norm(a) * np.linalg.norm(u)))
    return int(columns[np.argmax(cosines)])


def snpa(M, r):
    M = M.astype(np.float64)
    norms = [float(m @ m) for m in M.T]
    residuals, selected = norms, []
    for _ in range(r):
        selected.append(first_largest(residuals, norms))
        U = M[:, selected]
        # the slack of Σh ≤ 1 is the abundance of the origin
        hull = np.column_stack([U, np.zeros(len(U))])
        residuals = [float(np.sum((m - hull @ naive_abundances.fcls(hull, m)) ** 2)) for m in M.T]
    return selected


def xray(M, r, p=None):
    M = M.astype(np.float64)
    lengths = np.abs(M).sum(axis=0) if p is None else p @ M
    R, selected = M, []
    for _ in range(r):
        i = int(np.argmax([residual @ residual for residual in R.T]))
        scores = [
            R[:, i] @ m / length if length > 0 else -np.inf
            for m, length in zip(M.T, lengths, strict=True)
        ]
        for j in selected:
            scores[j] = -np.inf
        selected.append(int(np.argmax(scores)))
        U = M[:, selected]
        R = M - U @ np.column_stack([scipy.optimize.nnls(U, m)[0] for m in M.T])
    return selected
