"""Settings of a project in `tactician.toml`."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.config.model_settings import ModelSettings as ModelSettings
    from tactician.config.settings import Settings as Settings
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.config.model_settings": "ModelSettings",
            "tactician.config.settings": "Settings",
        },
    )
