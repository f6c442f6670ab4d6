"""Files: whole or not at all, whoever writes at the same time; folders: one process at a time."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from graph2tens import files
from graph2tens.files import FolderInUseError, holding, is_leftover, making_folder, replacing, staged, write_json, write_text, write_texts


def test_the_folder_is_made_and_the_content_is_there(tmp_path):
    write_text(tmp_path / "new" / "page.html", "é \ud800")
    assert (tmp_path / "new" / "page.html").read_bytes() == "é ?".encode()
    write_json(tmp_path / "value.json", {"a": [1, None]})
    assert json.loads((tmp_path / "value.json").read_text()) == {"a": [1, None]}
    assert (tmp_path / "value.json").stat().st_mode & 0o777 == 0o644


def _fail(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_a_full_disk_leaves_the_old_file_whole_and_nothing_else(tmp_path, monkeypatch, call):
    path = tmp_path / "record.json"
    write_text(path, "old")
    monkeypatch.setattr(os, call, _fail)
    with pytest.raises(OSError, match=r"No space left on device: .*record.json'$"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["record.json"]


@pytest.mark.parametrize("swallows", [False, True])
def test_a_write_that_fails_is_an_error_of_the_system_whatever_a_library_makes_of_it(tmp_path, monkeypatch, swallows):
    """PyTorch says "enforce fail at inline_container.cc", and others might say nothing."""
    path = tmp_path / "state.pt"
    write_text(path, "old")
    monkeypatch.setattr(os, "write", _fail)

    def write_in_a_library():
        with replacing(path) as stream:
            try:
                stream.write(b"x" * 10**6)
            except OSError:
                if not swallows:
                    raise RuntimeError("enforce fail at inline_container.cc") from None

    with pytest.raises(OSError, match=r"No space left on device: .*state.pt'$"):
        write_in_a_library()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["state.pt"]


def test_several_files_change_together_or_not_at_all(tmp_path, monkeypatch):
    first, second = tmp_path / "page.html", tmp_path / "README.md"
    write_texts({first: "old", second: "old"})
    calls = []

    def fail_second(file):
        calls.append(file)
        if len(calls) == 2:
            _fail()

    monkeypatch.setattr(os, "fsync", fail_second)
    with pytest.raises(OSError, match=r"No space left on device: .*README.md'$"):
        write_texts({first: "new", second: "new"})
    assert (first.read_text(), second.read_text()) == ("old", "old")
    assert sorted(os.listdir(tmp_path)) == ["README.md", "page.html"]
    with staged(first, b"never published"):
        pass
    assert first.read_text() == "old"


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    def make(error=None):
        with making_folder(tmp_path / "graph") as folder:
            (folder / "file").write_text("content")
            assert not (tmp_path / "graph").exists()
            if error is not None:
                raise error

    with pytest.raises(ValueError, match="mine"):
        make(ValueError("mine"))
    assert os.listdir(tmp_path) == []
    make()
    assert (tmp_path / "graph" / "file").read_text() == "content"
    with pytest.raises(FileExistsError, match="exists already"):
        make()
    assert os.listdir(tmp_path) == ["graph"]


def test_what_a_killed_writer_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    left, user = tmp_path / ".table.abcdefgh.unfinished", tmp_path / ".table.backup"
    left.write_text("half")
    user.write_text("mine")
    (tmp_path / ".table.ijklmnop.unfinished").mkdir()
    with replacing(tmp_path / "table") as stream:
        assert not left.exists()
        (mine,) = tmp_path.glob(".table.*.unfinished")
        assert not is_leftover(mine)
        write_text(tmp_path / "table", "another writer")
        assert mine.exists()
        stream.write(b"this one")
    assert (tmp_path / "table").read_text() == "this one"
    assert sorted(os.listdir(tmp_path)) == [".table.backup", "table"]


def test_a_name_as_long_as_a_file_system_allows_can_be_written(tmp_path):
    write_text(tmp_path / ("x" * 255), "long")
    assert (tmp_path / ("x" * 255)).read_text() == "long"


def test_an_error_or_an_interrupt_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.npz"
    write_text(path, "old")

    def write_half(error):
        with replacing(path) as stream:
            stream.write(b"half")
            raise error

    for kind in (ValueError, KeyboardInterrupt):
        with pytest.raises(kind):
            write_half(kind)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.npz"]


def test_a_link_stays_a_link_and_a_mode_stays_a_mode(tmp_path):
    write_text(tmp_path / "file", "old")
    os.chmod(tmp_path / "file", 0o600)
    (tmp_path / "link").symlink_to("file")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600


def test_a_device_is_written_to_and_not_replaced():
    write_text(os.devnull, "gone")
    assert not os.path.isfile(os.devnull)


def test_many_writers_of_one_file_publish_one_of_their_contents(tmp_path):
    contents = [str(number) * 100_000 for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda content: write_text(tmp_path / "table", content), contents * 3))
    assert (tmp_path / "table").read_text() in contents
    assert os.listdir(tmp_path) == ["table"]


HOLD = """
import importlib.util, sys
from pathlib import Path
spec = importlib.util.spec_from_file_location("files", {file!r})
files = importlib.util.module_from_spec(spec)
spec.loader.exec_module(files)
with files.holding(Path({folder!r})):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_is_held_by_one_process_and_given_up_when_it_is_killed(tmp_path):
    code = HOLD.format(file=files.__file__, folder=str(tmp_path))
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline() == "held\n"
    with pytest.raises(FolderInUseError, match="another process is writing to"), holding(tmp_path):
        pass
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    with holding(tmp_path):
        assert os.listdir(tmp_path) == []
