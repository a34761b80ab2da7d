"""Write docs/paper.md from the finished cells, and print the same tables."""

from __future__ import annotations

import as_published
import bars
import completeness
import further
import report
import shapes
from notes import CAUSES
from report import Section
from settings import HERE, PAPER_CALLS, PAPER_CALLS_CONSTRAINED, Settings


def sections(settings: Settings) -> list[Section]:
    candidates = [
        bars.section(settings),
        shapes.section(settings),
        *as_published.sections(settings),
        report.unconstrained(settings, "hmean"),
        report.unconstrained(settings, "microf1"),
        report.constrained(settings, "coverage"),
        report.constrained(settings, "equalopp", "mean"),
        report.constrained(settings, "equalopp", "overall"),
        report.needed_calls(settings),
        _curves(settings),
        *further.retrain(settings),
        further.cifar(settings, "cifar55"),
        further.cifar(settings, "cifar10"),
        further.trivial(settings),
        further.gaussians(settings),
        further.timing(settings),
    ]
    return [section for section in candidates if section is not None]


def write(settings: Settings) -> None:
    """Print the tables and write the page whole."""
    made = sections(settings)
    for section in made:
        print("\n" + section.plain())
    first, rest = made[0], made[1:]
    missed = [row[0] for row in first.rows if row[-1] == "missed"]
    told = []
    for part, cause in CAUSES.items():
        bars, missed = [bar for bar in missed if part in bar], [bar for bar in missed if part not in bar]
        told += [f"- **{'; '.join(bars)}.** {cause}"] if bars else []
    causes = "\n".join([*told, *(f"- **{bar}.** Not known yet." for bar in missed)])
    body = [_text("introduction").format(budgets=_budgets(settings), splits=settings.splits)]
    body.append(completeness.section().markdown())
    body.append(
        first.markdown()
        + ("\n### Where a number is not reached, and why\n\n" + causes + "\n" if causes else "")
    )
    body += [_with_figures(section, settings) for section in rest]
    body += [_text("rates"), _text("section_3")]
    settings.page.parent.mkdir(parents=True, exist_ok=True)
    part = settings.page.with_suffix(".part")
    part.write_text("\n".join(body).rstrip() + "\n", encoding="utf-8")
    part.replace(settings.page)
    print(f"written: {settings.page}")


def _with_figures(section: Section, settings: Settings) -> str:
    section.figures = [name for name in section.figures if (settings.figures / name).exists()]
    return section.markdown()


def _curves(settings: Settings) -> Section | None:
    names = [f"paper_calls_{name}.png" for name in ("h_mean", "min_recall", "coverage")]
    if not any((settings.figures / name).exists() for name in names):
        return None
    text = (
        "Split 0; each point is a run with that budget. `frank_wolfe` refuses the min-max loss, which has "
        "no gradient, so its curve is the plain NumPy version of Algorithm 1 fed with a subgradient: every "
        "step is a constant classifier. The last row of the third picture shades what keeps the constraint "
        "(`fig:min-max`, `fig:hmean-uncon`, `fig:lmo-cons-abalone` and their companions in the appendix)."
    )
    return Section("Loss against oracle calls", text, [], [], names)


def _text(name: str) -> str:
    return (HERE / "text" / f"{name}.md").read_text(encoding="utf-8")


def _budgets(settings: Settings) -> str:
    rows = ["| method | paper | here |", "| --- | --- | --- |"]
    labels = {
        "frank_wolfe": "Frank-Wolfe",
        "gda": "GDA",
        "ellipsoid": "Ellipsoid",
        "split_frank_wolfe": "SplitFW",
    }
    rows += [f"| {labels[m]} | {c:,} | {settings.calls[m]:,} |" for m, c in PAPER_CALLS.items()]
    for method, calls in PAPER_CALLS_CONSTRAINED.items():
        rows.append(f"| {labels[method]}, constrained | {calls:,} | {settings.constrained_calls[method]:,} |")
    rows.append("| default (column generation) | - | until its gap is 1e-4 |")
    return "\n".join(rows)
