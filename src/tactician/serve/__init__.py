"""Servers that publish the agents, goals and tools of a platform to other programs.

The names are loaded when they are first used, as each of them needs an extra.
"""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.people.people_file import load_people as load_people
    from tactician.people.person import Person as Person
    from tactician.serve.a2a.app import a2a_app as a2a_app
    from tactician.serve.a2a.settings import A2aSettings as A2aSettings
    from tactician.serve.a2a.settings import GrpcSettings as GrpcSettings
    from tactician.serve.ag_ui.endpoint import ag_ui_app as ag_ui_app
    from tactician.serve.api.serving.guard import RequestLimits as RequestLimits
    from tactician.serve.application import app as app
    from tactician.serve.mcp.client_model import ClientModel as ClientModel
    from tactician.serve.mcp.client_model import list_client_roots as list_client_roots
    from tactician.serve.mcp.prompts import ServedPrompt as ServedPrompt
    from tactician.serve.mcp.publisher import McpPublisher as McpPublisher
    from tactician.serve.mcp.resources import McpResource as McpResource
else:
    _find, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.people.people_file": "load_people",
            "tactician.people.person": "Person",
            "tactician.serve.a2a.app": "a2a_app",
            "tactician.serve.a2a.settings": "A2aSettings GrpcSettings",
            "tactician.serve.ag_ui.endpoint": "ag_ui_app",
            "tactician.serve.api.serving.guard": "RequestLimits",
            "tactician.serve.application": "app",
            "tactician.serve.mcp.client_model": "ClientModel list_client_roots",
            "tactician.serve.mcp.prompts": "ServedPrompt",
            "tactician.serve.mcp.publisher": "McpPublisher",
            "tactician.serve.mcp.resources": "McpResource",
        },
    )
    _EXTRAS = {
        "ag_ui_app": "ag-ui",
        **dict.fromkeys(("A2aSettings", "GrpcSettings", "a2a_app"), "a2a"),
        **dict.fromkeys(("ClientModel", "McpPublisher", "McpResource", "ServedPrompt", "list_client_roots"), "mcp"),
    }

    def __getattr__(name: str) -> object:
        from tactician.extras import require_extra

        with require_extra(_EXTRAS.get(name, "serve"), f"tactician.serve.{name} needs"):
            return _find(name)
