"""The page as text: self-contained, escaped, honest about what is missing. What it does in a browser is tested in test_report_browser."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from report_samples import BENCHMARKS, authors_table, record, study_records

from graph2tens.files import write_text
from graph2tens.paper.report.authors_runs import read_authors_runs
from graph2tens.paper.report.data import collect
from graph2tens.paper.report.html.page import render
from graph2tens.paper.report.html.speed import read_benchmarks
from graph2tens.report.charts import ticks, widen
from graph2tens.report.markup import asset, fragment, h, page

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg onload=alert(1)>",
    "a & b < c",
    "\ud800 \x00 \u202e",
]


class Page(HTMLParser):
    """What a parser sees: tags with attributes, text, and the tags left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def study_page() -> str:
    return render(collect(study_records(), benchmarks=BENCHMARKS))


def test_markup_is_well_formed_and_ids_are_unique(study_page):
    parsed = Page(study_page)
    assert parsed.open == []
    identities = [attributes["id"] for _, attributes in parsed.tags if "id" in attributes]
    assert len(identities) == len(set(identities))
    for _, attributes in parsed.tags:
        for name in ("aria-labelledby", "for"):
            assert set((attributes.get(name) or "").split()) <= set(identities)
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in identities


def test_nothing_is_fetched_from_anywhere(study_page):
    for _, attributes in Page(study_page).tags:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            assert re.fullmatch(r"#[\w-]+|data:,?", attributes.get(name) or "#a"), attributes
    for name in ("report.css", "report.js"):
        assert not re.search(r"https?:|//[a-z]+\.|@import|url\(|fetch\(|XMLHttpRequest|import\(", asset(name))


