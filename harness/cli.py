"""The `harness` command: finds the command asked for and imports only that one."""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from typing import Any

import click

from harness.stopped import is_a_stop, on_signals, stop

COULD_NOT_GRADE, BROKEN_PIPE = 3, 141
TRACEBACK_VARIABLE = "HARNESS_TRACEBACK"

COMMANDS = {
    "list": "harness.commands.browse",
    "show": "harness.commands.browse",
    "start": "harness.commands.browse",
    "explain": "harness.commands.explain",
    "check": "harness.commands.check",
    "watch": "harness.commands.watch",
    "hint": "harness.commands.loop",
    "status": "harness.commands.loop",
    "replay": "harness.commands.loop",
    "grade": "harness.commands.grade",
    "report": "harness.commands.report",
    "compare": "harness.commands.compare",
    "alike": "harness.commands.alike",
    "ci": "harness.commands.ci",
    "verify": "harness.commands.verify",
    "doctor": "harness.commands.machine",
    "image": "harness.commands.machine",
}
EXAMPLES = """\b
Examples:
  harness list
  harness start paged_allocator
  harness check paged_allocator
  harness check paged_allocator answers/ada.py --backend docker
"""


class Commands(click.Group):
    """Loads a command's module when it is asked for; suggests the nearest name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = getattr(import_module(module), f"{cmd_name}_command")
        assert isinstance(command, click.Command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], COMMANDS, n=1)
            hint = f"there is one with a close name: {close[0]}" if close else "see harness --help"
            raise click.UsageError(f"no command called {args[0]!r}\n  {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SHORT.items()))


SHORT = {
    "list": "The problems there are.",
    "show": "A problem's statement.",
    "start": "Copy a problem's stub into this folder.",
    "check": "Grade a file the way a panel would.",
    "watch": "Check again at every save.",
    "hint": "One hint more.",
    "status": "Time used, checks run, what has held since when.",
    "replay": "Write a finding's smallest case as a Python file.",
    "explain": "One check: its claim, why it matters, what is asked.",
    "grade": "Grade a folder of submissions.",
    "ci": "Grade what a branch answers, in CI.",
    "report": "A scorecard from a result, or the pages of a graded folder.",
    "compare": "Two results of one problem side by side.",
    "alike": "Submissions of a round that are alike: a question for a person.",
    "verify": "Prove a suite good (for authors).",
    "doctor": "What this machine can run, and what it cannot assess.",
    "image": "Build the image that candidates' code runs in.",
}


@click.group(cls=Commands, epilog=EXAMPLES, context_settings={"max_content_width": 80})
@click.option(
    "--pack",
    metavar="DIR",
    type=click.Path(file_okay=False),
    envvar="HARNESS_PACK",
    help="Another folder of problems, graders and solutions.",
)
@click.version_option(package_name="harness")
@click.pass_context
def harness(ctx: click.Context, pack: str | None) -> None:
    """An autograded coding round for inference engineers.

    Exit codes: 0 all held, 1 something broke, 2 usage, 3 could not grade.
    """
    ctx.obj = pack


def main() -> None:
    """Run the command line; whatever goes wrong ends in a plain line and an exit code."""
    on_signals(stop)
    try:
        sys.exit(harness.main(prog_name="harness", standalone_mode=False))
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        click.echo(_shown(words.getvalue()), nl=False, err=True)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.exit(BROKEN_PIPE)
    except (Exception, KeyboardInterrupt) as error:
        if is_a_stop(error):  # click's Abort has it behind it
            on_signals(signal.SIG_IGN)  # all is cleared away; a second one has nothing to stop
            click.echo("stopped by hand: not graded", err=True)
            sys.stdout.flush()
            os._exit(COULD_NOT_GRADE)  # Python itself would end by the signal, now and then
        if TRACEBACK_VARIABLE in os.environ:
            raise
        click.echo(
            f"could not finish: {type(error).__name__}: {_shown(str(error))}\n"
            f"  this is a fault of the harness; {TRACEBACK_VARIABLE}=1 shows where",
            err=True,
        )
        sys.exit(COULD_NOT_GRADE)


def _shown(message: str) -> str:
    """What went wrong, of which a name may be a stranger's: nothing in it is obeyed."""
    from harness.render.plain import lines_of, unheeded

    return "\n".join(map(unheeded, lines_of(message).split("\n")))
