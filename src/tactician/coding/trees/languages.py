"""Grammars of languages by the endings of files. Each is a small package of the extra `coding`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from tactician.frozen import frozen

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Query

_ENDINGS: Final = {
    "python": (".py", ".pyi"),
    "javascript": (".js", ".mjs", ".cjs", ".jsx"),
    "typescript": (".ts", ".mts", ".cts"),
    "tsx": (".tsx",),
    "go": (".go",),
    "rust": (".rs",),
    "java": (".java",),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"),
    "c_sharp": (".cs",),
    "ruby": (".rb", ".rake"),
    "php": (".php",),
}
_NAMES: Final = {ending: name for name, endings in _ENDINGS.items() for ending in endings}
_CLASSES: Final = "(class_declaration name: (_) @name) @class"
_SCRIPT: Final = f"""
(function_declaration name: (_) @name) @function
(generator_function_declaration name: (_) @name) @function
{_CLASSES}
(method_definition name: (_) @name) @method
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
"""
_TYPED_SCRIPT: Final = f"""{_SCRIPT}
(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (_) @name) @interface
(type_alias_declaration name: (_) @name) @type
(enum_declaration name: (_) @name) @enum
"""
_C: Final = """
(function_definition declarator: (function_declarator declarator: (_) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name))) @function
(struct_specifier name: (_) @name body: (_)) @struct
(enum_specifier name: (_) @name body: (_)) @enum
(type_definition declarator: (type_identifier) @name) @type
(preproc_def name: (_) @name) @macro
(preproc_function_def name: (_) @name) @macro
"""
_DEFINITIONS: Final = {
    "python": "(function_definition name: (_) @name) @function (class_definition name: (_) @name) @class",
    "javascript": _SCRIPT,
    "typescript": _TYPED_SCRIPT,
    "tsx": _TYPED_SCRIPT,
    "go": """
        (function_declaration name: (_) @name) @function
        (method_declaration name: (_) @name) @method
        (type_spec name: (_) @name) @type
    """,
    "rust": """
        (function_item name: (_) @name) @function
        (struct_item name: (_) @name) @struct
        (enum_item name: (_) @name) @enum
        (trait_item name: (_) @name) @trait
        (mod_item name: (_) @name) @module
        (macro_definition name: (_) @name) @macro
    """,
    "java": f"""
        {_CLASSES}
        (interface_declaration name: (_) @name) @interface
        (enum_declaration name: (_) @name) @enum
        (record_declaration name: (_) @name) @record
        (method_declaration name: (_) @name) @method
        (constructor_declaration name: (_) @name) @method
    """,
    "c": _C,
    "cpp": f"{_C} (class_specifier name: (_) @name body: (_)) @class",
    "c_sharp": f"""
        {_CLASSES}
        (interface_declaration name: (_) @name) @interface
        (struct_declaration name: (_) @name) @struct
        (record_declaration name: (_) @name) @record
        (enum_declaration name: (_) @name) @enum
        (method_declaration name: (_) @name) @method
    """,
    "ruby": """
        (method name: (_) @name) @method
        (singleton_method name: (_) @name) @method
        (class name: (_) @name) @class
        (module name: (_) @name) @module
    """,
    "php": f"""
        {_CLASSES}
        (function_definition name: (_) @name) @function
        (method_declaration name: (_) @name) @method
        (interface_declaration name: (_) @name) @interface
        (trait_declaration name: (_) @name) @trait
    """,
}


@frozen
class Grammar:
    """Grammar of a language.

    Attributes:
        name: the name of the language.
        parser: its parser.
        definitions: the query for definitions: their names, and the definitions by kind.
    """

    name: str
    parser: Parser
    definitions: Query


def find_grammar(path: str) -> Grammar | None:
    """Return the grammar for a file; `None` for an unknown language, or when its package is not installed."""
    name = _NAMES.get(PurePosixPath(path).suffix.lower())
    return None if name is None else _load(name)


@cache
def _load(name: str) -> Grammar | None:
    try:
        from tree_sitter import Language, Parser, Query

        language: Language = Language(_find_language(name)())
    except ImportError:
        return None
    return Grammar(name, Parser(language), Query(language, _DEFINITIONS[name]))


def _find_language(name: str) -> Callable[[], object]:
    """Return the function of a language's package.

    Raises:
        ImportError: when the package is not installed.
    """
    match name:
        case "python":
            from tree_sitter_python import language
        case "javascript":
            from tree_sitter_javascript import language
        case "typescript":
            from tree_sitter_typescript import language_typescript as language
        case "tsx":
            from tree_sitter_typescript import language_tsx as language
        case "go":
            from tree_sitter_go import language
        case "rust":
            from tree_sitter_rust import language
        case "java":
            from tree_sitter_java import language
        case "c":
            from tree_sitter_c import language
        case "cpp":
            from tree_sitter_cpp import language
        case "c_sharp":
            from tree_sitter_c_sharp import language
        case "ruby":
            from tree_sitter_ruby import language
        case _:
            from tree_sitter_php import language_php as language
    return language
