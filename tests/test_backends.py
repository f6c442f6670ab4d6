"""What backends promise beside the right numbers: the same bits, threads, forks, compilation, a disk they may not write to."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
import torch
from torch import Tensor

import graph2tens as g2t
from graph2tens.backends import available_backends, choose, threads
from graph2tens.backends.loops.pieces import pieces
from graph2tens.backends.numba_cpu import low_rank, low_rank_backward
from graph2tens.walks import RandomWalk


def batch_of_graphs(graphs: int, nodes: int, edges: int) -> tuple[Tensor, RandomWalk]:
    """Undirected random graphs one after the other, with attributes."""
    generator = torch.Generator().manual_seed(0)
    index = torch.cat([torch.randint(0, nodes, (2, edges), generator=generator) + g * nodes for g in range(graphs)], dim=1)
    index = torch.cat([index, index.flip(0)], dim=1)
    n = graphs * nodes
    walk = g2t.random_walk(index, num_nodes=n, batch=torch.arange(graphs).repeat_interleave(nodes)).to(torch.float32)
    return torch.randn(n, 8, generator=generator), walk


def outputs_and_gradients(x: Tensor, walk: RandomWalk, stochastic: bool = False, **options: object) -> list[Tensor]:
    """Everything that comes out of the fused backend, for two heads."""
    generator = torch.Generator().manual_seed(1)
    components = torch.randn(2, x.size(1), 32, generator=generator)
    c, p = torch.rand(2, 32, generator=generator), torch.rand(walk.num_edges, 2, generator=generator)
    p = p / torch.zeros(walk.num_nodes, 2).index_add(0, walk.row, p)[walk.row]
    inputs = [value.clone().requires_grad_() for value in (x, components, c, p)]
    x, components, c, p = inputs
    heads = walk.with_probabilities(p, stochastic)
    out = g2t.low_rank_features(x, heads, components, length=4, coefficients=c, backend="numba", **options)  # type: ignore[arg-type]
    return [out, *torch.autograd.grad((out * torch.arange(out.numel()).view_as(out).sin()).sum(), inputs)]


@pytest.fixture(params=[2**19, 0], ids=["wide", "narrow"])
def lanes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of many functionals, or of few, as for graphs whose states do not fit the cache."""
    monkeypatch.setattr("graph2tens.backends.numba_cpu._CACHE_BYTES", request.param)


@pytest.fixture
def no_thread_is_too_small(monkeypatch: pytest.MonkeyPatch):
    """Threads are used however little there is to do."""
    monkeypatch.setattr("graph2tens.backends.numba_cpu._WORK_PER_THREAD", 1)
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("graphs", "nodes", "edges"), [(30, 20, 40), (1, 600, 3000)], ids=["many_pieces", "one_piece"])
@pytest.mark.parametrize("stochastic", [True, False], ids=["stochastic", "free"])
def test_the_same_bits_for_any_number_of_threads_and_in_every_run(graphs, nodes, edges, stochastic, lanes, no_thread_is_too_small):
    x, walk = batch_of_graphs(graphs, nodes, edges)
    results = []
    for count, recompute in ((1, False), (1, False), (2, False), (3, False), (1, True), (2, True)):
        torch.set_num_threads(count)
        results.append(outputs_and_gradients(x, walk, stochastic, recompute=recompute))
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("stochastic", [True, False], ids=["stochastic", "free"])
@pytest.mark.parametrize("name", ["_PIECE", "_CACHE_BYTES"])
def test_other_units_give_the_same_numbers(name: str, stochastic: bool, monkeypatch: pytest.MonkeyPatch):
    """A graph may be cut otherwise: what is added up over units may then be rounded otherwise, nothing else."""
    x, walk = batch_of_graphs(12, 10, 20)
    usual = outputs_and_gradients(x, walk, stochastic)
    monkeypatch.setattr(f"graph2tens.backends.numba_cpu.{name}", 0)
    other = outputs_and_gradients(x, walk, stochastic)
    for got, want in zip(other, usual, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("graphs", "nodes", "edges"), [(30, 20, 40), (1, 600, 3000)], ids=["many_pieces", "one_piece"])
def test_threads_share_pieces_or_functionals_and_never_wait(graphs, nodes, edges, no_thread_is_too_small, monkeypatch: pytest.MonkeyPatch):
    torch.set_num_threads(2)
    calls: list[int] = []
    x, walk = batch_of_graphs(graphs, nodes, edges)
    original = threads.run
    monkeypatch.setattr(threads, "run", lambda tasks: (calls.append(len(tasks)), original(tasks))[1])
    monkeypatch.setattr("graph2tens.backends.numba_cpu._CACHE_BYTES", 0)
    with torch.no_grad():
        g2t.low_rank_features(x, walk, torch.ones(2, 8, 64), length=4, increments=False, backend="numba")
    assert calls == [2]


