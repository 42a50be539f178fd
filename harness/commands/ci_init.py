"""`harness ci init`: a GitHub workflow and a GitLab job, ready to commit."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import click

GITHUB = Path(".github/workflows/coding-round.yml")
GITLAB = Path(".gitlab-ci.yml")
GITLAB_INCLUDED = Path(".gitlab/coding-round.yml")
LEVELS = ("strong-no-hire", "no-hire", "hire", "strong-hire")  # lowest first
PYTHON = "3.11"


@click.command("init", short_help="Write a CI workflow.")
@click.option(
    "--for",
    "server",
    type=click.Choice(["github", "gitlab", "both"]),
    default="both",
    show_default=True,
)
@click.option(
    "--install",
    metavar="REQUIREMENT",
    help="What pip installs on the runner: one version of the harness, for good.",
)
@click.option("--fail-below", type=click.Choice(LEVELS), default="hire", show_default=True)
def init_command(server: str, install: str | None, fail_below: str) -> None:
    """Write a workflow that grades every branch; an existing file is never replaced.

    \b
    Examples:
      harness ci init --install https://example.org/harness-0.1.0-py3-none-any.whl
      harness ci init --for github --fail-below strong-hire
    """
    names = {"install": install or origin(_own_note()), "fail_below": fail_below, "python": PYTHON}
    if server in ("github", "both"):
        _write(GITHUB, "github.yml.j2", names)
    if server in ("gitlab", "both"):
        target = GITLAB_INCLUDED if GITLAB.exists() else GITLAB
        _write(target, "gitlab.yml.j2", names)
        if target == GITLAB_INCLUDED:
            click.echo(f"  {GITLAB} was here already; add to it: include: {GITLAB_INCLUDED}")
    click.echo("Next: commit, and let nobody but owners change these files")


def _write(target: Path, name: str, names: dict[str, str]) -> None:
    from harness.render.templates import template

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("x", encoding="utf-8") as handle:
            handle.write(template(name).render(names))
    except FileExistsError:
        raise click.UsageError(
            f"{target} is here already; it was left as it is\n  move it away first"
        ) from None
    except OSError as error:
        raise click.UsageError(f"{target} cannot be written: {error.strerror}") from None
    click.echo(f"{target} is ready.")


def _own_note() -> str:
    """What pip noted of where this harness came from; nothing where it was not installed."""
    try:
        return distribution("harness").read_text("direct_url.json") or "{}"
    except PackageNotFoundError:
        return "{}"


def origin(note: str) -> str:
    """The requirement that installs the same harness again, where others reach its place too."""
    known = json.loads(note)
    commit, url = known.get("vcs_info", {}).get("commit_id", ""), str(known.get("url", ""))
    if commit:
        return f"harness[all] @ git+{url}@{commit}"
    if "archive_info" in known and url.startswith("https://"):
        return f"harness[all] @ {url}"
    raise click.UsageError(
        "where a runner gets this harness from is not known\n"
        "  name it: --install 'harness[all] @ git+https://...@COMMIT', or the address of a wheel"
    )
