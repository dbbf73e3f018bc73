"""References of all kinds: web pages, repositories, folders, Python APIs and files, in code and as data."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.references.folder import LocalDirectory as LocalDirectory
    from tactician.references.package_resource import PackageResource as PackageResource
    from tactician.references.package_resource import TextFile as TextFile
    from tactician.references.python_api import PythonApi as PythonApi
    from tactician.references.reference_files import load_references as load_references
    from tactician.references.repository import GitRepository as GitRepository
    from tactician.references.web_page import WebPage as WebPage
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.references.folder": "LocalDirectory",
            "tactician.references.package_resource": "PackageResource TextFile",
            "tactician.references.python_api": "PythonApi",
            "tactician.references.reference_files": "load_references",
            "tactician.references.repository": "GitRepository",
            "tactician.references.web_page": "WebPage",
        },
    )
