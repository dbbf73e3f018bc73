"""Settings of a project in `tactician.toml`."""

from typing import TYPE_CHECKING

from tactician.late_imports import export_late

if TYPE_CHECKING:
    from tactician.config.defaults import REMEMBERED_MESSAGES as REMEMBERED_MESSAGES
    from tactician.config.defaults import REMEMBERED_PROCESSES as REMEMBERED_PROCESSES
    from tactician.config.loading import FILE_NAME as FILE_NAME
    from tactician.config.loading import PATH_VARIABLE as PATH_VARIABLE
    from tactician.config.loading import find_settings as find_settings
    from tactician.config.loading import load_settings as load_settings
    from tactician.config.model_settings import CircuitBreakerSettings as CircuitBreakerSettings
    from tactician.config.model_settings import ModelSettings as ModelSettings
    from tactician.config.model_settings import PriceSettings as PriceSettings
    from tactician.config.model_settings import RetryPolicySettings as RetryPolicySettings
    from tactician.config.model_settings import RetryRuleSettings as RetryRuleSettings
    from tactician.config.model_settings import RouterSettings as RouterSettings
    from tactician.config.model_settings import RoutingPolicy as RoutingPolicy
    from tactician.config.settings import A2aTable as A2aTable
    from tactician.config.settings import AttemptSettings as AttemptSettings
    from tactician.config.settings import McpOAuthSettings as McpOAuthSettings
    from tactician.config.settings import McpServerSettings as McpServerSettings
    from tactician.config.settings import MemorySettings as MemorySettings
    from tactician.config.settings import PlanningTable as PlanningTable
    from tactician.config.settings import PlatformSettings as PlatformSettings
    from tactician.config.settings import ProcessSettings as ProcessSettings
    from tactician.config.settings import PromptSettings as PromptSettings
    from tactician.config.settings import RankingSettings as RankingSettings
    from tactician.config.settings import ServeSettings as ServeSettings
    from tactician.config.settings import Settings as Settings
    from tactician.config.settings import TelemetrySettings as TelemetrySettings
    from tactician.config.settings import TemplateSettings as TemplateSettings
    from tactician.config.settings import ToolGroupSettings as ToolGroupSettings
    from tactician.config.variables import apply_variables as apply_variables
    from tactician.config.variables import find_variable as find_variable
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.config.defaults": "REMEMBERED_MESSAGES REMEMBERED_PROCESSES",
            "tactician.config.loading": "FILE_NAME PATH_VARIABLE find_settings load_settings",
            "tactician.config.model_settings": (
                "CircuitBreakerSettings ModelSettings PriceSettings RetryPolicySettings RetryRuleSettings "
                "RouterSettings RoutingPolicy"
            ),
            "tactician.config.settings": (
                "A2aTable AttemptSettings McpOAuthSettings McpServerSettings MemorySettings PlanningTable "
                "PlatformSettings ProcessSettings PromptSettings RankingSettings ServeSettings Settings "
                "TelemetrySettings TemplateSettings ToolGroupSettings"
            ),
            "tactician.config.variables": "apply_variables find_variable",
        },
    )