def test_the_policy_allows_exactly_the_script_and_style_on_the_page(study_page):
    policy = next(
        attributes["content"] for tag, attributes in Page(study_page).tags if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("script", "style"):
        (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", study_page, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not any(name == "style" or name.startswith("on") for _, attributes in Page(study_page).tags for name in attributes)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("table", ["nci", "train"])
def test_text_of_records_never_becomes_markup(text, table, tmp_path, study_page):
    names = ("dataset", "model", "variant", "protocol", "commit", "finished")
    fields = dict.fromkeys(names, text)
    hostile = record(
        0,
        0.8,
        **fields,
        table=table,
        options={text: text},
        versions={text: text},
        machine={"processor": text, "cores": text},
        curve={text: [1]},
    )
    other = record(1, 0.8, dataset=text, table=text)
    benchmark = {"name": text, "ratio": 2, "machine": text, "reference": text}
    for records in ([hostile], [hostile, other]):
        parsed = Page(render(collect(records, benchmarks=[benchmark], remarks=[text]), title=text))
        assert parsed.open == []
        assert {tag for tag, _ in parsed.tags} <= {tag for tag, _ in Page(study_page).tags}
        assert sum(tag == "script" for tag, _ in parsed.tags) == 1
        assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    write_text(tmp_path / "page.html", render(collect([hostile, other])))
    assert (tmp_path / "page.html").read_bytes().decode("utf-8")


def test_the_same_records_give_the_same_bytes():
    assert render(collect(study_records())) == render(collect(reversed(study_records())))


def test_missing_runs_are_said_to_be_missing(study_page):
    text = Page(study_page).text
    assert "Not run yet: 22 of 28 cells of the ablation with the code's settings" in text
    assert "1 cell has one seed only" in text
    assert text.count("not run yet") >= 23
    assert "authors' single runs were not given" in text


def test_without_any_record_the_page_claims_nothing():
    text = Page(render(collect([]))).text
    assert "No runs recorded yet." in text
    assert "Nothing has been compared with the paper yet." in text
    assert "agree with the paper, that is" not in text
    assert "No measurements of speed were given" in text


def test_date_machine_and_seeds_come_from_the_records():
    text = Page(render(collect([record(seed, 0.8 + seed / 100) for seed in range(3)]))).text
    assert "3 runs, 3 seeds per cell, run from 2026-03-01 to 2026-03-03, on Sample Processor 1, 2 cores, cpu, at commit 0123456789." in text


def test_the_outcome_names_the_cells_that_differ():
    records = [record(seed, 0.707 + 0.005 * (-1) ** seed) for seed in range(6)]
    text = Page(render(collect(records))).text
    assert "The only comparison so far differs from the paper. This one differs: G2TN on NCI1 (−10.0 points)." in text  # noqa: RUF001


@pytest.mark.parametrize(
    "curve",
    [
        {"epoch": []},
        {"epoch": [0], "train_loss": [1.0]},
        {"epoch": [0, 1], "train_loss": [1.0]},
        {"epoch": [0, 1], "train_loss": [2.0, 2.0], "validation_accuracy": [None, 0.5]},
        {"epoch": [0, 1], "train_loss": ["x", float("inf")]},
        {"epoch": "none"},
    ],
)
def test_odd_learning_curves_do_not_break_the_page(curve):
    assert Page(render(collect([record(curve=curve)]))).open == []


def test_equal_accuracies_do_not_break_the_page():
    study = collect([record(seed, 0.8) for seed in range(3)])
    assert study.compared
    assert Page(render(study)).open == []


def test_authors_runs_appear_as_rings(tmp_path):
    text = render(collect(study_records(), authors_runs=read_authors_runs(authors_table(tmp_path / "runs.csv"))))
    assert "Same seeds" in text
    assert "authors, seed 99" in text


def test_speed_has_a_row_for_each_task_and_says_what_a_comparison_means(study_page):
    engine = {"name": "a batch", "seconds_fast": 0.01, "fast": "graph2tens", "machine": "m", "date": "2026-03-05"}
    measured = [
        {**engine, "reference": "gather", "kind": "same answer", "seconds_reference": 0.06, "ratio": 6.0},
        {**engine, "reference": "by hand", "kind": "same answer", "seconds_reference": 0.04, "ratio": 4.0},
        {**engine, "reference": "GCNConv", "kind": "another layer", "seconds_reference": 0.02, "ratio": 2.0},
        {**engine, "reference": "the products", "kind": "yardstick", "seconds_reference": 0.005, "ratio": 0.5},
        {
            "name": "memory",
            "reference": "gather",
            "kind": "same answer",
            "mebibytes_reference": 6297.0,
            "mebibytes_fast": 403.0,
            "ratio": 15.6,
        },
    ]
    text = Page(render(collect(study_records(), benchmarks=measured))).text
    speed = text[text.index("says how many times faster") : text.index("All runs", text.index("says how many times faster"))]
    assert "On m (2026-03-05)." in speed
    assert "a batch 10 ms 6 × (60 ms) 4 × (40 ms)" in speed  # noqa: RUF001
    assert (
        speed.index("answers were compared first") < speed.index("gather") < speed.index("compute something else") < speed.index("GCNConv")
    )
    assert speed.index("Yardsticks") < speed.index("the products")
    assert "403 MiB 6,297 MiB" in speed


def test_features_are_no_network_and_stand_beside_the_best_of_the_paper():
    runs = [record(seed, 0.85, table="features", model="GraphTensFeatures+SVM", seconds=10.0) for seed in range(3)]
    text = Page(render(collect([*study_records(), *runs]))).text
    assert "Features and an SVM, no network trained Not in the paper." in text
    assert "82.6 ± 1.2 (GraphTrans (large))" in text


def test_benchmarks_are_read_as_they_come(tmp_path):
    with pytest.raises(ValueError, match="--benchmarks"):
        read_benchmarks(tmp_path / "none.json")
    (tmp_path / "broken.json").write_text("[{")
    with pytest.raises(ValueError, match="is not JSON"):
        read_benchmarks(tmp_path / "broken.json")
    (tmp_path / "odd.json").write_text('[1, {"name": "a"}, {"name": "b", "ratio": 3.0, "machine": {"cores": 2}}]')
    text = Page(render(collect([record()], benchmarks=read_benchmarks(tmp_path / "odd.json")))).text
    assert "2 cores" in text


def test_prose_and_tree_serialise_as_html():
    for name in ("introduction.html", "words.html"):
        assert len(fragment(name, "graph2tens.paper.report.html"))
    text = page("a < b", [h("p", "1 < 2 & ", h("em", "3"), " > 2", class_="x", hidden=True, title=None)])
    assert '<p class="x" hidden="">1 &lt; 2 &amp; <em>3</em> &gt; 2</p>' in text


@pytest.mark.parametrize(("low", "high"), [(78.0, 86.0), (0.0, 1.0), (-8.1, 8.1), (66.1, 97.2), (0.001, 0.0042), (12345.0, 99999.0)])
def test_ticks_are_a_few_round_numbers_inside(low, high):
    marks = ticks(low, high)
    assert 2 <= len(marks) <= 8
    assert all(low - 1e-9 <= mark <= high + 1e-9 for mark in marks)


def test_an_axis_is_never_empty():
    low, high = widen([5.0])
    assert high - low == pytest.approx(1.0)
