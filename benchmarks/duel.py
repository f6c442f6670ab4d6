"""Is the engine faster or slower than that of another commit? `python -m benchmarks.duel PATH_OF_THE_OTHER_SRC [CASE ...]`

    git worktree add ../other COMMIT && python -m benchmarks.duel ../other/src

Both versions run in processes of their own and take turns, a few calls each, so that a busy moment of the machine hits both. The
answers are compared first; the best time of many turns counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

CASES = ["molecules", "molecules 8 heads", "1e5 edges", "degree 3", "degree 4", "degree 5", "no increments", "free probabilities"]


def worker() -> None:
    """Answer lines on standard input: `prepare CASE`, `time REPEATS`, `answer FILE`."""
    import time

    import torch

    import graph2tens as g2t

    from .contenders import molecules, random_graph

    run: Any = None
    result: Any = None
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "prepare":
            torch.manual_seed(0)
            options = {"increments": argument != "no increments"}
            degree = int(argument.split()[1]) if argument.startswith("degree") else 2
            if argument == "1e5 edges":
                edges, batch, n, d, R = random_graph(10_000, 100_000), None, 10_000, 64, 64
            elif argument == "no increments":
                edges, batch, n, d, R = random_graph(2_700, 10_500), None, 2_700, 64, 64
            else:
                edges, batch = molecules()
                n, d, R = batch.numel(), 256 if degree == 2 else 64, 128 if degree == 2 else 64
            walk = g2t.random_walk(edges, num_nodes=n, batch=batch).to(torch.float32)
            x = torch.randn(n, d, requires_grad=True)
            components = (torch.randn(degree, d, R) / d**0.5).requires_grad_()
            wanted = [x, components]
            if "heads" in argument or argument == "free probabilities":
                p = walk.probabilities.unsqueeze(1).repeat(1, 8 if "heads" in argument else 1).requires_grad_()
                walk = walk.with_probabilities(p, stochastic="heads" in argument)
                wanted.append(p)

            def run(x: Any = x, walk: Any = walk, components: Any = components, options: Any = options, wanted: Any = wanted) -> Any:
                out = g2t.low_rank_features(x, walk, components, length=5, **options)
                return [out, *torch.autograd.grad(out, wanted, torch.ones_like(out))]

            result = run()
            print("ready", flush=True)
        elif command == "time":
            best = float("inf")
            for _ in range(int(argument)):
                start = time.perf_counter()
                run()
                best = min(best, time.perf_counter() - start)
            print(best, flush=True)
        elif command == "answer":
            np.savez(argument, *(tensor.detach().numpy() for tensor in result))
            print("written", flush=True)


class Contender:
    def __init__(self, source: Path) -> None:
        command = [sys.executable, "-c", "from benchmarks.duel import worker; worker()"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(Path(__file__).parent.parent)])}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


def main() -> None:
    import tempfile

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the folder `src` of the other version")
    parser.add_argument("case", nargs="*", help=f"only these of {', '.join(CASES)}")
    parser.add_argument("--turns", type=int, default=20)
    arguments = parser.parse_args()
    contenders = {"this": Contender(Path(__file__).parent.parent / "src"), "other": Contender(arguments.other.resolve())}
    for case in arguments.case or CASES:
        answers = {}
        with tempfile.TemporaryDirectory() as folder:
            for name, contender in contenders.items():
                contender.ask(f"prepare {case}")
                contender.ask(f"answer {folder}/{name}.npz")
                answers[name] = list(np.load(f"{folder}/{name}.npz").values())
        error = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(answers["this"], answers["other"], strict=True))
        best = dict.fromkeys(contenders, float("inf"))
        for _ in range(arguments.turns):
            for name, contender in contenders.items():
                best[name] = min(best[name], float(contender.ask("time 5")))
        ratio = best["this"] / best["other"]
        print(f"{case:<20} this {best['this'] * 1e3:8.2f} ms  other {best['other'] * 1e3:8.2f} ms  ratio {ratio:.2f}  error {error:.0e}")


if __name__ == "__main__":
    main()
