# %% [markdown]
# # Exact features of walks, step by step
#
# Run it as a script, or cell by cell in an editor that knows `# %%`.

# %%
import torch

import graph2tens as g2t

torch.set_default_dtype(torch.float64)

# %% [markdown]
# ## A graph with attributes
# A triangle a-b-c with a tail c-d. Edges are listed in both directions, as PyG does. Each node has a point in the plane.

# %%
edge_index = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])
x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [2.0, 2.0]])

walk = g2t.random_walk(edge_index, num_nodes=4)
print(walk)
print("P =\n", walk.matrix().to_dense())

# %% [markdown]
# ## What a walker has seen
# Classical diffusion asks where the walker is now. We ask for the ordered history: the increments of the attributes along the walk,
# multiplied in the tensor algebra. Level 1 of the product is the sum of the increments, level 2 knows the order of every two, and so on.

# %%
path = x[[0, 1, 2, 3]].unsqueeze(0)  # a -> b -> c -> d
seen = g2t.sequence_features(path, degree=2)
algebra = g2t.TensorAlgebra(2, 2)
for m, level in enumerate(algebra.levels(seen)):
    print(f"level {m}:", level.squeeze(0).tolist())

# The same steps in another order end at the same place, so level 1 agrees. Level 2 does not.
steps = path.diff(dim=1)
other = torch.cat([path[:, :1], path[:, :1] + steps[:, [2, 1, 0]].cumsum(1)], dim=1)
turned = g2t.sequence_features(other, degree=2)
print("level 1 agrees:", torch.allclose(algebra.levels(seen)[1], algebra.levels(turned)[1]))
print("level 2 agrees:", torch.allclose(algebra.levels(seen)[2], algebra.levels(turned)[2]))

# %% [markdown]
# ## The expectation over all walks
# `node_features` is the expected product over all walks of 4 steps from each node, computed by a diffusion with tensor entries. Listing
# the walks gives the same numbers, more slowly.

# %%
features = g2t.node_features(x, walk, length=4, degree=2)
nodes, probability = g2t.enumerate_walks(walk, length=4)
listed = torch.zeros_like(features).index_add(0, nodes[:, 0], probability.unsqueeze(1) * g2t.sequence_features(x[nodes], degree=2))
print(f"{len(nodes)} walks; the largest difference is {(features - listed).abs().max():.1e}")

# %% [markdown]
# The diffusion is linear algebra with the hypo-elliptic Laplacian in the place of the graph Laplacian: v_k = (I - L)^k 1.

# %%
laplacian = g2t.hypoelliptic_laplacian(x, walk, degree=2)
v = algebra.one(4)
for _ in range(4):
    v = v - laplacian @ v
without_start = g2t.node_features(x, walk, length=4, degree=2, zero_start=False)
print(f"diffusion by the Laplacian differs by {(v - without_start).abs().max():.1e}")

# %% [markdown]
# ## Functionals without tensors
# A layer never builds these tensors. It pairs them with rank-1 functionals u_1 (x) u_2, for which a recursion over the edges is enough.

# %%
components = torch.randn(2, 2, 3, generator=torch.Generator().manual_seed(0))  # degree 2, attributes 2, rank 3
fast = g2t.low_rank_features(x, walk, components, length=4)
by_tensors = torch.einsum("nij,ir,jr->nr", algebra.levels(features)[2].reshape(4, 2, 2), components[0], components[1])
print(f"degree 2 of the recursion differs from the tensors by {(fast[:, 1] - by_tensors).abs().max():.1e}")

# %% [markdown]
# That recursion with learned components is the layer: it adds the degrees of each functional and a map of the node's own attributes.
# (The paper's layer has a norm and a mixing matrix instead: `mix=True, root_weight=False`.)

# %%
layer = g2t.nn.G2TNConv(2, 8, walk_length=4).double()
print(layer, "->", tuple(layer(x, edge_index).shape))
