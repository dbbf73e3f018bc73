"""Bin packing: items in as few bins as first-fit decreasing needs."""

from __future__ import annotations

from collections.abc import Sequence


def pack_bins(sizes: Sequence[float], capacity: float) -> list[list[int]]:
    """Return the numbers of the items in each bin, by first-fit decreasing.

    No bin holds more than its capacity, except a bin with a single, larger item. The items of a bin, and
    the bins by their first items, are in the order of the items.

    Args:
        sizes: the sizes of the items.
        capacity: the capacity of each bin.
    """
    bins = _Bins(len(sizes), capacity)
    for number in sorted(range(len(sizes)), key=lambda number: -sizes[number]):
        bins.add(number, sizes[number])
    return sorted(sorted(items) for items in bins.items if items)


class _Bins:
    """Bins in the leaves of a tree, whose nodes have the most room that is left in a bin below."""

    def __init__(self, count: int, capacity: float) -> None:
        self._leaves = 1 << max(0, count - 1).bit_length()
        self._capacity = capacity
        self._room = [capacity] * (2 * self._leaves)
        self.items: list[list[int]] = [[] for _ in range(self._leaves)]

    def add(self, number: int, size: float) -> None:
        needed = min(size, self._capacity)  # an item that is larger than a bin gets an empty bin
        node = 1
        while node < self._leaves:
            node *= 2
            node += self._room[node] < needed
        self.items[node - self._leaves].append(number)
        self._room[node] -= size
        while node := node // 2:
            self._room[node] = max(self._room[2 * node], self._room[2 * node + 1])
