"""Measurement of the work: the tests before and after it."""

from __future__ import annotations

from tactician.clock import Clock
from tactician.coding.commands.policy import CommandPolicy
from tactician.coding.commands.running import find_folder, run_command
from tactician.coding.commands.suite_report import FailedTest, SuiteReport, add_details, parse_report
from tactician.coding.projects.project import Project
from tactician.coding.workspaces.opened import OpenWorkspace
from tactician.runs.context.threads import in_thread


async def run_suite(
    project: Project, workspace: OpenWorkspace, policy: CommandPolicy, clock: Clock
) -> SuiteReport | None:
    """Run the tests of all parts of a project; `None`, when no part has any.

    Raises:
        ToolError: when no command may run.
    """
    reports = [
        await run_part_suite(part.root, part.test_command, workspace, policy, clock)
        for part in project.parts
        if part.test_command is not None
    ]
    if len(reports) < 2:
        return reports[0] if reports else None
    return SuiteReport(
        tuple(name for report in reports for name in report.passed),
        tuple(failure for report in reports for failure in report.failures),
        next((report.exit_code for report in reports if report.exit_code), 0),
        "\n".join(report.output for report in reports),
    )


async def run_part_suite(
    root: str, command: str, workspace: OpenWorkspace, policy: CommandPolicy, clock: Clock
) -> SuiteReport:
    """Run the tests of a part. Names of tests in folders below begin with the folder."""
    result = await run_command(add_details(command), workspace, policy, clock, folder=root)
    # Paths as the tools take them: relative, and without the place of the workspace on this machine.
    output = result.output.replace(f"{find_folder(workspace.path, root)}/", "")
    report = await in_thread(parse_report, output, result.exit_code, command)
    if root == ".":
        return report
    failures = tuple(FailedTest(f"{root}: {f.name}", f.place, f.message) for f in report.failures)
    passed = tuple(f"{root}: {name}" for name in report.passed)
    return SuiteReport(passed, failures, report.exit_code, report.output)
