"""JSON, YAML and TOML as bounded data: line numbers, `${VARIABLES}`, spelling suggestions, and mistakes all at once."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.documents.data import DEFAULT_DOCUMENT_LIMITS as DEFAULT_DOCUMENT_LIMITS
    from tactician.documents.data import Data as Data
    from tactician.documents.data import DataPath as DataPath
    from tactician.documents.data import DocumentLimits as DocumentLimits
    from tactician.documents.data import check_data as check_data
    from tactician.documents.data import format_path as format_path
    from tactician.documents.data import measure_data as measure_data
    from tactician.documents.document import FORMATS as FORMATS
    from tactician.documents.document import DataDocument as DataDocument
    from tactician.documents.document import Format as Format
    from tactician.documents.document import load_document as load_document
    from tactician.documents.document import make_document as make_document
    from tactician.documents.document import read_document as read_document
    from tactician.documents.document import write_yaml as write_yaml
    from tactician.documents.files import UnreadableFileError as UnreadableFileError
    from tactician.documents.files import read_text as read_text
    from tactician.documents.forms import form_of as form_of
    from tactician.documents.forms import list_form_fields as list_form_fields
    from tactician.documents.models import DocumentModel as DocumentModel
    from tactician.documents.models import explain_validation as explain_validation
    from tactician.documents.models import list_mistakes as list_mistakes
    from tactician.documents.models import validate_document as validate_document
    from tactician.documents.problems import Problems as Problems
    from tactician.documents.scalars import parse_scalar as parse_scalar
    from tactician.documents.variables import Variable as Variable
    from tactician.documents.variables import escape_variables as escape_variables
    from tactician.documents.variables import find_variable as find_variable
    from tactician.documents.variables import has_variables as has_variables
    from tactician.documents.variables import substitute_variables as substitute_variables
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.documents.data": (
                "DEFAULT_DOCUMENT_LIMITS Data DataPath DocumentLimits check_data format_path measure_data"
            ),
            "tactician.documents.document": (
                "FORMATS DataDocument Format load_document make_document read_document write_yaml"
            ),
            "tactician.documents.files": "UnreadableFileError read_text",
            "tactician.documents.forms": "form_of list_form_fields",
            "tactician.documents.models": "DocumentModel explain_validation list_mistakes validate_document",
            "tactician.documents.problems": "Problems",
            "tactician.documents.scalars": "parse_scalar",
            "tactician.documents.variables": (
                "Variable escape_variables find_variable has_variables substitute_variables"
            ),
        },
    )
