"""Settings of a project in `tactician.toml`."""

from typing import TYPE_CHECKING

from tactician.late_names import export_late

if TYPE_CHECKING:
    from tactician.config.defaults import REMEMBERED_MESSAGES as REMEMBERED_MESSAGES
    from tactician.config.defaults import REMEMBERED_PROCESSES as REMEMBERED_PROCESSES
    from tactician.config.loading import FILE_NAME as FILE_NAME
    from tactician.config.loading import PATH_VARIABLE as PATH_VARIABLE
    from tactician.config.loading import find_settings as find_settings
    from tactician.config.loading import load_settings as load_settings
    from tactician.config.models import AttemptSettings as AttemptSettings
    from tactician.config.models import CircuitBreakerSettings as CircuitBreakerSettings
    from tactician.config.models import McpOAuthSettings as McpOAuthSettings
    from tactician.config.models import McpServerSettings as McpServerSettings
    from tactician.config.models import MemorySettings as MemorySettings
    from tactician.config.models import ModelSettings as ModelSettings
    from tactician.config.models import PlanningTable as PlanningTable
    from tactician.config.models import PlatformSettings as PlatformSettings
    from tactician.config.models import PriceSettings as PriceSettings
    from tactician.config.models import ProcessSettings as ProcessSettings
    from tactician.config.models import PromptSettings as PromptSettings
    from tactician.config.models import RankingSettings as RankingSettings
    from tactician.config.models import RetryPolicySettings as RetryPolicySettings
    from tactician.config.models import RetryRuleSettings as RetryRuleSettings
    from tactician.config.models import RouterSettings as RouterSettings
    from tactician.config.models import RoutingPolicy as RoutingPolicy
    from tactician.config.models import Settings as Settings
    from tactician.config.models import TelemetrySettings as TelemetrySettings
    from tactician.config.models import TemplateSettings as TemplateSettings
    from tactician.config.models import ToolGroupSettings as ToolGroupSettings
    from tactician.config.variables import apply_variables as apply_variables
    from tactician.config.variables import find_variable as find_variable
else:
    __getattr__, __dir__, __all__ = export_late(
        __name__,
        {
            "tactician.config.defaults": "REMEMBERED_MESSAGES REMEMBERED_PROCESSES",
            "tactician.config.loading": "FILE_NAME PATH_VARIABLE find_settings load_settings",
            "tactician.config.models": (
                "AttemptSettings CircuitBreakerSettings McpOAuthSettings McpServerSettings MemorySettings "
                "ModelSettings PlanningTable PlatformSettings PriceSettings ProcessSettings PromptSettings "
                "RankingSettings RetryPolicySettings RetryRuleSettings RouterSettings RoutingPolicy Settings "
                "TelemetrySettings TemplateSettings ToolGroupSettings"
            ),
            "tactician.config.variables": "apply_variables find_variable",
        },
    )
