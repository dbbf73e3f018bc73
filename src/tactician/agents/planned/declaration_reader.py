"""Reader of the declared methods of classes, and of the states that their actions return."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias, cast, get_origin

from tactician.agents.planned.annotations import (
    UNDEFINED,
    find_generics,
    find_subclasses,
    format_hint,
    list_part_classes,
    specialize_hints,
)
from tactician.agents.planned.declarations import (
    ACTION,
    CONDITION,
    COST,
    GOAL,
    ActionDeclaration,
    GoalDeclaration,
    MethodDeclaration,
)
from tactician.agents.planned.methods import NOT, ActionMethod, Declarations, Method, Source
from tactician.agents.planned.signatures import (
    Parameter,
    Signature,
    is_generator,
    read_outputs,
    read_signature,
    validate_return_type,
)
from tactician.errors import DeclarationError
from tactician.loggers import get_logger
from tactician.planning.expressions import Expression, ExpressionError, is_expression, parse_expression
from tactician.process.objects import get_state_declaration
from tactician.tools.signature import parse_docstring, resolve_hints

_logger = get_logger(__name__)
_MARKS: Final = (ACTION, GOAL, CONDITION, COST)
Marks: TypeAlias = Mapping[str, object]
"""Declarations of a method, by the attributes that they are kept in."""


def read_declarations(sources: Iterable[Source], problems: list[str]) -> Declarations:
    """Read classes, and the states that their actions may return. Mistakes are added to `problems`."""
    waiting, reader = _disambiguate_prefixes(sources), _Reader(problems)
    waiting_kinds = {source.kind for source in waiting}
    prefixes = {source.prefix for source in waiting}
    for plain in waiting:  # grows as it goes
        source = replace(plain, namespace={**plain.namespace, **_find_nested_classes(plain.kind)})
        for method in reader.read_source(source):
            for kind in _list_states(method.gives):
                if kind not in waiting_kinds:
                    waiting_kinds.add(kind)
                    prefix = f"{kind.__name__}."
                    if prefix in prefixes:
                        prefix = _build_full_prefix(kind)
                    prefixes.add(prefix)
                    waiting.append(replace(source, kind=kind, prefix=prefix, instance=None, is_state=True))
    states = tuple(source.kind for source in waiting if source.is_state)
    names = Counter(action.name for action in reader.actions)
    problems += [f"{name}: {count} actions have this name" for name, count in names.items() if count > 1]
    return Declarations(
        tuple(reader.actions), reader.conditions, reader.costs, reader.collect_expressions(), states, reader.generics
    )


def _disambiguate_prefixes(sources: Iterable[Source]) -> list[Source]:
    """Return the sources, with full class names as prefixes where prefixes are equal."""
    several = list(sources)
    prefixes = Counter(source.prefix for source in several)
    return [
        replace(source, prefix=_build_full_prefix(source.kind))
        if source.prefix and prefixes[source.prefix] > 1
        else source
        for source in several
    ]


def _build_full_prefix(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}."


def _list_states(kinds: Iterable[type]) -> Iterator[type]:
    for kind in kinds:
        for state in find_subclasses(kind):
            if get_state_declaration(state) is not None and not inspect.isabstract(state):
                yield state


@dataclass(slots=True)
class _Reader:
    """Reader with the declarations so far."""

    problems: list[str]
    actions: list[ActionMethod] = field(default_factory=list)
    conditions: dict[str, Method] = field(default_factory=dict)
    costs: dict[str, Method] = field(default_factory=dict)
    generics: dict[type, object] = field(default_factory=dict)

    def read_source(self, source: Source) -> Sequence[ActionMethod]:
        """Read a class, and return its actions."""
        if source.is_state and "<locals>" in source.kind.__qualname__:
            _logger.warning(
                "The state %s is defined inside a function: a process that waits in it can only be resumed in this "
                "program. Define it at the top level of a module, or in a class there.",
                source.kind.__qualname__,
            )
        actions: list[ActionMethod] = []
        for attribute, function, marks in _list_declared_methods(source.kind):
            method = self._read_method(source, attribute, function, is_action=ACTION in marks)
            if (action := self._record_method(method, marks)) is not None:
                actions.append(action)
        actions = [self._resolve_names(action) for action in actions]
        self.actions.extend(actions)
        return actions

    def _read_method(
        self, source: Source, attribute: str, function: Callable[..., object], *, is_action: bool
    ) -> Method:
        label = f"{source.prefix}{attribute}"
        if isinstance(inspect.getattr_static(source.kind, attribute), staticmethod | classmethod):
            self.problems.append(f"{label}: it must be a plain method; take @staticmethod or @classmethod away")
        signature = Signature(())
        try:
            hints = specialize_hints(resolve_hints(function, source.namespace), source.kind, attribute)
        except DeclarationError as error:
            self.problems.extend(f"{label}: {problem}; {UNDEFINED}" for problem in error.problems)
        else:
            self.problems.extend(f"{label}: {problem}" for problem in validate_return_type(function, hints))
            self._remember_generics(hints.values(), label)
            signature = read_signature(function, hints, source.resolvers, self.problems, label)
            if is_action and not is_generator(function):
                signature = replace(signature, outputs=read_outputs(hints, self.problems, label))
        if source.is_state:
            signature = replace(signature, receiver=Parameter("", source.kind, exact=True))
        return Method(label, attribute, source, signature, (parse_docstring(function).summary.splitlines() or [""])[0])

    def _remember_generics(self, hints: Iterable[object], label: str) -> None:
        """Remember the arguments of generic classes: each class can have one set only, as objects do not show them."""
        for generic in (argument for hint in hints for argument in find_generics(hint)):
            registered_generic = self.generics.setdefault(cast("type", get_origin(generic)), generic)
            if registered_generic != generic:
                first, other = format_hint(registered_generic), format_hint(generic)
                self.problems.append(
                    f"{label}: {first} and {other} cannot be distinguished; derive a class from each, as in "
                    f"`class Other({other})`"
                )

    def _record_method(self, method: Method, marks: Marks) -> ActionMethod | None:
        """Record a method by its kind, and return it if it is an action."""
        kinds = [mark for mark in (ACTION, CONDITION, COST) if mark in marks]
        if not kinds:
            self.problems.append(f"{method.name}: @achieves_goal is for an action; add @action below it")
            return None
        if len(kinds) > 1:
            self.problems.append(f"{method.name}: it is an action, a condition or a cost; take all but one away")
        declared = marks[kinds[0]]
        if isinstance(declared, ActionDeclaration):
            return self._read_action(method, declared, cast("GoalDeclaration | None", marks.get(GOAL)))
        methods, word = (self.conditions, "condition") if kinds[0] == CONDITION else (self.costs, "cost")
        name = declared.name if isinstance(declared, MethodDeclaration) and declared.name else method.attribute
        if (label := f"{method.source.prefix}{name}") in methods:
            self.problems.append(f"{method.name}: the {word} {name!r} is declared twice; rename either")
        methods[label] = method
        return None

    def _read_action(self, method: Method, declared: ActionDeclaration, goal: GoalDeclaration | None) -> ActionMethod:
        parts = tuple(
            part
            for kind in method.signature.outputs
            for part in list_part_classes(kind, method.source.namespace, self.problems)
        )
        return ActionMethod(
            method.name,
            method.attribute,
            method.source,
            method.signature,
            method.summary,
            declared,
            goal,
            parts,
            _select_texts(declared.pre),
            _select_texts(declared.post),
            next(iter(_select_texts([declared.cost_method])), None),
            next(iter(_select_texts([declared.value_method])), None),
        )

    def _resolve_names(self, action: ActionMethod) -> ActionMethod:
        """Return the action with the full names of its conditions and costs: of its own class first."""

        def full(name: str, methods: Mapping[str, Method]) -> str:
            if name.startswith(NOT):
                return NOT + full(name.removeprefix(NOT), methods)
            qualified_name = f"{action.source.prefix}{name}"
            return qualified_name if qualified_name in methods else name

        return replace(
            action,
            pre=tuple(full(name, self.conditions) for name in action.pre),
            post=tuple(full(name, self.conditions) for name in action.post),
            cost_method=None if action.cost_method is None else full(action.cost_method, self.costs),
            value_method=None if action.value_method is None else full(action.value_method, self.costs),
        )

    def collect_expressions(self) -> dict[str, Expression]:
        """Return the expressions among the preconditions."""
        expressions: dict[str, Expression] = {}
        for action in self.actions:
            for text in filter(is_expression, action.pre):
                try:
                    expressions[text] = parse_expression(text)
                except ExpressionError as error:
                    self.problems.append(f"{action.name}: {text!r}: {error}")
        return expressions


def _select_texts(names: Iterable[object]) -> tuple[str, ...]:
    """Return the names that are texts; the others are reported later."""
    return tuple(name for name in names if isinstance(name, str))


def _list_declared_methods(owner: type) -> Iterator[tuple[str, Callable[..., object], Marks]]:
    """Yield the declared methods in source order, inherited ones first, with their declarations.

    An override is what it declares itself. Without a decorator, it is what it overrides.
    """
    for name in dict.fromkeys(name for kind in reversed(owner.__mro__) for name in vars(kind)):
        versions = [_unwrap(vars(kind)[name]) for kind in owner.__mro__ if name in vars(kind)]
        marks = next(filter(None, map(_get_marks, versions)), {})
        if marks and callable(function := versions[0]):
            yield name, function, marks


def _unwrap(member: object) -> object:
    return member.__func__ if isinstance(member, staticmethod | classmethod) else member


def _get_marks(function: object) -> Marks:
    return {mark: getattr(function, mark) for mark in _MARKS if hasattr(function, mark)}


def _find_nested_classes(owner: type) -> dict[str, object]:
    """Return the classes that are defined inside the class or its bases."""
    members = ((name, value) for kind in reversed(owner.__mro__) for name, value in vars(kind).items())
    return {name: value for name, value in members if isinstance(value, type) and not name.startswith("__")}
