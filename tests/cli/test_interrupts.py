"""Signals that come while Python is not able to pass an exception on."""

import ctypes
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from small_data import write_tu_folder
from typer.testing import CliRunner

from graph2tens.backends.compiling import Compiled
from graph2tens.cli import app
from graph2tens.cli.interrupts import Interrupts
from graph2tens.training import loop

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])


@pytest.fixture(autouse=True)
def _not_ignored():
    """Tests that run in the background of a shell inherit an ignored SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def dropped(monkeypatch):
    """Kinds of exceptions that Python would have printed a traceback of and gone on."""
    kinds = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: kinds.append(lost.exc_type))
    return kinds


class Dying:
    """Sends a signal from its destructor, from which no exception comes out."""

    def __init__(self, number):
        self.number = number

    def __del__(self):
        signal.raise_signal(self.number)


def from_a_destructor(number):
    Dying(number)


def from_a_callback(number):
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()


@SIGNALS
def test_a_signal_interrupts_at_once(number):
    with pytest.raises(KeyboardInterrupt), Interrupts():
        signal.raise_signal(number)


@SIGNALS
@pytest.mark.parametrize("send", [from_a_destructor, from_a_callback])
def test_a_signal_that_python_drops_is_remembered_without_noise(number, send, dropped):
    with Interrupts() as interrupts:
        interrupts.check()
        send(number)
        with pytest.raises(KeyboardInterrupt):
            interrupts.check()
    assert dropped == []


def test_other_errors_that_python_drops_are_shown_as_ever(dropped):
    class Broken:
        def __del__(self):
            raise ValueError

    with Interrupts() as interrupts:
        Broken()
        interrupts.check()
    assert dropped == [ValueError]


def test_afterwards_everything_is_as_it_was_and_who_ignored_a_signal_still_does(dropped):
    hook, terminate = sys.unraisablehook, signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        interrupts.check()
    assert sys.unraisablehook is hook
    assert signal.getsignal(signal.SIGTERM) is terminate
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@SIGNALS
def test_a_signal_waits_until_a_function_is_compiled(number):
    ends = []

    def compile_and_run(*arguments):
        signal.raise_signal(number)
        ends.append(arguments)

    function = Compiled(compile_and_run)
    for _ in range(2):  # the second call does not wait, and does not come to its end
        with pytest.raises(KeyboardInterrupt), Interrupts():
            function(7)
        assert ends == [(7,)]


@SIGNALS
def test_a_signal_that_waited_is_not_lost_with_an_error(number):
    def fail():
        signal.raise_signal(number)
        raise ValueError

    with pytest.raises(KeyboardInterrupt), Interrupts():
        Compiled(fail)()


def test_threads_that_get_no_signals_compile_as_well():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(Compiled(lambda: 7)).result() == 7


@SIGNALS
def test_a_run_stops_after_the_epoch_in_which_a_signal_was_dropped(tmp_path, monkeypatch, number, dropped):
    evaluate, epochs = loop.evaluate, []

    def evaluate_and_send(*arguments):
        epochs.append(len(epochs))
        if len(epochs) == 2:
            Dying(number)
        return evaluate(*arguments)

    monkeypatch.setattr(loop, "evaluate", evaluate_and_send)
    rings, folder = write_tu_folder(tmp_path / "rings"), tmp_path / "m"
    small = ["--epochs", "50", "--width", "4", "--layers", "1", "--walk-length", "2", "--batch-size", "16", "--threads", "1"]
    result = CliRunner().invoke(app, ["train", str(rings), "--out", str(folder), *small])
    assert (result.exit_code, len(epochs)) == (130, 2), result.output
    assert "--resume" in result.stderr
    assert CliRunner().invoke(app, ["predict", str(folder), "--data", str(rings)]).exit_code == 0
