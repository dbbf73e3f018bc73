"""Differences between two blueprints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import unified_diff
from typing import Final, Literal, TypeAlias

from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.defaults import remove_defaults
from tactician.documents.data import Data, format_path
from tactician.frozen import frozen

Change: TypeAlias = Literal["added", "removed", "changed", "moved"]
_LONG = 100
_NAMES: Final = ("name", "registryId", "className", "functionName", "$ref", "strategyType", "id", "tool")
# The lists that say the same when they are empty as when they are not there.
_LISTS: Final = frozenset(
    {
        *("toolClassNames", "toolGroups", "agentTools", "builtInTools", "handoffs"),
        *("inputGuardrails", "outputGuardrails", "toolInputGuardrails", "toolOutputGuardrails"),
    }
)


@frozen
class Difference:
    """Field that differs between two blueprints.

    Attributes:
        path: the path, such as `routes[Billing].target.temperature`, with the names of list items.
        change: the kind of change; for `moved` lists, `before` and `after` are the order of the names.
        before: the value in the first blueprint, unless it was added.
        after: the value in the second blueprint, unless it was removed.
    """

    path: str
    change: Change
    before: Data = None
    after: Data = None

    @property
    def lines(self) -> tuple[str, ...]:
        """The differing lines of long texts, each after `-` or `+`, with context; empty for other values."""
        before, after = self.before, self.after
        if not (isinstance(before, str) and isinstance(after, str)) or not (_is_long(before) or _is_long(after)):
            return ()
        lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
        return tuple(lines)[2:]

    def to_data(self) -> dict[str, Data]:
        """Return the difference as JSON."""
        data: dict[str, Data] = {"path": self.path, "change": self.change}
        if self.change != "added":
            data["before"] = self.before
        if self.change != "removed":
            data["after"] = self.after
        return data


def compare_blueprints(before: Blueprint, after: Blueprint) -> tuple[Difference, ...]:
    """Return the differences in meaning between two blueprints: explicit defaults do not count.

    List items with a name or a description are matched by it, wherever they are in the other list. `followed` replaces
    references by the blueprints in other files.
    """
    return tuple(_compare(_Node.from_blueprint(before), _Node.from_blueprint(after), ""))


@frozen
class _Node:
    """Data at a path of a blueprint, and its fields that differ from the defaults."""

    whole: Data
    plain: Data

    @classmethod
    def from_blueprint(cls, blueprint: Blueprint) -> _Node:
        return cls(blueprint.to_data(), remove_defaults(blueprint).to_data())

    def get_field(self, name: str) -> _Node:
        assert isinstance(self.whole, dict)
        return _Node(self.whole[name], self.plain.get(name) if isinstance(self.plain, dict) else None)

    def get_item(self, place: int) -> _Node:
        assert isinstance(self.whole, list)
        return _Node(self.whole[place], self.plain[place] if isinstance(self.plain, list) else None)

    def is_explicit(self, name: str) -> bool:
        """Return whether a field differs from its default."""
        return isinstance(self.plain, dict) and name in self.plain and not (name in _LISTS and not self.plain[name])


def _compare(node: _Node, other: _Node, path: str) -> Iterator[Difference]:
    before, after = node.whole, other.whole
    if isinstance(before, dict) and isinstance(after, dict):
        yield from _compare_fields(node, other, {**before, **after}, path)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compare_items(node, other, before, after, path)
    elif node.plain is None and other.plain is None:
        return
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield Difference(path, "changed", before, after)


def _compare_fields(node: _Node, other: _Node, names: Iterable[str], path: str) -> Iterator[Difference]:
    before, after = node.whole, other.whole
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    for name in names:
        field_path = f"{path}.{format_path((name,))}" if path else format_path((name,))
        if name in before and name in after:
            yield from _compare(node.get_field(name), other.get_field(name), field_path)
        elif name in before and node.is_explicit(name):
            yield Difference(field_path, "removed", before=before[name])
        elif name in after and other.is_explicit(name):
            yield Difference(field_path, "added", after=after[name])


def _compare_items(
    node: _Node, other: _Node, before: Sequence[Data], after: Sequence[Data], path: str
) -> Iterator[Difference]:
    pairs, lost, new = _pair_items(before, after)
    old_labels, new_labels = _create_labels(before), _create_labels(after)
    for old, place in pairs:
        yield from _compare(node.get_item(old), other.get_item(place), f"{path}[{old_labels[old]}]")
    for old in lost:
        yield Difference(f"{path}[{old_labels[old]}]", "removed", before=before[old])
    for place in new:
        yield Difference(f"{path}[{new_labels[place]}]", "added", after=after[place])
    order = sorted(pairs, key=lambda pair: pair[1])
    if order != pairs:
        was: list[Data] = [old_labels[old] for old, _ in pairs]
        yield Difference(path, "moved", was, [old_labels[old] for old, _ in order])


def _pair_items(
    before: Sequence[Data], after: Sequence[Data]
) -> tuple[list[tuple[int, int]], Sequence[int], Sequence[int]]:
    """Return the pairs of positions of equal items in two lists, and the positions of unmatched items."""
    left, right = dict(enumerate(before)), dict(enumerate(after))
    pairs: list[tuple[int, int]] = []
    for key in _KEYS:
        waiting: dict[str, list[int]] = {}
        for place in reversed(right):
            if (item_key := key(right[place])) is not None:
                waiting.setdefault(item_key, []).append(place)
        for place in list(left):
            if (item_key := key(left[place])) is not None and (places := waiting.get(item_key)):
                pairs.append((place, places.pop()))
                del left[place], right[pairs[-1][1]]
    return sorted(pairs), list(left), list(right)


def _serialize(item: Data) -> str:
    return json.dumps(item, sort_keys=True)


def _find_name(item: Data) -> str | None:
    """Return the name of an item: its own, or the name of the agent in it."""
    if not isinstance(item, dict):
        return None if isinstance(item, list) else str(item)
    item_name = next((str(item[name]) for name in _NAMES if name in item), None)
    inner = (
        _find_name(field) for field in item.values() if isinstance(field, dict) and ("type" in field or "$ref" in field)
    )
    return item_name or next(inner, None)


def _find_description(item: Data) -> str | None:
    description = item.get("description") if isinstance(item, dict) else None
    return description if isinstance(description, str) else None


def _serialize_names(item: Data) -> str | None:
    name, description = _find_name(item), _find_description(item)
    return None if name is None or description is None else json.dumps([name, description])


def _find_nameless(item: Data) -> str | None:
    """Return the same key for all items without a name, which are matched in order."""
    return "" if _find_name(item) is None and _find_description(item) is None else None


_KEYS: Final[Sequence[Callable[[Data], str | None]]] = (
    _serialize,
    _serialize_names,
    _find_name,
    _find_description,
    _find_nameless,
)


def _create_labels(items: Sequence[Data]) -> list[str]:
    """Return a unique label for each item of a list."""
    names = [_find_name(item) or _find_description(item) for item in items]
    several = {name for name, count in Counter(names).items() if count > 1}
    seen: Counter[str | None] = Counter()
    labels: list[str] = []
    for place, name in enumerate(names):
        seen[name] += 1
        labels.append(str(place) if name is None else f"{name} #{seen[name]}" if name in several else name)
    return labels


def _is_long(text: str) -> bool:
    return "\n" in text or len(text) > _LONG
