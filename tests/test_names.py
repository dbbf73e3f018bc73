"""Names in files: those of allowed packages stand for something, and no others, whatever is tried."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tactician import tool
from tactician.names import NameProblem, Names, find_import_path, read_allowed_packages
from tactician.tools import Tool

FILES = {
    "__init__.py": "from acme_names.tools import search as find_it\n",
    "tools.py": """
import os
import os as system
import subprocess
from functools import partial
from os import system as shell
from subprocess import Popen, run
from tactician import Agent, tool

LIMIT = 3
ready = Agent("Ready")
quick = partial(run, "true")

def search(text: str) -> str:
    return text

def _hidden() -> None: ...

@tool
def look_up(text: str) -> str:
    '''Look it up.'''
    return text

class Shelf(dict):
    made = 0
    Process = Popen

    def __init__(self) -> None:
        type(self).made += 1

    class Row: ...

    def put(self) -> "Shelf":
        return self

    def take(self) -> "Shelf":
        return self

    @classmethod
    def of(cls) -> None: ...

    @property
    def size(self) -> int:
        return 1

    def _secret(self) -> None: ...

class Better(Shelf):
    def sort(self) -> None: ...

class NeedsAddress:
    def __init__(self, address: str) -> None: ...

    def ping(self) -> None: ...

class Fails:
    def __init__(self) -> None:
        raise ConnectionError("nobody is there\\nat all")

    def ping(self) -> None: ...

class FailsSilently:
    def __init__(self) -> None:
        raise KeyError

class _Hidden:
    def search(self) -> None: ...
