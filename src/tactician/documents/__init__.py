"""JSON, YAML and TOML as bounded data: line numbers, `${VARIABLES}`, spelling suggestions, and mistakes all at once."""

from tactician.documents.data import (
    DEFAULT_DOCUMENT_LIMITS,
    Data,
    DataPath,
    DocumentLimits,
    check_data,
    format_path,
    measure_data,
)
from tactician.documents.document import (
    FORMATS,
    DataDocument,
    Format,
    load_document,
    make_document,
    read_document,
    write_yaml,
)
from tactician.documents.files import UnreadableFileError, read_text
from tactician.documents.models import DocumentModel, explain_validation, list_mistakes, validate_document
from tactician.documents.problems import Problems
from tactician.documents.scalars import parse_scalar
from tactician.documents.suggestions import did_you_mean, find_closest, find_closest_spelling
from tactician.documents.variables import (
    Variable,
    escape_variables,
    find_variable,
    has_variables,
    substitute_variables,
)

__all__ = [
    "DEFAULT_DOCUMENT_LIMITS",
    "FORMATS",
    "Data",
    "DataPath",
    "DataDocument",
    "DocumentLimits",
    "DocumentModel",
    "Format",
    "Problems",
    "UnreadableFileError",
    "Variable",
    "check_data",
    "did_you_mean",
    "escape_variables",
    "explain_validation",
    "find_closest",
    "find_closest_spelling",
    "find_variable",
    "format_path",
    "has_variables",
    "list_mistakes",
    "load_document",
    "make_document",
    "measure_data",
    "parse_scalar",
    "read_document",
    "read_text",
    "substitute_variables",
    "validate_document",
    "write_yaml",
]
