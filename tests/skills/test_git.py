"""Skills of Git repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tactician.errors import ConfigurationError
from tactician.references.git import RepositoryAddress
from tactician.skills import Skills


def git(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (place := root / "office" / "bills").mkdir(parents=True)
    (place / "SKILL.md").write_text("---\nname: bills\ndescription: first\n---\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def load(repository: Path, cache: Path, *, ref: str = "", commit: str = "", path: str = "office") -> Skills:
    url = repository.as_uri()
    return Skills("x", "x").git(url, ref=ref, commit=commit, path=path, schemes=["file"], cache=cache)


def change(repository: Path, description: str) -> str:
    file = repository / "office/bills/SKILL.md"
    file.write_text(f"---\nname: bills\ndescription: {description}\n---\n")
    git(repository, "commit", "-qam", description)
    return git(repository, "rev-parse", "HEAD")


def test_skills_are_those_of_the_branch(repository: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert load(repository, cache).skills[0].description == "first"
    change(repository, "second")
    (skill,) = load(repository, cache, ref="main").skills
    assert skill.description == "second"
    assert not list(cache.glob(".*"))
    assert not list(cache.glob("*/.git"))


def test_a_pinned_commit_stays_and_is_fetched_once(repository: Path, tmp_path: Path) -> None:
    cache, commit = tmp_path / "cache", git(repository, "rev-parse", "HEAD")
    change(repository, "second")
    assert load(repository, cache, commit=commit).skills[0].description == "first"
    repository.rename(tmp_path / "gone")
    assert load(repository, cache, commit=commit).skills[0].description == "first"


def test_no_hooks_and_no_submodules_and_no_links(repository: Path, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    git(other, "init", "--quiet")
    (other / "SKILL.md").write_text("x")
    git(other, "add", "-A")
    git(other, "commit", "-qm", "x")
    git(repository, "submodule", "--quiet", "add", other.as_uri(), "office/other")
    (repository / "office/bills/link").symlink_to("/etc/passwd")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    (skill,) = load(repository, tmp_path / "cache").skills
    assert not (skill.folder / "link").is_symlink()
    assert not list((skill.folder.parent / "other").glob("*"))


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("http://example.com/x", "the scheme must be https or ssh, not 'http'"),
        ("file:///x", "the scheme must be https or ssh, not 'file'"),
        ("ext::sh -c true", "not 'ext'"),
        ("-x", "not ''"),
    ],
)
def test_only_allowed_schemes(url: str, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        Skills("x", "x").git(url)


@pytest.mark.parametrize(
    "part", [{"ref": "--upload-pack=x"}, {"ref": "a..b"}, {"commit": "abc"}, {"path": "../x"}, {"ref": "a b"}]
)
def test_parts_are_checked(part: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"https://example\.com/x"):
        Skills("x", "x").git(
            "https://example.com/x", ref=part.get("ref", ""), commit=part.get("commit", ""), path=part.get("path", "")
        )


def test_load_skills_from_a_github_url() -> None:
    url = "https://github.com/wshobson/agents/tree/main/plugins/business-analytics/skills"
    place = RepositoryAddress.parse(url, ref="", commit="", path="", schemes=["https"])
    assert (place.url, place.ref, place.path) == (
        "https://github.com/wshobson/agents", "main", "plugins/business-analytics/skills"
    )  # fmt: skip


def test_errors_say_what_git_said_without_passwords(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"git fetch failed: .*nothing"):
        load(repository, tmp_path / "cache", ref="nothing")
    with pytest.raises(ConfigurationError, match="there is no folder 'missing' in it"):
        load(repository, tmp_path / "cache", path="missing")
    with pytest.raises(ConfigurationError) as caught:
        Skills("x", "x").git("http://user:secret@example.com/x")
    assert "secret" not in str(caught.value)


def test_a_repository_that_is_too_large_is_refused(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tactician.references.git._MAX_BYTES", 10)
    with pytest.raises(ConfigurationError, match=r"1 files with .* bytes are too many"):
        load(repository, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
