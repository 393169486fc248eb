"""Shortest paths in a road map, and which roads they depend on.

In min-plus arithmetic, the square of the matrix of edge lengths has the lengths of the shortest
paths of two edges; squaring it again gives paths of four edges. The lengths of all shortest paths
are therefore a power of one matrix. The gradient of a path's length says how much longer the path
becomes if a road becomes longer. It is 1 for the roads on the path and 0 for all others, so the
gradient *is* the path.

The gradient of the total time of all travellers says how many of them use each road: one gradient
finds every bottleneck.
"""

import heapq
import sys
from math import ceil, log2

import numpy as np

import tenferro as tn
import tenferro_ext_tropical as tropical

TOWNS = ["Aue", "Bern", "Cham", "Davos", "Elm", "Flims", "Genf"]
ROADS = [
    ("Aue", "Bern", 7.0),
    ("Aue", "Davos", 5.0),
    ("Bern", "Cham", 8.0),
    ("Bern", "Davos", 9.0),
    ("Bern", "Elm", 7.0),
    ("Cham", "Elm", 5.0),
    ("Davos", "Elm", 15.0),
    ("Davos", "Flims", 6.0),
    ("Elm", "Flims", 8.5),
    ("Elm", "Genf", 9.0),
    ("Flims", "Genf", 11.0),
]

CONTEXT = tn.AdContext(packages=(tropical.PACKAGE,))


def lengths():
    """Lengths of direct roads: 0 from a town to itself, inf where there is none."""
    matrix = np.full((len(TOWNS), len(TOWNS)), np.inf)
    np.fill_diagonal(matrix, 0.0)
    for start, end, length in ROADS:
        i, j = TOWNS.index(start), TOWNS.index(end)
        matrix[i, j] = matrix[j, i] = length
    return matrix


def distances(roads):
    """Lengths of the shortest paths between all towns."""
    for _ in range(ceil(log2(len(TOWNS)))):
        roads = tropical.einsum("ij,jk->ik", roads, roads, kind="minplus")
    return roads


def distance(roads, start, end):
    """Length of one shortest path."""
    return distances(roads)[TOWNS.index(start), TOWNS.index(end)]


def travel_time(roads, trips):
    """The sum of the distances of all travellers."""
    return tn.sum(trips * distances(roads))


path_of = tn.jit(tn.value_and_grad(distance, ad_context=CONTEXT), static_argnames=("start", "end"))
load_of = tn.jit(tn.value_and_grad(travel_time, ad_context=CONTEXT))


def dijkstra(roads, start):
    """The same lengths from one town, computed with a priority queue."""
    found, queue = {}, [(0.0, start)]
    while queue:
        length, town = heapq.heappop(queue)
        if town in found:
            continue
        found[town] = length
        for other in np.flatnonzero(np.isfinite(roads[town])):
            heapq.heappush(queue, (length + roads[town, other], int(other)))
    return np.array([found[town] for town in range(len(roads))])


def main():
    roads = lengths()
    table = np.asarray(tn.jit(distances)(roads))
    print("lengths of the shortest paths")
    print("       " + "".join(f"{town:>7}" for town in TOWNS))
    for town, row in zip(TOWNS, table, strict=True):
        print(f"{town:>7}" + "".join(f"{length:7.1f}" for length in row))

    length, on_path = path_of(roads, start="Aue", end="Genf")
    on_path = np.asarray(on_path) * (roads > 0)  # staying in a town is not a road
    print(f"\nfrom Aue to Genf, {float(length):.1f}; the gradient is 1 on")
    town, steps = "Aue", []
    while town != "Genf":
        following = TOWNS[int(np.argmax(on_path[TOWNS.index(town)]))]
        steps.append(roads[TOWNS.index(town), TOWNS.index(following)])
        print(f"  {town} - {following}: {steps[-1]:.1f}")
        town = following

    trips = np.triu(np.ones_like(roads), 1)
    total, load = load_of(roads, trips)
    load = np.asarray(load) + np.asarray(load).T
    print(
        f"\none traveller between any two towns, {float(total):.1f} in all; travellers on each road"
    )
    for start, end, _ in sorted(ROADS, key=lambda road: -load[_pair(road)]):
        print(f"  {start} - {end}: {load[_pair((start, end))]:.0f}")

    slower = roads.copy()
    i, j = _pair(max(ROADS, key=lambda road: load[_pair(road)]))
    slower[i, j] = slower[j, i] = slower[i, j] + 0.125
    change = float(load_of(slower, trips)[0]) - float(total)
    print(f"the busiest road 0.125 longer: all together {change:.3f} more")

    np.testing.assert_array_equal(table, [dijkstra(roads, i) for i in range(len(TOWNS))])
    assert sum(steps) == float(length), "the gradient's path has the length of the shortest"
    assert on_path.sum() == len(steps), "and nothing else is on it"
    np.testing.assert_allclose(change, 0.125 * load[i, j], rtol=1e-12)
    used = load[np.isfinite(roads)]
    np.testing.assert_allclose(used @ roads[np.isfinite(roads)] / 2, float(total), rtol=1e-12)


def _pair(road):
    return TOWNS.index(road[0]), TOWNS.index(road[1])


if __name__ == "__main__":
    sys.exit(main())