""",
    "_private.py": "def search() -> None: ...\n",
    "broken.py": "raise RuntimeError('no network')\n",
    "needy.py": "import acme_names_that_is_missing\n",
    "needy_inside.py": "import acme_names.need\n",
    "script.py": "import sys\nsys.exit()\n",
    "syntax.py": "def\n",
    "lazy.py": "def __getattr__(name):\n    raise ImportError('cannot load ' + name)\n",
}


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "acme_names").mkdir()
    (tmp_path / "acme_names_of_others.py").write_text("def search() -> None: ...\n", encoding="utf-8")
    for name, text in FILES.items():
        (tmp_path / "acme_names" / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [one for one in sys.modules if one.startswith("acme_names")]:
        del sys.modules[name]


@pytest.fixture
def names() -> Names:
    return Names(packages=["acme_names"], kinds=(Tool,))


class TestAllowedPackages:
    @pytest.mark.parametrize(
        "name",
        ["tools.search", "tools.look_up", "tools.Shelf", "tools.Shelf.Row", "tools.Shelf.put", "tools.Shelf.of",
         "tools.Better.put", "tools.Better.Row", "find_it"],
    )  # fmt: skip
    def test_what_they_define_is_found(self, name: str, names: Names) -> None:
        found = names.find(f"acme_names.{name}")
        assert getattr(found, "__name__", getattr(found, "name", None)) == name.rpartition(".")[2].replace(
            "find_it", "search"
        )

    @pytest.mark.parametrize(
        "name",
        [
            "search",
            "os.system",
            "subprocess.run",
            "builtins.eval",
            "acme_names_of_others.search",
            "acme_names",
            "acme_names.",
            ".acme_names.tools.search",
            "acme_names..tools.search",
            "acme_names.tools",
            "acme_names.tools.",
            "acme_names.tools.os",
            "acme_names.tools.os.system",
            "acme_names.tools.system.system",
            "acme_names.tools.subprocess.run",
            "acme_names.tools.shell",
            "acme_names.tools.run",
            "acme_names.tools.Popen",
            "acme_names.tools.Popen.wait",
            "acme_names.tools.quick",
            "acme_names.tools.ready",
            "acme_names.tools.LIMIT",
            "acme_names.tools.missing",
            "acme_names.tools.search.__globals__",
            "acme_names.tools.search.__call__",
            "acme_names.tools._hidden",
            "acme_names.tools._Hidden",
            "acme_names.tools._Hidden.search",
            "acme_names.tools.__builtins__",
            "acme_names.tools.Shelf._secret",
            "acme_names.tools.Shelf.__init__",
            "acme_names.tools.Shelf.__class__",
            "acme_names.tools.Shelf.size",
            "acme_names.tools.Shelf.made",
            "acme_names.tools.Shelf.mro",
            "acme_names.tools.Shelf.update",
            "acme_names.tools.Shelf.Process",
            "acme_names.tools.Shelf.Process.wait",
            "acme_names.tools.Shelf.Row.missing",
            "acme_names._private.search",
            "acme_names.missing.search",
            "acme_names.a\0b.search",
            "acme_names.missing.Class.method",
            "",
            ".",
            "..",
        ],
    )
    def test_nothing_else_is_found(self, name: str, names: Names) -> None:
        names.find("acme_names.tools.search")
        with pytest.raises(NameProblem) as caught:
            names.find(name)
        assert str(caught.value).startswith(f"there is nothing with the name {name!r}.")
        assert str(caught.value).endswith("Register it, or allow its package (allowed: acme_names)")

    def test_objects_are_found_where_their_kind_is_allowed(self) -> None:
        with pytest.raises(NameProblem):
            Names(packages=["acme_names"]).find("acme_names.tools.look_up")
        assert isinstance(Names(packages=["acme_names"], kinds=(Tool,)).find("acme_names.tools.look_up"), Tool)

    def test_a_part_of_a_package_may_be_allowed(self) -> None:
        names = Names(packages=["acme_names.tools"])
        assert callable(names.find("acme_names.tools.search"))
        with pytest.raises(NameProblem, match=r"allowed: acme_names\.tools\)"):
            names.find("acme_names.find_it")

    def test_nothing_is_allowed_by_itself(self) -> None:
        with pytest.raises(NameProblem, match=r"there is nothing with the name 'os\.system'\. .*\(allowed: none\)"):
            Names().find("os.system")

    def test_nothing_is_imported_to_find_out(self) -> None:
        with pytest.raises(NameProblem):
            Names(packages=["acme_names.tools"]).find("acme_names.broken.run")
        assert "acme_names.broken" not in sys.modules

    def test_a_name_that_is_nearly_right(self, names: Names) -> None:
        names.find("acme_names.tools.search")
        with pytest.raises(NameProblem, match=r"Did you mean 'acme_names\.tools\.search'\?"):
            names.find("acme_names.tools.serch")

    def test_only_what_would_be_found_is_told(self, names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("acme_names.tools.search", "acme_names.find_it"):
            names.find(name)
        monkeypatch.setitem(sys.modules, "acme_names.halted", None)
        __import__("acme_names._private")

        known = set(names.list_known())

        assert known == {
            "acme_names.find_it",
            *(f"acme_names.tools.{one}" for one in ("search", "look_up", "Shelf", "Better")),
            *(f"acme_names.tools.{one}" for one in ("NeedsAddress", "Fails", "FailsSilently")),
        }
        assert all(names.find(one) for one in known)
        with pytest.raises(NameProblem):
            names.find("acme_names.halted.run")


class TestMethods:
    def test_those_of_one_class_are_of_one_object(self, names: Names) -> None:
        put, take = names.find("acme_names.tools.Shelf.put"), names.find("acme_names.tools.Shelf.take")
        assert callable(put)
        assert callable(take)
        assert put() is take() is put()
        assert put().made == 1

    @pytest.mark.parametrize(
        ("kind", "why"),
        [("NeedsAddress", "missing 1 required positional argument: 'address'"), ("Fails", "nobody is there")],
    )
    def test_a_class_that_needs_more(self, kind: str, why: str, names: Names) -> None:
        with pytest.raises(NameProblem) as caught:
            names.find(f"acme_names.tools.{kind}.ping")
        message = str(caught.value)
        assert message.startswith(f"'acme_names.tools.{kind}' cannot be created without arguments: ")
        assert message.endswith(f"{why}; register an object")

    def test_an_error_that_says_nothing_is_named(self, names: Names) -> None:
        kind = names.find("acme_names.tools.FailsSilently")
        assert isinstance(kind, type)
        with pytest.raises(NameProblem, match="without arguments: KeyError; register an object"):
            names.create("it", kind)


class TestBrokenModules:
    @pytest.mark.parametrize(
        ("module", "why"),
        [
            ("broken", "no network"),
            ("needy", "No module named 'acme_names_that_is_missing'"),
            ("needy_inside", "No module named 'acme_names.need'"),
            ("script", "SystemExit"),
            ("syntax", "invalid syntax"),
        ],
    )
    def test_what_is_wrong_is_told(self, module: str, why: str, names: Names) -> None:
        with pytest.raises(NameProblem, match=f"cannot be imported: {why}") as caught:
            names.find(f"acme_names.{module}.run")
        assert repr(f"acme_names.{module}") in str(caught.value)

    def test_a_module_that_imports_on_demand(self, names: Names) -> None:
        with pytest.raises(
            NameProblem, match=r"'run' cannot be loaded from the module 'acme_names\.lazy': cannot load"
        ):
            names.find("acme_names.lazy.run")


class TestRegistered:
    def test_they_come_before_packages_and_need_none(self) -> None:
        names = Names({"search": os.getcwd, "acme_names.tools.search": len}, packages=["acme_names"])
        assert names.find("search") is os.getcwd
        assert names.find("acme_names.tools.search") is len

    def test_they_are_known_by_their_full_name_too(self) -> None:
        class Shelf: ...

        def search() -> None: ...

        shelf = Shelf()
        names = Names({"a": search, "b": shelf, "c": TestMethods})

        here = "TestRegistered.test_they_are_known_by_their_full_name_too.<locals>"
        assert names.find(f"{__name__}.{here}.search") is search
        assert names.find(f"{__name__}.{here}.Shelf") is shelf
        assert names.find(f"{__name__}.TestMethods") is TestMethods
        assert {"a", "b", "c"} < set(names.list_known())


class TestTheMainProgram:
    def test_it_may_be_allowed(self, tmp_path: Path) -> None:
        script = tmp_path / "main.py"
        script.write_text(
            "from os import getcwd\nfrom subprocess import run\nfrom tactician.names import NameProblem, Names\n"
            "def search(): ...\ndef _hidden(): ...\nnames = Names(packages=['__main__'])\n"
            "assert names.find('__main__.search') is search\n"
            "for one in ('_hidden', 'run', 'getcwd', 'names', '__name__'):\n"
            "    try:\n        names.find(f'__main__.{one}')\n    except NameProblem: pass\n"
            "    else: raise AssertionError(one)\n",
            encoding="utf-8",
        )
        subprocess.run([sys.executable, str(script)], check=True, timeout=60)


class TestAllowedByTheEnvironment:
    @pytest.mark.parametrize(
        ("value", "packages"),
        [(None, ()), ("", ()), ("acme", ("acme",)), (" acme.tools , ,other,", ("acme.tools", "other"))],
    )
    def test_it_names_packages(self, value: str | None, packages: tuple[str, ...]) -> None:
        assert read_allowed_packages({} if value is None else {"TACTICIAN_ALLOW": value}) == packages


@tool
def look_up(text: str) -> str:
    """Look it up."""
    return text


class Desk:
    @tool
    def put(self, text: str) -> str:
        """Put it there."""
        return text

    @classmethod
    def of(cls) -> None: ...

    class Drawer: ...


def remade() -> Callable[[str], str]:
    def look_up(text: str) -> str:
        return text

    look_up.__qualname__ = "look_up"
    return look_up


class TestPathOf:
    @pytest.mark.parametrize(
        ("value", "path"),
        [
            (look_up, "look_up"),
            (Desk, "Desk"),
            (Desk.Drawer, "Desk.Drawer"),
            (Desk().put, "Desk.put"),
            (Desk.of, "Desk.of"),
            (remade, "remade"),
        ],
    )
    def test_what_an_import_finds(self, value: object, path: str) -> None:
        assert find_import_path(value) == f"{__name__}.{path}"

    @pytest.mark.parametrize("value", [remade(), lambda: None, Desk(), 3, None, "look_up", len])
    def test_what_none_finds(self, value: object) -> None:
        assert find_import_path(value) is None

    def test_what_a_module_has_lost(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Desk, "__module__", "acme_names.gone")
        assert find_import_path(Desk) is None

    def test_an_import_finds_it_again(self) -> None:
        names = Names(packages=[__name__], kinds=(Tool,))
        assert names.find(find_import_path(look_up) or "") is look_up
        assert names.find(find_import_path(Desk.Drawer) or "") is Desk.Drawer
