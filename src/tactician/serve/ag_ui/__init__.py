"""AG-UI server: agents for applications that show each step while it happens."""

from tactician.serve.ag_ui.endpoint import ag_ui_app, create_operation

__all__ = ["ag_ui_app", "create_operation"]
