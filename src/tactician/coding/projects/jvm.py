"""Projects of Gradle and Maven."""

from __future__ import annotations

from tactician.coding.projects.folder import ProjectFolder
from tactician.coding.projects.project import ProjectPart

_LANGUAGES = {"kotlin": "Kotlin", "scala": "Scala", "groovy": "Groovy", "java": "Java"}


def detect_gradle(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that Gradle builds."""
    names = ("build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle")
    if (marker := next((name for name in names if name in folder.files), None)) is None:
        return None
    gradle = "./gradlew" if "gradlew" in folder.files else "gradle"
    script = folder.read("build.gradle.kts") + folder.read("build.gradle")
    has_spotless = "spotless" in script
    return ProjectPart(
        language=_find_language(folder, script),
        build_system="Gradle",
        build_command=f"{gradle} build",
        test_command=f"{gradle} test",
        lint_command=f"{gradle} spotlessCheck" if has_spotless else f"{gradle} check",
        format_command=f"{gradle} spotlessApply" if has_spotless else None,
        source_folders=_find_folders(folder, "main"),
        test_folders=_find_folders(folder, "test"),
        marker=marker,
    )


def detect_maven(folder: ProjectFolder) -> ProjectPart | None:
    """Return the part that Maven builds."""
    if "pom.xml" not in folder.files:
        return None
    maven = "./mvnw" if "mvnw" in folder.files else "mvn"
    pom = folder.read("pom.xml")
    has_spotless = "spotless-maven-plugin" in pom
    return ProjectPart(
        language=_find_language(folder, pom),
        build_system="Maven",
        build_command=f"{maven} compile",
        test_command=f"{maven} test",
        lint_command=f"{maven} spotless:check" if has_spotless else None,
        format_command=f"{maven} spotless:apply" if has_spotless else None,
        source_folders=_find_folders(folder, "main"),
        test_folders=_find_folders(folder, "test"),
        marker="pom.xml",
    )


def _find_language(folder: ProjectFolder, script: str) -> str:
    folders = _find_folders(folder, "main")
    for name, language in _LANGUAGES.items():
        if name != "java" and any(place.endswith(f"/{name}") for place in folders):
            return language
    return "Kotlin" if 'kotlin("jvm")' in script or "org.jetbrains.kotlin" in script else "Java"


def _find_folders(folder: ProjectFolder, kind: str) -> tuple[str, ...]:
    """Return the folders with sources of a kind, here and in the modules directly below."""
    places = ("", *(f"{name}/" for name in folder.inner_folders))
    found = folder.select(f"{place}src/{kind}/{name}" for place in places for name in _LANGUAGES)
    return found or (f"src/{kind}/java",)
