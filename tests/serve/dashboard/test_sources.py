"""Sources of the dashboard."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_SOURCES: Final = Path(__file__).parents[3] / "dashboard" / "src"
_IMPORT: Final = re.compile(r"""(?:from|import)\s*\(?\s*["'](\.[^"']+)["']""")


def test_no_module_imports_itself_by_way_of_others() -> None:
    modules = {path.resolve() for path in _SOURCES.rglob("*.ts*")}
    imports = {path: _find_imports(path) & modules for path in modules}
    assert sum(map(len, imports.values())) > 100
    while free := {path for path, needed in imports.items() if not needed & imports.keys()}:
        for path in free:
            del imports[path]
    assert sorted(str(path.relative_to(_SOURCES)) for path in imports) == []


def _find_imports(path: Path) -> set[Path]:
    targets = ((path.parent / name).resolve() for name in _IMPORT.findall(path.read_text()))
    return {target.with_name(target.name + suffix) for target in targets for suffix in ("", ".ts", ".tsx")}
