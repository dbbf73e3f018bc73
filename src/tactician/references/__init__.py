"""References of all kinds: web pages, repositories, folders, Python APIs and files, in code and as data."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.data_fields import CODE_ONLY as CODE_ONLY
    from tactician.references.entries import CONTRIBUTOR_KINDS as CONTRIBUTOR_KINDS
    from tactician.references.entries import REFERENCE_KINDS as REFERENCE_KINDS
    from tactician.references.entries import EntryKind as EntryKind
    from tactician.references.entries import ReferenceKind as ReferenceKind
    from tactician.references.entries import create_contributor as create_contributor
    from tactician.references.entries import create_reference as create_reference
    from tactician.references.entries import describe_entry as describe_entry
    from tactician.references.entry_fields import EntryObject as EntryObject
    from tactician.references.entry_fields import EntryPath as EntryPath
    from tactician.references.entry_fields import EntryScope as EntryScope
    from tactician.references.entry_fields import confine_paths as confine_paths
    from tactician.references.folder import FolderReference as FolderReference
    from tactician.references.folder import LocalDirectory as LocalDirectory
    from tactician.references.git import DEFAULT_SCHEMES as DEFAULT_SCHEMES
    from tactician.references.git import RepositoryAddress as RepositoryAddress
    from tactician.references.git import fetch_repository as fetch_repository
    from tactician.references.git import find_cache_folder as find_cache_folder
    from tactician.references.late_kinds import LATE_KINDS as LATE_KINDS
    from tactician.references.late_kinds import LateKind as LateKind
    from tactician.references.late_kinds import WritePath as WritePath
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
            "tactician.references.entries": (
                "CONTRIBUTOR_KINDS REFERENCE_KINDS EntryKind ReferenceKind create_contributor create_reference "
                "describe_entry"
            ),
            "tactician.data_fields": "CODE_ONLY",
            "tactician.references.entry_fields": "EntryObject EntryPath EntryScope confine_paths",
            "tactician.references.folder": "FolderReference LocalDirectory",
            "tactician.references.git": "DEFAULT_SCHEMES RepositoryAddress fetch_repository find_cache_folder",
            "tactician.references.late_kinds": "LATE_KINDS LateKind WritePath",
            "tactician.references.package_resource": "PackageResource TextFile",
            "tactician.references.python_api": "PythonApi",
            "tactician.references.reference_files": "load_references",
            "tactician.references.repository": "GitRepository",
            "tactician.references.web_page": "WebPage",
        },
    )
