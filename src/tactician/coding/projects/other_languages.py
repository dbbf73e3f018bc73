"""Projects of .NET, Ruby and PHP."""

from __future__ import annotations

from tactician.coding.projects.folder import ProjectFolder, find_table
from tactician.coding.projects.project import ProjectPart


def detect_dotnet(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that .NET builds."""
    marker = folder.find_ending(".sln", ".slnx", ".csproj", ".fsproj")
    if marker is None:
        return None
    inner = folder.inner_folders
    tests = tuple(name for name in inner if name.lower().endswith(("test", "tests")))
    is_functional = marker.endswith(".fsproj") or any(
        ProjectFolder(folder.path / name).find_ending(".fsproj") for name in inner
    )
    return ProjectPart(
        language="F#" if is_functional else "C#",
        build_system=".NET",
        build_command="dotnet build",
        test_command="dotnet test",
        lint_command="dotnet format --verify-no-changes",
        format_command="dotnet format",
        source_folders=folder.select(("src",)) or (".",),
        test_folders=tests,
        marker=marker,
    )


def detect_ruby(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that Bundler sets up."""
    marker = "Gemfile" if "Gemfile" in folder.files else folder.find_ending(".gemspec")
    if marker is None:
        return None
    has_specs = ".rspec" in folder.files or bool(folder.select(("spec",)))
    linter = "bundle exec rubocop" if ".rubocop.yml" in folder.files else None
    return ProjectPart(
        language="Ruby",
        build_system="Bundler",
        build_command="bundle exec rake build" if folder.find_ending(".gemspec") else None,
        test_command="bundle exec rspec" if has_specs else "bundle exec rake test",
        lint_command=linter,
        format_command=linter and f"{linter} -A",
        source_folders=folder.select(("lib", "app")) or (".",),
        test_folders=folder.select(("spec", "test")),
        marker=marker,
    )


def detect_php(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that Composer sets up."""
    if "composer.json" not in folder.files:
        return None
    scripts = find_table(folder.read_json("composer.json"), "scripts")

    def find_script(*names: str) -> str | None:
        return next((f"composer {name}" for name in names if name in scripts), None)

    return ProjectPart(
        language="PHP",
        build_system="Composer",
        build_command=find_script("build"),
        test_command=find_script("test") or "vendor/bin/phpunit",
        lint_command=find_script("lint", "analyse", "stan"),
        format_command=find_script("format", "fix", "cs-fix"),
        source_folders=folder.select(("src", "app", "lib")) or (".",),
        test_folders=folder.select(("tests", "test")),
        marker="composer.json",
    )