@pytest.mark.parametrize("weight", [0, 60, 10**9])
def test_no_edge_leaves_a_piece(weight: int):
    _, walk = batch_of_graphs(40, 20, 60)
    borders = torch.as_tensor(pieces(walk.row_ptr.numpy(), walk.col.numpy(), weight))
    assert borders[0] == 0
    assert borders[-1] == walk.num_nodes
    assert bool((borders.diff() > 0).all())
    assert torch.equal(torch.searchsorted(borders, walk.row, right=True), torch.searchsorted(borders, walk.col, right=True))
    assert {0: borders.numel() >= 40, 60: borders.numel() == 41, 10**9: borders.numel() == 2}[weight]


@pytest.fixture(params=["team", "pool"])
def whose_threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """PyTorch's own threads, or ours where there are none."""
    if request.param == "pool":
        monkeypatch.setattr(threads, "_openmp", lambda: None)
    elif threads._openmp() is None:
        pytest.skip("PyTorch has no OpenMP here")
    return str(request.param)


@pytest.mark.skipif(not list(Path(torch.__file__).parent.glob("lib/libgomp*")), reason="this PyTorch does not bring GNU's OpenMP")
def test_pytorchs_own_threads_are_found():
    assert threads._openmp() is not None


def test_tasks_run_side_by_side(whose_threads):
    both = Barrier(2, timeout=60)
    threads.run([both.wait, both.wait])  # would time out if one had to wait for the other


HAS_TEAM = pytest.mark.skipif(threads._openmp() is None, reason="PyTorch has no OpenMP here")


@HAS_TEAM
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
def test_an_interrupt_is_never_lost_in_pytorchs_threads():
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # Hypothesis is called at each collection, and Python drops what is raised there
    try:
        for trial in range(1000):
            with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the interrupt may come at any line
                signal.setitimer(signal.ITIMER_REAL, 1e-5 * (10 + trial % 50))
                for _ in range(1_000_000):
                    threads.run([int, int])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()


def test_many_threads_may_call_at_once(no_thread_is_too_small, whose_threads):
    torch.set_num_threads(2)
    x, walk = batch_of_graphs(4, 20, 40)
    want = outputs_and_gradients(x, walk)
    with ThreadPoolExecutor(8) as pool:
        futures = [pool.submit(outputs_and_gradients, x, walk) for _ in range(16)]
        for future in futures:
            assert all(torch.equal(a, b) for a, b in zip(want, future.result(), strict=True))


