"""The architecture's rules about imports that `lint-imports` cannot hold. Types count as imports."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import tactician

ROOT = Path(tactician.__file__).parent
ROOF = "tactician"  # resolves its names lazily, and everything may import it

# Modules that are imported inside of functions, because they import an extra or what few programs need.
LATE = {
    "tactician.a2a.channel": "the extra `a2a`",
    "tactician.a2a.connection": "the extra `a2a`",
    "tactician.evals": "the extra `evals`",
    "tactician.testing.eval_cases": "the extra `evals`",
    "tactician.a2a.grpc_transport": "the extra `a2a-grpc`",
    "tactician.serve.a2a": "the extra `a2a`",
    "tactician.serve.a2a.grpc_server": "the extra `a2a-grpc`",
    "tactician.serve.ag_ui": "the extra `ag-ui`",
    "tactician.coding.editor.servers": "the extra `mcp`",
    "tactician.coding.tools.servers": "the extra `mcp`",
    "tactician.planning.forecast": "plans whose actions have estimates, and objectives",
    "tactician.resilience": "limits of calls, which few programs set",
    "tactician.stores.claim_order": "stores in memory that workers claim from",
    "tactician.runs.life.withdrawals": "runs that are killed, which few programs do",
    "tactician.mesh.transports.nats": "the extra `nats`",
    "tactician.mesh.transports.kafka": "the extra `kafka`",
    "tactician.mesh.transports.sqs": "the extra `sqs`",
    "tactician.mesh.transports.websocket": "a server of aiohttp, which few meshes need",
    "tactician.mesh.transports.redis": "the extra `redis`",
    "tactician.mcp.bodies": "the extra `mcp`",
    "tactician.integrations.otel.listener": "the extra `otel`",
    "tactician.integrations.otel.providers": "the extra `otel`",
    "tactician.integrations.temporal_activities": "the extra `temporal`",
    "tactician.integrations.temporal_workflow": "the extra `temporal`",
    "tactician.config.settings": "settings, which few programs have",
    "tactician.config.variables": "settings, which few programs have",
    "tactician.documents": "settings, which few programs have",
    "tactician.diagrams.svg": "drawings, which few programs make",
    "tactician.documents.yaml_text": "pyyaml, which few documents need",
    "tactician.llm.catalog": "models of this machine, which few programs name for a platform",
    "tactician.trace": "the stored form of events, which only durable runs have",
    "tactician.secrets": "masks, which only what is logged needs",
    "tactician.llm": "models of services, which a program with a model of its own does not need",
    "tactician.llm.custom": "pydantic models that take a while to build",
    "tactician.llm.pydantic_ai_adapter.requests": "the extra `pydantic-ai`",
    "tactician.llm.pydantic_ai_adapter.responses": "the extra `pydantic-ai`",
    "tactician.agents": "agents that a model supervises",
    "tactician.agents.planned.single_action": "processes of agents that are not planned",
    "tactician.platform.running": "runs by `Platform.run`",
    "tactician.agents.composition": "drawings, which notebooks and few programs show",
    "tactician.agents.supervision": "agents that a model supervises",
    "tactician.ai.samples": "generated examples, which few calls ask for",
    "tactician.ai.streams": "streams, which few calls need",
    "tactician.conversation": "windows and the store of conversations, which a single answer does not need",
    "tactician.diagrams": "drawings, which notebooks and few programs show",
    "tactician.loop": "streams of text, which few programs need",
    "tactician.planning.rules": "rules, which few agents have",
    "tactician.planning.ruling.calls": "rules, which few agents have",
    "tactician.planning.ruling.contradictions": "rules, which few agents have",
    "tactician.planning.ruling.progress": "rules, which few agents have",
    "tactician.planning.ruling.view": "rules, which few agents have",
    "tactician.agents.planned.rule_names": "rules, which few agents have",
    "tactician.process.deciding.ruling": "rules, which few agents have",
    "tactician.planning.contrast": "explanations of plans, which few programs ask for",
    "tactician.planning.explanation": "explanations of plans, which few programs ask for",
    "tactician.planning.verdict": "explanations of plans, which few programs ask for",
    "tactician.planning.solving": "the searches, which a plan of one possible chain does not need",
    "tactician.platform.invocation": "agents by the type of their result",
    "tactician.platform.enqueuing": "runs for workers",
    "tactician.platform.forking": "forks of runs",
    "tactician.platform.killing": "the end of runs from outside",
    "tactician.platform.memories": "memories that processes share",
    "tactician.platform.goal_tools": "goals as tools",
    "tactician.platform.settings": "checks of what somebody sets",
    "tactician.platform.views": "views of runs, which servers and the command line show",
    "tactician.platform.conversations": "conversations, and requests to agents and models by name",
    "tactician.process": "drawings, which notebooks and few programs show",
    "tactician.process.agent.diagram": "drawings, which notebooks and few programs show",
    "tactician.process.state.event_log": "logs of events, which few processes write",
    "tactician.llm.served_models": "what only `tactician models` asks",
    "tactician.process.agent.what_if": "what-if questions, which few programs ask",
    "tactician.process.deciding.plan_reviewer": "reviews of plans, which few processes have",
    "tactician.process.deciding.stuck": "explanations of processes that have no plan",
    "tactician.prompts": "templates, which a prompt in the program does not need",
    "tactician.platform.views.traces": "traces of stored runs, which few programs read",
    "tactician.trace.trace": "traces, which few programs read",
    "tactician.trace.building": "traces, which few programs read",
    "tactician.context_format": "TOON, which few traces are written as",
    "tactician.trace.json_form": "traces as JSON, which few programs write",
    "tactician.trace.page": "pages of traces, which few programs write",
    "tactician.rag.postgres_store": "the extra `postgres`",
    "tactician.serve.mcp": "the extra `mcp`",
    "tactician.extras": "errors of missing extras",
    "tactician.stores": "lists of files, which only the command line makes",
    "tactician.stores.postgres": "the extra `postgres`",
    "tactician.stores.sqlite": "the extra `sql`",
    "tactician.tools.builtin": "the built-in tools, of which few programs use any",
    "tactician.testing.scripted": "pytest loads the plugin in every project",
    "tactician.platform": "pytest loads the plugin in every project",
}


OPEN = {"tactician.agents.flows", "tactician.ensemble.delegation", "tactician.integrations.otel", "tactician.llm.wire"}
"""Inner packages that export names for users; their modules are imported by name too, as those of outer packages."""


class Import(NamedTuple):
    """An import of a module, or of a name in it."""

    importer: str
    imported: str
    name: str | None
    is_late: bool

    def __str__(self) -> str:
        return f"{self.importer} imports {self.imported}"


@cache
def modules() -> dict[str, Path]:
    found = {}
    for file in ROOT.rglob("*.py"):
        parts = file.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def is_package(module: str) -> bool:
    return modules()[module].name == "__init__.py"


def imports_of(module: str) -> Iterator[Import]:
    def walk(node: ast.AST, is_late: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            for imported, name in names_in(child):
                yield Import(module, imported, name, is_late)
            yield from walk(child, is_late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    yield from walk(ast.parse(modules()[module].read_text(encoding="utf-8")), False)


@cache
def exported_by(package: str) -> frozenset[str]:
    """The names that a package exports: some are those of modules too."""
    if package not in modules():
        return frozenset()
    for node in ast.parse(modules()[package].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node.targets[0]):
            return frozenset(ast.literal_eval(node.value))
    return frozenset(name for _, name in late_names(package))


def late_names(package: str) -> list[tuple[str, str]]:
    """The names that a package imports when they are used, with their modules."""
    for node in ast.walk(ast.parse(modules()[package].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "export_late":
            table = ast.literal_eval(node.args[1])
            return [(home, name) for home, names in table.items() for name in names.split()]
    return []


def names_in(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        for alias in node.names:
            full = f"{node.module}.{alias.name}"
            if full in modules() and alias.name not in exported_by(node.module):
                yield full, None
            elif node.module in modules():
                yield node.module, alias.name
    elif isinstance(node, ast.Import):
        yield from ((alias.name, None) for alias in node.names if alias.name in modules())


@cache
def all_imports() -> tuple[Import, ...]:
    return tuple(one for module in modules() for one in imports_of(module))


def packages_around(module: str) -> list[str]:
    """The packages that a module is in, outermost first, without the roof."""
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(2, len(parts))]


def is_outside(importer: str, package: str) -> bool:
    return not f"{importer}.".startswith(f"{package}.")


def test_public_names_of_other_packages_are_imported_from_their_face() -> None:
    """All else comes from the module that defines it: mypy refuses names that a module only imports."""
    past = [
        f"{one}: import {one.name} from {package}"
        for one in all_imports()
        for package in packages_around(one.imported)
        if one.importer != ROOF and is_outside(one.importer, package) and one.name in exported_by(package)
    ]
    assert past == []


def is_closed(package: str) -> bool:
    """Tell whether an inner package hides its modules: its face exports names, for the house and not for users."""
    return package.count(".") > 1 and bool(exported_by(package)) and package not in OPEN


def test_modules_of_closed_packages_are_imported_by_their_face() -> None:
    past = [
        f"{one}: import it from {package}"
        for one in all_imports()
        for package in packages_around(one.imported)
        if is_closed(package) and is_outside(one.importer, package)
    ]
    assert past == []


def test_private_names_stay_in_their_module() -> None:
    assert [str(one) for one in all_imports() if re.match("_[^_]", one.name or "")] == []


def names_for_type_checkers(package: str) -> list[tuple[str, str]]:
    found = []
    for node in ast.parse(modules()[package].read_text(encoding="utf-8")).body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for one in node.body:
                assert isinstance(one, ast.ImportFrom)
                assert all(alias.name == alias.asname for alias in one.names), "`import name as name` exports it"
                found += [(one.module or "", alias.name) for alias in one.names]
    return found


@pytest.mark.parametrize("package", sorted(module for module in modules() if is_package(module)))
def test_names_that_are_imported_late_are_those_that_type_checkers_see(package: str) -> None:
    if late := late_names(package):
        assert sorted(late) == sorted(names_for_type_checkers(package))


def is_needed(module: str, graph: dict[str, set[str]]) -> bool:
    return any(module in needed for needed in graph.values())


def test_no_module_is_in_a_circle_of_imports() -> None:
    graph: dict[str, set[str]] = {module: set() for module in modules()}
    for one in all_imports():
        # A module of a package imports its neighbours, not its face; the face imports them.
        if one.imported != ROOF and not one.importer.startswith(f"{one.imported}."):
            graph[one.importer].add(one.imported)
    while ends := graph.keys() - {one for one in graph if graph[one] & graph.keys() and is_needed(one, graph)}:
        for module in ends:
            del graph[module]
    assert graph.keys() == set()


def test_a_module_imports_its_neighbours_and_not_the_face_of_its_package() -> None:
    own = [str(one) for one in all_imports() if one.imported != ROOF and one.importer.startswith(f"{one.imported}.")]
    assert own == []


def test_imports_inside_of_functions_are_of_what_few_programs_need() -> None:
    late = {one.imported: str(one) for one in all_imports() if one.is_late and one.importer != ROOF}
    listed = {imported: [*packages_around(imported), imported] for imported in late}
    hidden = [late[imported] for imported, places in listed.items() if not LATE.keys() & places]
    assert [text for text in hidden if "tactician.cli" not in text] == []
    assert LATE.keys() <= {place for places in listed.values() for place in places}, "the list names only what is so"


def test_nothing_is_imported_by_a_name_in_a_string() -> None:
    users = {
        module
        for module, file in modules().items()
        if "import_module(" in file.read_text(encoding="utf-8") and not module.startswith("tactician.cli")
    }
    assert users == {
        "tactician.late_imports",
        "tactician.names",
        "tactician.service.names",
    }


def test_a_public_class_has_a_name_of_its_own() -> None:
    homes: dict[str, list[str]] = {}
    for module, file in modules().items():
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module)
    twice = {name: found for name, found in homes.items() if len(found) > 1}
    # A script of a test and a message of a model name the same thing: `ToolCall("get_weather", city="Paris")`.
    assert twice.keys() == {"ToolCall"}
