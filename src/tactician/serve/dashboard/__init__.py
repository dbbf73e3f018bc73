"""Dashboard of a platform for browsers: files that `make ui` builds from the folder `dashboard` of the repository."""

from tactician.serve.dashboard.pages import DASHBOARD_PATH, dashboard_routes, home_route

__all__ = ["dashboard_routes", "home_route", "DASHBOARD_PATH"]
