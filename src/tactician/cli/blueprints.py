"""`tactician blueprint`: check, run, draw and compare blueprints."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.tree import Tree

from tactician.blueprint import Blueprint, build_outline, compare_blueprints, json_schema
from tactician.blueprint.differences import Difference
from tactician.blueprint.outline import Outline
from tactician.blueprint.references import ResolvedBlueprint, resolve_references
from tactician.cli.blueprint_files import Allow, BlueprintAccess, Modules, Root, add_advice
from tactician.cli.console import Debug, err, out, print_json
from tactician.cli.formatting import format_on_one_line, shorten
from tactician.cli.run_command import run
from tactician.errors import BlueprintError, Problem
from tactician.grammar import format_count
from tactician.text import escape_controls

blueprints = typer.Typer(name="blueprint", help="Agents and constellations in JSON and YAML.", no_args_is_help=True)
blueprints.command()(run)

_MARKS = {"added": ("+", "green"), "removed": ("-", "red"), "changed": ("~", "yellow"), "moved": ("~", "yellow")}
_File = Annotated[Path, typer.Argument(help="A blueprint: a file that ends in .json, .yaml or .yml.")]
_Files = Annotated[list[Path], typer.Argument(metavar="FILE...", help="Blueprints.")]
_NoFollow = Annotated[
    bool, typer.Option("--no-follow", help="Compare only these files, without the files that they name.")
]


@blueprints.command()
def check(
    files: _Files,
    allow: Allow = None,
    modules: Modules = None,
    root: Root = None,
    no_build: Annotated[bool, typer.Option("--no-build", help="Check the structure only.")] = False,
    debug: Debug = False,
) -> None:
    """Check blueprints: names, keys, guardrails, files. Exit code 1 when there are problems."""
    BlueprintAccess.of(allow, modules).import_modules()
    references = dict.fromkeys(
        line for file in files for line in _find_mistakes(file, allow or (), root, builds=not no_build)
    )
    for line in references:
        out.print(format_on_one_line(line), markup=False, highlight=False, soft_wrap=True)
    if references:
        raise typer.Exit(1)
    err.print(f"[green]{format_count(len(files), 'blueprint')}, nothing is wrong[/green]")


@blueprints.command()
def schema(modules: Modules = None, debug: Debug = False) -> None:
    """Print the JSON Schema of blueprints, for completion and checks in editors."""
    BlueprintAccess.of(None, modules).import_modules()
    print_json(json.dumps(json_schema(), indent=2))


@blueprints.command()
def show(file: _File, root: Root = None, debug: Debug = False) -> None:
    """Draw a constellation: agents, models, tools, guardrails and handoffs. References are followed."""
    resolved = resolve_references(Blueprint.from_file(file), root=root, texts=False)
    out.print(_draw(build_outline(resolved.blueprint)))
    if resolved.problems:
        raise BlueprintError(f"{file} cannot be followed everywhere", add_advice(resolved.problems))


@blueprints.command()
def diff(
    before: _File,
    after: _File,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    no_follow: _NoFollow = False,
    root: Root = None,
    debug: Debug = False,
) -> None:
    """Show the differences in behaviour between two blueprints. Exit code 1 when there are any."""
    differences = compare_blueprints(*(_load_whole(file, root, follows=not no_follow) for file in (before, after)))
    if as_json:
        print_json(json.dumps([difference.to_data() for difference in differences], indent=2, ensure_ascii=False))
    else:
        for difference in differences:
            _print_difference(difference)
    if differences:
        raise typer.Exit(1)


def _find_mistakes(file: Path, allow: Sequence[str], root: Path | None, *, builds: bool) -> Iterable[str]:
    """Return the mistakes in a file, each on a line."""
    try:
        if builds:
            Blueprint.load(file, allow=allow, root=root)
        else:
            Blueprint.from_file(file)
    except BlueprintError as error:
        return [_format_problem(problem, file) for problem in add_advice(error.problems)]
    except (Exception, SystemExit) as error:  # somebody else's code runs here, and other files are still to be checked
        return [f"{_format_path(file)}: {type(error).__name__}: {error}"]
    return ()


def _format_problem(problem: Problem, file: Path) -> str:
    return str(replace(problem, file=_format_path(file if problem.file is None else Path(problem.file))))


def _format_path(file: Path) -> str:
    """Return a path relative to the working directory, if possible."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _load_whole(file: Path, root: Path | None, *, follows: bool) -> Blueprint:
    """Load the blueprint in a file, with its references resolved."""
    blueprint = Blueprint.from_file(file)
    resolved = resolve_references(blueprint, root=root) if follows else ResolvedBlueprint(blueprint, (), ())
    if resolved.problems:
        raise BlueprintError(
            f"{file} names files that cannot be read; --no-follow leaves them out", add_advice(resolved.problems)
        )
    return resolved.blueprint


def _draw(outline: Outline) -> Tree:
    tree = Tree(_format_heading(outline), highlight=False)
    for label, text in outline.facts:
        tree.add(f"[dim]{escape(label)}[/dim] {_format_text(text)}")
    for inner in outline.inner:
        tree.children.append(_draw(inner))
    return tree


def _format_heading(outline: Outline) -> str:
    name = f"[bold]{_format_text(outline.name)}[/bold]"
    named = [
        f"[{colour}]{_format_text(part)}[/{colour}]"
        for colour, part in (("yellow", outline.role), ("cyan", outline.type))
        if part
    ]
    parts = [outline.model, shorten(outline.about), _format_path(outline.file) if outline.role and outline.file else ""]
    return " ".join([*named, name]) + "".join(f"  [dim]{_format_text(part)}[/dim]" for part in parts if part)


def _format_text(text: str) -> str:
    """Return untrusted text as part of a line."""
    return escape(format_on_one_line(text))


def _print_difference(difference: Difference) -> None:
    mark, colour = _MARKS[difference.change]
    heading = f"[{colour}]{mark} {_format_text(difference.path)}[/{colour}]{_format_change(difference)}"
    out.print(heading, highlight=False, soft_wrap=True)
    for line in difference.lines:
        colour = {"+": "green", "-": "red"}.get(line[:1], "dim")
        out.print(f"    [{colour}]{escape(escape_controls(line))}[/{colour}]", highlight=False, soft_wrap=True)


def _format_change(difference: Difference) -> str:
    """Return the value before and after a change."""
    match difference.change:
        case "added":
            return _format_value_after(difference.path, difference.after)
        case "removed":
            return _format_value_after(difference.path, difference.before)
        case "moved":
            return f": in another order: {_format_value(difference.before)} → {_format_value(difference.after)}"
        case "changed":
            return (
                ":" if difference.lines else f": {_format_value(difference.before)} → {_format_value(difference.after)}"
            )


def _format_value_after(path: str, value: object) -> str:
    """Return the value, unless the name in the path already says it."""
    return "" if path.endswith(f"[{value}]") else f": {_format_value(value)}"


def _format_value(value: object) -> str:
    return _format_text(shorten(json.dumps(value, ensure_ascii=False)))
