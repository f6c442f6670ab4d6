"""`graph2tens report`: a page about recorded runs: the user's own, or those of the paper's tables beside its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def report(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders of `train`, `classify` or `reproduce`, at any depth, or results files.", show_default="results, else runs"
        ),
    ] = None,
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
    """Make a page of recorded runs to look at.

    Runs of your own data are averaged over seeds or folds and compared on equal test parts, with the most frequent class as a floor and
    confusion matrices. Runs of [bold]graph2tens reproduce[/bold] are laid beside the paper's numbers; what was not run is said to be
    missing.

    Examples:

      graph2tens report runs

      graph2tens report runs/mine-G2TN-paper runs/mine-G2TAN-paper --out mine.html
    """
    from ..files import write_texts
    from ..paper.report.as_json import as_data
    from ..paper.report.authors_runs import read_authors_runs
    from ..paper.report.data import collect
    from ..paper.report.html.molecules import read_molecule_runs
    from ..paper.report.html.page import render
    from ..paper.report.html.speed import read_benchmarks
    from ..paper.report.markdown.pages import updated_sections
    from ..paper.report.markdown.sections import all_tables
    from ..paper.tables import TABLES
    from ..sklearn.evaluate import TABLE as FEATURES

    # A newcomer's own trainings are in runs; results is where a clone has those of the paper.
    folders = results or [Path("runs") if not Path("results").exists() and Path("runs").is_dir() else Path("results")]
    records, remarks = _read(folders)
    of_molecules = read_molecule_runs(folders)
    if not records and not of_molecules:
        found = f" ({'; '.join(remarks[:3])})" if remarks else ""
        raise ValueError(
            f"{', '.join(f'`{folder}`' for folder in folders)} holds no finished run{found}: give a folder that `graph2tens train`, "
            "`classify` or `reproduce` wrote, or a results file (.jsonl) in it"
        )
    own = [record for record in records if record.get("table") not in (*TABLES, FEATURES)]
    if not any(record.get("table") in TABLES for record in records) and records:
        if readme is not None or docs:
            raise ValueError("--readme and --docs are for runs of the paper's tables; there are none here")
        _report_own(records, remarks, out, markdown, title, as_json)
        return
    if own:
        remarks.append(f"{len(own)} runs are of no table of the paper and left out; report their folders without the paper's runs")
        records = [record for record in records if record not in own]
    authors = None if authors_runs is None else read_authors_runs(authors_runs)
    study = collect(records, authors_runs=authors, benchmarks=read_benchmarks(benchmarks), remarks=remarks)
    texts = {out: render(study, title, of_molecules)}
    if markdown is not None:
        texts[markdown] = all_tables(study)
    for page in [*([] if readme is None else [readme]), *(docs or [])]:
        texts[page], _ = updated_sections(page, study)
    write_texts(texts)  # only now, so that an error above leaves every file as it was
    written = list(texts)
    if as_json:
        print(json.dumps({"written": [str(path) for path in written], **as_data(study)}, indent=1))
        return
    _show(study, written)


def _read(paths: list[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    from ..training.records import read_records

    records: list[dict[str, Any]] = []
    remarks: list[str] = []
    for path in paths:
        found, notes = read_records(path)
        records += [record for record in found if record not in records] if len(paths) > 1 else found
        remarks += notes
    return records, remarks


def _report_own(
    records: list[dict[str, Any]], remarks: list[str], out: Path, markdown: Path | None, title: str | None, as_json: bool
) -> None:
    from ..files import write_texts
    from ..report.own.data import collect_own
    from ..report.own.page import render_own
    from ..report.own.write import as_own_data
    from ..report.own.write import markdown as as_markdown
    from .summary import show_study

    study = collect_own(records, remarks)
    texts = {out: render_own(study, title)}
    if markdown is not None:
        texts[markdown] = as_markdown(study)
    write_texts(texts)
    if as_json:
        print(json.dumps({"written": [str(path) for path in texts], **as_own_data(study)}, indent=1))
        return
    show_study(study)
    for path in texts:
        print(f"Written: {path}")


def _show(study: Any, written: list[Path]) -> None:
    from ..paper.report import sentences
    from ..paper.report.naming import settings_in_full

    print(sentences.provenance(study))
    if head := sentences.headline(study):
        print(head)
    for protocol in sentences.protocols(study):
        print(f"With {settings_in_full(protocol)}: {sentences.outcome(study, protocol)}")
    for remark in [sentences.missing(study), *study.remarks]:
        if remark:
            print(remark)
    for path in written:
        print(f"Written: {path}")
