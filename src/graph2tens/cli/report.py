"""`graph2tens report`: what was recorded, beside the paper's numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def report(
    results: Annotated[
        Path, typer.Argument(help="Folder with *.jsonl files of `reproduce`, a folder of `train`, or one results file.")
    ] = Path("results"),
    out: Annotated[Path, typer.Option(dir_okay=False, help="The page: one HTML file that needs nothing else, not even a network.")] = Path(
        "report.html"
    ),
    markdown: Annotated[Path | None, typer.Option(dir_okay=False, help="Also write all tables as Markdown to this file.")] = None,
    readme: Annotated[Path | None, typer.Option(help="Rewrite the marked results section of this file, e.g. README.md.")] = None,
    docs: Annotated[
        list[Path] | None, typer.Option(help="Rewrite the marked sections of this page too, e.g. docs/reproduction.md; repeat for several.")
    ] = None,
    authors_runs: Annotated[Path | None, typer.Option(help="The authors' table of runs (CSV): their accuracy for each seed.")] = None,
    benchmarks: Annotated[
        Path | None, typer.Option(help="Speed measurements; by default benchmarks/results.json, if you are where that is.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts: files written and every cell's numbers.")] = False,
) -> None:
    """Lay recorded runs beside the paper's numbers, as a page to look at.

    The page holds tables, accuracy by seed, learning curves, accuracy against seconds and the ablation; what was not run is said to be
    missing. Of a single training run it shows the learning curve and the accuracies.
    """
    from ..files import write_text
    from ..paper.report.authors_runs import read_authors_runs
    from ..paper.report.data import collect
    from ..paper.report.html.page import render
    from ..paper.report.markdown import all_tables, updated_sections
    from ..paper.report.write import as_data, read_benchmarks
    from ..training.records import read_records

    records, remarks = read_records(results)
    authors = None if authors_runs is None else read_authors_runs(authors_runs)
    study = collect(records, authors_runs=authors, benchmarks=read_benchmarks(benchmarks), remarks=remarks)
    texts = {out: render(study, title)}
    if markdown is not None:
        texts[markdown] = all_tables(study)
    for page in [*([] if readme is None else [readme]), *(docs or [])]:
        texts[page], _ = updated_sections(page, study)
    for path, text in texts.items():  # only now, so that an error above leaves every file as it was
        write_text(path, text)
    written = list(texts)
    if as_json:
        print(json.dumps({"written": [str(path) for path in written], **as_data(study)}, indent=1))
        return
    _show(study, written)


def _show(study: Any, written: list[Path]) -> None:
    from ..paper.report import sentences
    from ..paper.report.words import settings_in_full

    print(sentences.provenance(study))
    if study.of_paper and (head := sentences.headline(study)):
        print(head)
    for protocol in sentences.protocols(study):
        print(f"With {settings_in_full(protocol)}: {sentences.outcome(study, protocol)}")
    for remark in [sentences.missing(study) if study.of_paper else "", *study.remarks]:
        if remark:
            print(remark)
    for path in written:
        print(f"Written: {path}")
