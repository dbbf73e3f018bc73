"""Public API of Python packages, as their sources declare it. Nothing is imported and nothing runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from tactician.documents.files import UnreadableFileError, read_text
from tactician.frozen import frozen
from tactician.prompts.package_files import find_package_folders

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_ENDINGS: Final = (".pyi", ".py")
_MOST_FILES: Final = 2_000
_MAX_SOURCE: Final = 500_000
"""Bytes of a file. The tree of a file of 2 MB can take a gigabyte."""


@frozen
class ApiEntry:
    """Public class or function.

    Attributes:
        name: the full name, such as `acme.orders.Order`.
        signature: the declaration, such as `def cancel(order: Order) -> None`.
        docstring: the docstring.
        members: the public methods and attributes of a class.
    """

    name: str
    signature: str
    docstring: str = ""
    members: tuple[ApiEntry, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return self.docstring.partition("\n")[0]


@frozen
class PythonSource:
    """Declarations of a package.

    Attributes:
        entries: the public classes and functions, by full name.
        aliases: the full names of what packages export from their modules, by the names under which they export it.
    """

    entries: Mapping[str, ApiEntry]
    aliases: Mapping[str, str]

    def find(self, name: str) -> ApiEntry | None:
        """Return the class, function or method with a full name, or a name under which it is exported."""
        seen: set[str] = set()
        while name in self.aliases and name not in seen:
            seen.add(name)
            name = self.aliases[name]
        if (entry := self.entries.get(name)) is not None:
            return entry
        owner, _, member = name.rpartition(".")
        outer = self.find(owner) if owner else None
        inside = () if outer is None else outer.members
        return next((entry for entry in inside if entry.name.rpartition(".")[2] == member), None)


def read_python_source(package: str) -> PythonSource:
    """Read the declarations of a package and of the packages inside it; what cannot be parsed is left out.

    Raises:
        ConfigurationError: when there is no such package.
    """
    entries: dict[str, ApiEntry] = {}
    aliases: dict[str, str] = {}
    for root in find_package_folders(package):
        for module, file in _list_modules(package, root):
            if (tree := _parse(file)) is not None:
                entries |= {entry.name: entry for entry in _read_entries(tree, module)}
                aliases |= _read_aliases(tree, module, is_package=file.stem == "__init__")
    return PythonSource(entries, aliases)


def _list_modules(package: str, root: Path) -> Iterator[tuple[str, Path]]:
    """Yield the public modules with their files; a stub takes the place of its module."""
    files: dict[str, Path] = {}
    for ending in reversed(_ENDINGS):
        for file in sorted(root.rglob(f"*{ending}"))[:_MOST_FILES]:
            parts = file.relative_to(root).with_suffix("").parts
            inner = parts[:-1] if parts[-1] == "__init__" else parts
            if not any(part.startswith("_") for part in inner) and all(map(str.isidentifier, inner)):
                files[".".join((package, *inner))] = file
    yield from sorted(files.items())


def _parse(file: Path) -> ast.Module | None:
    try:
        return ast.parse(read_text(file, _MAX_SOURCE))
    except (UnreadableFileError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read_entries(tree: ast.Module, module: str) -> Iterator[ApiEntry]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef | Function) and not node.name.startswith("_"):
            yield _read_class(node, module) if isinstance(node, ast.ClassDef) else _read_function(node, module)


def _read_class(node: ast.ClassDef, owner: str) -> ApiEntry:
    name = f"{owner}.{node.name}"
    bases = ", ".join(map(ast.unparse, (*node.bases, *node.keywords)))
    members = (_read_member(child, name) for child in node.body)
    return ApiEntry(
        name,
        f"class {node.name}({bases})" if bases else f"class {node.name}",
        ast.get_docstring(node) or "",
        tuple(member for member in members if member is not None),
    )


def _read_member(node: ast.stmt, owner: str) -> ApiEntry | None:
    if isinstance(node, Function) and (node.name == "__init__" or not node.name.startswith("_")):
        return _read_function(node, owner)
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
        return ApiEntry(f"{owner}.{node.target.id}", ast.unparse(node))
    return None


def _read_function(node: Function, owner: str) -> ApiEntry:
    decorators = "".join(f"@{ast.unparse(each)}\n" for each in node.decorator_list)
    word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    signature = f"{decorators}{word} {node.name}({ast.unparse(node.args)}){returns}"
    return ApiEntry(f"{owner}.{node.name}", signature, ast.get_docstring(node) or "")


def _read_aliases(tree: ast.Module, module: str, *, is_package: bool) -> dict[str, str]:
    """Return what a package imports from its modules under public names, also for type checkers only."""
    if not is_package:
        return {}
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = _resolve_module(node, module)
            for alias in node.names:
                if not (shown := alias.asname or alias.name).startswith("_") and alias.name != "*":
                    aliases[f"{module}.{shown}"] = f"{base}.{alias.name}"
    return aliases


def _resolve_module(node: ast.ImportFrom, package: str) -> str:
    """Return the full name of the module of an import in a package."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - node.level + 1])
    return f"{base}.{node.module}" if node.module else base
