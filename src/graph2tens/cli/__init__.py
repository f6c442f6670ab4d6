"""The command line. Each command is one file with one function, a few lines that call the library.

Exit codes: 0 done, 1 something is wrong with what the user gave (one line on stderr), 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from .classify import classify
from .explain import explain
from .features import features
from .fit import fit
from .info import info
from .options import set_limits
from .predict import predict
from .report import report
from .reproduce import reproduce
from .scale import scale
from .train import train


class Commands(TyperGroup):
    """Turns errors that are the user's to mend into one line; `--traceback` shows where they came from."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # not so where a test or a program took its place
                stream.reconfigure(errors="replace")  # an ASCII terminal gets question marks, not a traceback
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            if error.errno != errno.ENOSPC or error.filename is not None:
                raise
            _no_room(error)  # what was printed outside a command, by --version
        finally:
            _flush()

    def invoke(self, ctx: Any) -> Any:
        usual = warnings.formatwarning
        if not ctx.params.get("traceback"):
            warnings.formatwarning = _one_line
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
            raise typer.Exit(130) from None
        except (ValueError, TypeError, OSError, ImportError) as error:
            if ctx.params.get("traceback"):
                raise
            if isinstance(error, BrokenPipeError):  # the reader of our output (`| head`) left
                _silence()
                raise typer.Exit(0) from None
            text = " ".join(str(error).split()) or type(error).__name__
            print(f"Error: {text}", file=sys.stderr)
            raise typer.Exit(1) from None
        except (MemoryError, RuntimeError) as error:
            if ctx.params.get("traceback") or not (isinstance(error, MemoryError) or "allocate memory" in str(error)):
                raise
            text = " ".join(str(error).split()) or "out of memory"
            print(f"Error: this takes more memory than there is ({text}). Choose smaller sizes.", file=sys.stderr)
            raise typer.Exit(1) from None
        finally:
            warnings.formatwarning = usual


def _one_line(message: Any, *where: Any, **line: Any) -> str:
    """A warning as errors are: without the file and the line of code that it comes from, which tell a user nothing."""
    return f"Warning: {' '.join(str(message).split())}\n"


def _flush() -> None:
    """Bring out what was printed while errors can still be handled: at exit Python would print a traceback of its own."""
    if sys.stdout is None:  # closed from the start (`>&-`)
        return
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _silence()
    except OSError as error:  # a full disk
        _no_room(error)
    except ValueError:  # closed by the program around us
        pass


def _no_room(error: OSError) -> NoReturn:
    _silence()
    print(f"Error: the output could not be written ({error.strerror}).", file=sys.stderr)
    raise SystemExit(1) from None


def _silence() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from .. import __version__

        print(f"graph2tens {__version__}")
        raise typer.Exit


@app.callback()
def main(
    traceback: Annotated[bool, typer.Option("--traceback", help="On an error, show where in the code it happened.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")] = False,
) -> None:
    """Hypo-elliptic diffusion on graphs: random walks that remember the order of what they saw.

    Start with [bold]graph2tens train[/bold], which learns to read handwritten digits in a minute or two and needs no download. Every
    command explains itself: [bold]graph2tens train --help[/bold]. A file of molecules and a measured property is what
    [bold]graph2tens fit[/bold] is for.
    """


for command in (train, fit, predict, explain, reproduce, report, features, classify, info):
    app.command()(command)
app.add_typer(scale, name="scale")
set_limits(app)
