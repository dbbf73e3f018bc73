"""Dashboard of a platform for browsers: files that `make ui` builds from the folder `dashboard` of the repository."""

from tactician.serve.dashboard.pages import DASHBOARD_PATH, dashboard_routes

__all__ = ["dashboard_routes", "DASHBOARD_PATH"]