def test_an_error_in_another_thread_is_raised_here(whose_threads):
    done: list[int] = []
    with pytest.raises(ZeroDivisionError):
        threads.run([lambda: done.append(1), lambda: 1 // 0, lambda: done.append(2)])
    assert sorted(done) == [1, 2]


@HAS_TEAM
def test_an_interrupt_is_raised_before_an_error():
    def interrupt() -> None:
        raise KeyboardInterrupt

    for tasks in ([lambda: 1 // 0, interrupt], [interrupt, lambda: 1 // 0]):
        with pytest.raises(KeyboardInterrupt):
            threads.run(tasks)


_SCRIPT_HEAD = """
import os, torch, graph2tens as g2t
import graph2tens.backends.numba_cpu as numba_cpu
numba_cpu._WORK_PER_THREAD, numba_cpu._CACHE_BYTES, numba_cpu._NARROW = 1, 0, 8
torch.set_num_threads(2)
edges = torch.stack([torch.arange(600), torch.arange(1, 601) % 600])
walk = g2t.random_walk(edges, num_nodes=600).to(torch.float32)
x = torch.linspace(-1, 1, 1800).view(600, 3)
def work():
    with torch.no_grad():
        return g2t.low_rank_features(x, walk, torch.ones(2, 3, 16), length=3, increments=False, backend="numba")
"""


def run_python(body: str, **environment: str) -> str:
    code = textwrap.dedent(_SCRIPT_HEAD) + textwrap.dedent(body)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_works_after_a_fork():
    """As in the workers of a DataLoader: the parent's threads do not exist in the child."""
    out = run_python(
        """
        from torch.utils.data import DataLoader
        want = work()
        class Items(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, index):
                # PyTorch's own threads do not survive a fork, which is why workers are told to use one; ours must.
                numba_cpu.torch.get_num_threads = lambda: 2
                return work()
        for batch in DataLoader(Items(), batch_size=1, num_workers=2, multiprocessing_context="fork"):
            assert torch.equal(batch[0], want)
        assert torch.equal(work(), want)
        print("alive")
        """
    )
    assert out.strip() == "alive"


def test_works_where_nothing_can_be_written(tmp_path: Path):
    """A read-only installation and a read-only home: kernels are then compiled in memory."""
    package = tmp_path / "site" / "graph2tens"
    source = Path(g2t.__file__).parent
    for path in source.rglob("*.py"):
        target = package / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    home = tmp_path / "home"
    home.mkdir()
    body = """
        import numba.core.caching as caching
        # A user who is root may write everywhere, so the disk is also made to refuse.
        def refuse(self): raise PermissionError("read-only")
        for locator in caching._CacheImpl._locator_classes if hasattr(caching, "_CacheImpl") else caching.CacheImpl._locator_classes:
            locator.ensure_cache_path = refuse
        """
    guarded = textwrap.dedent(body) + textwrap.dedent(_SCRIPT_HEAD) + "print(g2t.__file__, bool(torch.isfinite(work()).all()))"
    before = {path: path.stat().st_mode for path in (package, package / "backends", home)}
    for path, mode in before.items():
        path.chmod(mode & ~stat.S_IWUSR)
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site"), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("NUMBA_CACHE_DIR", None)
    try:
        result = subprocess.run([sys.executable, "-c", guarded], capture_output=True, text=True, env=environment, cwd=tmp_path)
    finally:
        for path, mode in before.items():
            path.chmod(mode)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == f"{package / '__init__.py'} True"
    assert not list(package.rglob("*.nb?"))


def test_kernels_are_kept_on_disk_and_found_again(tmp_path: Path):
    def files() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nb?")}

    run_python("numba_cpu._pieces()(walk.row_ptr.numpy(), walk.col.numpy(), 1)", NUMBA_CACHE_DIR=str(tmp_path))
    first = files()
    run_python("numba_cpu._pieces()(walk.row_ptr.numpy(), walk.col.numpy(), 1)", NUMBA_CACHE_DIR=str(tmp_path))
    assert any("pieces" in path.name for path in first)
    assert files() == first  # what is not found is compiled and written


def example_inputs(**options: object) -> tuple[object, ...]:
    _, walk = batch_of_graphs(2, 5, 8)
    n, M, R = walk.num_nodes, 2, 4
    values = {"length": 3, "increments": True, "start": True, "carried": True, "time": False} | options
    p = torch.rand(walk.num_edges, 2).requires_grad_()
    floats = [torch.randn(n, M, R), torch.randn(2, M, R), torch.randn(M, R) if values.pop("time") else torch.empty(0, R), torch.rand(M, R)]
    batch, flags = torch.arange(2).repeat_interleave(5), [int(value) for value in values.values()]  # type: ignore[call-overload]
    return (*(value.requires_grad_() for value in floats), p, batch, walk.row_ptr, walk.col, flags)


@pytest.mark.parametrize("options", [{}, {"time": True}, {"start": False, "carried": False}, {"increments": False}], ids=str)
def test_the_operator_is_a_good_citizen(options: dict[str, object]):
    torch.library.opcheck(low_rank, example_inputs(**options))


def test_the_operator_of_the_backward_pass_is_a_good_citizen():
    inputs = example_inputs()
    tensors = [value.detach() for value in inputs if isinstance(value, Tensor)]
    arguments = (torch.randn(tensors[0].shape), *tensors, inputs[-1], [True] * 5)
    torch.library.opcheck(low_rank_backward, arguments, test_utils=("test_schema", "test_faketensor"))


@pytest.mark.parametrize("backend", ["torch", "numba"])
@pytest.mark.parametrize("degree", [2, 4])
def test_compiles_without_a_break(backend: str, degree: int):
    x, walk = batch_of_graphs(2, 5, 8)
    components = torch.randn(degree, 8, 4, generator=torch.Generator().manual_seed(2)).requires_grad_()

    def loss(x: Tensor, components: Tensor, p: Tensor) -> Tensor:
        return g2t.low_rank_features(x, walk.with_probabilities(p), components, length=2, backend=backend).square().sum()

    p = walk.probabilities.clone().requires_grad_()
    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
    want = torch.autograd.grad(loss(x, components, p), (components, p))
    for got, expected in zip(torch.autograd.grad(compiled(x, components, p), (components, p)), want, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-4)


def test_export_sees_one_node():
    x, walk = batch_of_graphs(2, 5, 8)

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.components = torch.nn.Parameter(torch.randn(2, 8, 4))

        def forward(self, x: Tensor) -> Tensor:
            return g2t.low_rank_features(x, walk, self.components, length=3, backend="numba")

    layer = Layer()
    program = torch.export.export(layer, (x,))
    names = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert sum("low_rank" in name for name in names) == 1
    torch.testing.assert_close(program.module()(x), layer(x))


def test_auto_is_the_fused_backend_on_the_cpu(monkeypatch: pytest.MonkeyPatch):
    x, walk = batch_of_graphs(1, 5, 8)
    used: list[str] = []
    monkeypatch.setattr("graph2tens.low_rank.choose", lambda problem: used.append(choose(problem)) or used[-1])
    g2t.low_rank_features(x, walk, torch.ones(2, 8, 4), length=1)
    g2t.low_rank_features(x, walk, torch.ones(2, 8, 0), length=1)
    assert used == ["numba", "reference"]
    assert available_backends() == ["reference", "torch", "numba"]
