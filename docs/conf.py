"""Configuration of the documentation site, which `make docs` builds."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import tactician

project = "Tactician"
author = "The authors of Tactician"
project_copyright = "2026, the authors of Tactician"
release = version = tactician.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "docs._ext.mermaid_fence",
    "docs._ext.offline",
    "docs._ext.reference_tables",
    "docs._ext.side_by_side",
    "docs._ext.signatures",
]
exclude_patterns = ["_static", "_ext"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # types of other packages in signatures: their inventories are online

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]

suppress_warnings = ["ref.python"]  # several packages have a class of the same name
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_preserve_defaults = True
autodoc_default_options = {
    "exclude-members": "model_config",
    "inherited-members": "object,BaseException,Enum,str,int,tuple,dict,BaseModel",  # but for the members of these
}
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 110
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "Tactician"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
highlight_language = "none"  # of fences that name no language
pygments_style = "friendly"
pygments_dark_style = "monokai"
copybutton_exclude = ".linenos, .gp, .go"
