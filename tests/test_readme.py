"""What the README says is true: its code runs, its numbers are computed, its links lead somewhere."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.testing import assert_close

import graph2tens as g2t

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def two_graphs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("two_graphs", ROOT / "docs" / "two_graphs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_code_prints_what_the_readme_shows():
    shown = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.DOTALL)
    assert shown
    for code, output in shown:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), {})
        assert printed.getvalue() == output


def test_code_is_ten_lines_and_every_python_block_has_its_output():
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == len(re.findall(r"```text\n", README))
    assert all(len([line for line in block.splitlines() if line.strip()]) <= 10 for block in blocks)


def sorted_rows(table: torch.Tensor) -> torch.Tensor:
    return torch.tensor(sorted(table.round(decimals=9).tolist()), dtype=torch.float64)


def test_classical_diffusion_cannot_tell_the_two_graphs_apart_and_hypoelliptic_diffusion_can():
    page = two_graphs()
    mill, bridge = page.EXAMPLES["mill"], page.EXAMPLES["bridge"]
    assert len(mill.edges) == len(bridge.edges) == 9
    assert len(mill.black) == len(bridge.black) == 4
    # Powers of P obey a recursion of order 7, so agreement for 14 steps is agreement for ever. Black and white are the only
    # colours, and E[1] = 1, so the indicator of black stands for every function of the colour.
    assert_close(sorted_rows(page.seen_now(mill, 14)), sorted_rows(page.seen_now(bridge, 14)))
    (mean, variance), (other_mean, other_variance) = page.seen_on_the_way(mill), page.seen_on_the_way(bridge)
    assert_close(mean.sort().values, other_mean.sort().values)
    assert float((variance.sort().values - other_variance.sort().values).abs().max()) > 0.1


def test_variance_in_the_picture_is_that_of_counting_black_nodes():
    page = two_graphs()
    for example in page.EXAMPLES.values():
        walk, x = page.walk_and_colours(example)
        nodes, probability = g2t.enumerate_walks(walk, page.LENGTH)
        seen = x[nodes, 0].sum(1)
        moments = [torch.zeros(7, dtype=torch.float64).index_add(0, nodes[:, 0], probability * seen**power) for power in (1, 2)]
        assert_close(page.seen_on_the_way(example), (moments[0], moments[1] - moments[0] ** 2))


def test_numbers_of_the_table_are_computed():
    page = two_graphs()
    columns = []
    for example in page.EXAMPLES.values():
        mean, variance = page.seen_on_the_way(example)
        classical = ", ".join(f"{value:.4f}" for value in page.seen_now(example, 3).mean(0).tolist())
        second = float(((variance + mean**2) / 2).mean())
        columns.append([classical, f"{float(mean.mean()):.4f}", f"**{second:.4f}**"])
    rows = [[cell.strip() for cell in line.split("|")[2:4]] for line in README.splitlines() if line.startswith("| `E[")]
    assert rows == [list(row) for row in zip(*columns, strict=True)]


def test_picture_is_drawn_by_the_script(tmp_path):
    pytest.importorskip("matplotlib")
    two_graphs().draw(tmp_path / "picture.svg")
    drawn, kept = (
        re.findall(r"<text|<path|<use", file.read_text()) for file in (tmp_path / "picture.svg", ROOT / "docs" / "two_graphs.svg")
    )
    assert len(drawn) == len(kept) > 50


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", page.read_text()):
        if "://" in target:
            continue
        goal = page.parent / target if target else page
        assert goal.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(goal), f"{page.name} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Of a Markdown page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_part_of_the_package_is_on_the_map():
    parts = {
        path.name
        for path in (ROOT / "src" / "graph2tens").iterdir()
        if path.name[0] not in "_." and path.name != "py.typed" and path.suffix != ".txt"
    }
    mapped = {target.removeprefix("src/graph2tens/").rstrip("/") for target in re.findall(r"\]\((src/graph2tens/[^)]+)\)", README)}
    assert parts == mapped


def test_names_in_the_table_of_the_paper_exist():
    table = README.split("## The paper and the code")[1].split("##")[0]
    for line in table.splitlines():
        if not line.startswith("| ") or "---" in line or "the code" in line:
            continue
        for name in re.findall(r"`(?:nn\.)?([A-Za-z_]\w+)`", line.split("|")[2]):
            places = (g2t, g2t.nn, g2t.TensorAlgebra)
            options = {"increments", "zero_start", "coefficients"}
            assert name in options or any(hasattr(place, name) for place in places), name
