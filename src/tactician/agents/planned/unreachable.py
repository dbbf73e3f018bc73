"""Unreachable conditions: cycles, and names that nothing provides."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import is_dataclass

from tactician.agents.planned.annotations import find_subclasses, is_class
from tactician.agents.planned.condition_names import ConditionNames
from tactician.agents.planned.evaluation import list_names, snake_case
from tactician.agents.planned.methods import ActionMethod, Declarations, Source
from tactician.model_classes import is_model_class
from tactician.planning.expressions import Expression, is_expression
from tactician.process import UserInput
from tactician.process.objects import DEFAULT_BINDING
from tactician.suggestions import find_closest

_HOOKS = frozenset(("__getattr__", "__getattribute__"))


def list_fields(kind: type) -> frozenset[str]:
    """Return the names that a class and its bases annotate."""
    return frozenset(name for base in kind.__mro__ for name in inspect.get_annotations(base))


def lacks_attribute(kind: type, name: str) -> bool:
    """Return whether no instance has the attribute, which only dataclasses and models can tell."""
    if hasattr(kind, name) or name in list_fields(kind):
        return False
    attribute_names = {
        member
        for base in kind.__mro__
        if base is not object and base.__module__ != "pydantic.main"
        for member in vars(base)
    }
    if is_model_class(kind):
        return kind.model_config.get("extra") != "allow" and attribute_names.isdisjoint(_HOOKS)
    return (
        is_dataclass(kind)
        and "__dataclass_fields__" in vars(kind)
        and attribute_names.isdisjoint({*_HOOKS, "__post_init__"})
    )


def find_unreachable(declared: Declarations, words: ConditionNames) -> Iterator[str]:
    """Yield a sentence for each mistake, with its place, the reason and the remedy."""
    yield from _find_cycles(declared)
    yield from _find_unbound_names(declared, words)
    if declared.expressions and object not in words.kinds:  # else anything may be there
        named = _map_names_to_types(words)
        for action in declared.actions:
            for text in filter(declared.expressions.__contains__, action.pre):
                classes_by_name = {**_find_visible_classes(action.source), **named}
                for problem in _find_unknown_names(declared.expressions[text], classes_by_name):
                    yield f"{action.name}: {text!r}: {problem}"


def find_unknown_in_rules(
    expressions: Iterable[Expression], declared: Declarations, words: ConditionNames
) -> Iterator[str]:
    """Yield the objects in expressions of rules that never exist, and fields that they lack."""
    if object in words.kinds:
        return
    named = _map_names_to_types(words)
    sources = {action.source.kind: action.source for action in declared.actions}
    for source in sources.values():
        named = {**_find_visible_classes(source), **named}
    for expression in expressions:
        yield from _find_unknown_names(expression, named)


def suggest_similar(name: str, candidates: Collection[str]) -> str | None:
    """Return a similar known name, as a question."""
    closest = find_closest(name, candidates)
    return None if closest is None else f"did you mean {closest!r}?"


def _find_cycles(declared: Declarations) -> Iterator[str]:
    """Yield the conditions that are set only by actions that need them first."""
    left, held = list(declared.actions), set(declared.conditions)
    posted = {name for action in declared.actions for name in action.post}

    def find_missing(action: ActionMethod) -> list[str]:
        return [name for name in action.pre if name in posted and name not in held and not is_expression(name)]

    while ready := [action for action in left if not find_missing(action)]:
        left = [action for action in left if find_missing(action)]
        held.update(name for action in ready for name in action.post)
    for action in left:
        for name in find_missing(action):
            others = [other.name for other in left if name in other.post and other is not action]
            who = f"only {' and '.join(others)}, which can never run either," if others else "only itself"
            yield (
                f"{action.name}: it can never run, as {who} makes {name!r} true; add it to the `post` of another "
                "action, or declare a @condition"
            )


def _find_unbound_names(declared: Declarations, words: ConditionNames) -> Iterator[str]:
    """Yield the names that nothing is bound to and that resemble others; the rest may come from outside."""
    bindings = {str(thing.binding) for action in declared.actions for thing in words.list_bindings(action)}
    uses = {(method.name, need.binding) for method in declared.methods for need in method.signature.needs}
    taken = {name for expression in declared.expressions.values() for name in expression.names}
    orphans = bindings.difference(taken, (name for _, name in uses))
    for method, name in sorted(uses) if orphans else ():
        if name not in (DEFAULT_BINDING, *bindings) and (hint := suggest_similar(name, orphans)) is not None:
            yield f"{method}: no action binds anything to {name!r}; {hint}"


def _map_names_to_types(words: ConditionNames) -> dict[str, list[type]]:
    """Return the types of the objects that expressions can name, by name."""
    named: dict[str, list[type]] = {DEFAULT_BINDING: [object]}
    for root in (UserInput, *words.kinds):
        for kind in find_subclasses(root):
            for name in list_names(kind):
                named.setdefault(name, []).append(kind)
    for thing in words.things.values():
        if thing.binding != DEFAULT_BINDING:
            named.setdefault(thing.binding, []).extend(find_subclasses(thing.type))
    return named


def _find_visible_classes(source: Source) -> dict[str, list[type]]:
    """Return the classes in scope of the expression, since a process may start with an object of such a class."""
    module = getattr(sys.modules.get(source.kind.__module__), "__dict__", {})
    seen = {**module, **source.namespace}.values()
    return {snake_case(kind.__name__): list(find_subclasses(kind)) for kind in seen if is_class(kind)}


def _find_unknown_names(expression: Expression, named: Mapping[str, Collection[type]]) -> Iterator[str]:
    """Yield the objects that never exist, and fields that they lack."""
    for name in sorted(expression.names - named.keys()):
        hint = (
            suggest_similar(name, named)
            or "objects are called by their class, as in `bill` for a `Bill`, or by a binding"
        )
        yield f"nothing is called {name!r}; {hint}"
    nodes = list(ast.walk(expression.tree))
    loops = (node.target for node in nodes if isinstance(node, ast.comprehension))
    local = {target.id for target in loops if isinstance(target, ast.Name)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id not in local:
            kinds = named.get(node.value.id, ())
            if kinds and all(lacks_attribute(kind, node.attr) for kind in kinds):
                field_names = frozenset(field for kind in kinds for field in list_fields(kind))
                hint = suggest_similar(node.attr, field_names) or "declare it as a field"
                yield f"{node.value.id!r} has no {node.attr!r}; {hint}"
