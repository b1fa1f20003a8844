"""
Anchor words of a topic model
=============================

Documents mix topics, and topics are distributions over words. A word that occurs in one topic alone
is an *anchor*. The co-occurrences of the other words are nonnegative combinations of those of the
anchors. With words as points and their co-occurrences as features, the anchors are the extreme
points.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from selfdict import FGNSR, SPA, nnls

# %%
# A collection drawn from a topic model: four topics over 200 words. The first word of each topic is
# its anchor.

rng = np.random.default_rng(0)
r, n_words, n_documents = 4, 200, 3000
topics = rng.dirichlet(np.full(n_words, 0.5), r)
topics[:, :r] = 0.03 * np.eye(r)
topics /= topics.sum(axis=1, keepdims=True)
shares = rng.dirichlet(np.full(r, 0.3), n_documents)
counts = sp.csr_array(np.stack([rng.multinomial(80, p) for p in shares @ topics]))

# %%
# Co-occurrences as a sparse matrix, with rows scaled to sum to one. The rows of rare words are
# mostly noise, which makes them extreme: words with fewer than 100 occurrences are left out.

total = np.asarray(counts.sum(axis=0)).ravel()
frequent = np.flatnonzero(total >= 100)
kept = counts[:, frequent].astype(float)
# A word does not occur beside itself: its own occurrences are subtracted.
together = (kept.T @ kept) - sp.diags_array(np.asarray(kept.sum(axis=0)).ravel())
rows = sp.csr_array(sp.diags_array(1 / np.asarray(together.sum(axis=1)).ravel()) @ together)

for model in (SPA(r), FGNSR(r, random_state=0)):
    model.fit(rows)
    words = sorted(frequent[model.indices_].tolist())
    print(f"{type(model).__name__}: words {words}, the anchors are {list(range(r))}")
print(f"certified gap {model.gap_:.1e}")

# %%
# The abundances of a word show to which topics it belongs. Scaled by the frequency of the word,
# they recover the topics.

H = model.transform(rows) * total[frequent, None]
found = np.zeros((r, n_words))
found[:, frequent] = (H / H.sum(axis=0)).T
order = [int(np.argmax(found[:, anchor])) for anchor in range(r)]

figure, axes = plt.subplots(1, r, figsize=(10, 2.8), sharex=True, sharey=True, layout="constrained")
for topic, ax in enumerate(axes):
    ax.plot([0, topics.max()], [0, topics.max()], color="0.8", linewidth=1)
    ax.plot(topics[topic], found[order[topic]], ".", markersize=3)
    ax.set_title(f"topic {topic}")
    ax.set_xlabel("true share of a word")
axes[0].set_ylabel("found")
plt.show()

# %%
# The topics give the shares of each document:

estimated = nnls(found[order].T, (counts / 80.0).T.tocsc()).T
print(f"mean error of a document's shares: {np.abs(estimated - shares).mean():.3f}")
