"""How policies keep their promises on the population they come from.

For each problem, draws of tuning rows from a known population: how often the population breaks a limit with
``confidence=0.95``, with ``confidence=0.5`` and without, what that costs in the objective (against the policy without
confidence on the same rows), how often no policy is confirmed, and how often the 95 % intervals of ``result.expected``
hold the population's value. With METRICFIT_DATA set, ``--data NAME`` takes one of the paper's data sets in place of the
generated populations: half of its rows are the population, a model of the other half gives the probabilities.

    python benchmarks/trust/new_rows.py --draws 300 --out new_rows.jsonl

Each draw is written to the file as it is done. A run goes on where the file ends; ``--table`` only prints its table.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from populations import Case, Population, of_data, of_generated, of_others

import metricfit as mf
from metricfit.exceptions import UnconfirmedError
from metricfit.policy.evaluation import evidence_of

OBJECTIVE = mf.g_mean()
PARTS = ("expected", "0.95", "0.5")
# Draws on which the cost of `expected` is timed, which takes a solve more; the first one warms up.
TIMED = range(1, 12)


def judged(result: mf.Result, constraints: list, whole: Population) -> dict[str, Any]:
    """Return value and constraints of a policy on the population, and whether one is broken."""
    confusion = evidence_of(result.policy, whole.proba, whole.y, whole.group).confusion
    found = [c.metric(confusion) for c in constraints]
    broken = any(
        (v < c.limit - 1e-9) if c.sense == ">=" else (v > c.limit + 1e-9)
        for c, v in zip(constraints, found, strict=True)
    )
    return {"value": OBJECTIVE(confusion), "constraints": found, "broken": broken}


def seconds(work: Any) -> tuple[Any, float]:
    start = time.process_time()
    made = work()
    return made, time.process_time() - start


def run(case: Case, rows: int, draw: int, parts: list[str]) -> dict[str, Any]:
    """Return what became of one draw."""
    whole, constraints = case
    part = whole.draw(rows, draw)

    def solved(**more: Any) -> mf.Result:
        classes = range(whole.proba.shape[1])
        given = {"sensitive_features": part.group, "classes": classes, **more}
        return mf.optimize(part.proba, part.y, OBJECTIVE, constraints, **given)

    found: dict[str, Any] = {}
    try:
        result, both = seconds(lambda: solved(expect="expected" in parts))
    except mf.InfeasibleError:
        return found
    if draw in TIMED and "expected" in parts:
        found["cost"] = both / seconds(solved)[1] - 1
    found["plain"] = judged(result, constraints, whole)
    expected = result.expected
    if expected is not None:
        found["covered"] = bool(expected.low <= found["plain"]["value"] <= expected.high)
        pairs = zip(expected.constraints, found["plain"]["constraints"], strict=True)
        found["held"] = [bool(e.low <= v <= e.high) for e, v in pairs]
    for level in sorted({"0.95", "0.5"} & set(parts)):
        try:
            sure = solved(confidence=float(level))
        except (UnconfirmedError, mf.InfeasibleError):
            found[level] = None
            continue
        found[level] = judged(sure, constraints, whole)
    return found


def line(name: str, draws: list[dict[str, Any]]) -> str:
    """Return the row of the table of one problem."""
    answered = [d for d in draws if "plain" in d]
    sure = [d for d in answered if d.get("0.95")]

    def share(values: list) -> str:
        return f"{np.mean(values):.3f}" if values else "-"

    def broken(kind: str) -> str:
        return share([d[kind]["broken"] for d in answered if d.get(kind)])

    bar = 0.05 + 2 * np.sqrt(0.05 * 0.95 / max(len(sure), 1))
    price = np.mean([d["plain"]["value"] - d["0.95"]["value"] for d in sure]) if sure else np.nan
    none = sum("0.95" in d and d["0.95"] is None for d in answered)
    intervals = [d["covered"] for d in answered if "covered" in d]
    covered = share(intervals)
    held = share([one for d in answered for one in d.get("held", ())])
    cost = np.median([d["cost"] for d in answered if "cost" in d] or [np.nan])
    return (
        f"| {name} | {len(answered)} | {broken('plain')} | {broken('0.5')} | {broken('0.95')} | {bar:.3f} | {none} | "
        f"{price:+.4f} | {len(intervals)} | {covered} | {held} | {cost:.1f} |"
    )


HEAD = (
    "| problem | draws | broken without | with 0.5 | with 0.95 | bar | no answer | price | draws of "
    "`expected` | value covered | constraints covered | its cost, in solves |\n" + "|---" * 12 + "|"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", nargs="+", default=[], help="names of problems, or parts of them")
    parser.add_argument(
        "--data", nargs="+", default=[], help="data sets of the paper, in place of generated rows"
    )
    parser.add_argument(
        "--others", action="store_true", help="other generated rows, on which nothing was tuned"
    )
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS, help="what to look at")
    parser.add_argument(
        "--expected",
        type=int,
        default=None,
        help="of how many draws to look at `expected`; by default of all",
    )
    parser.add_argument("--out", type=Path, default=Path("new_rows.jsonl"))
    parser.add_argument("--table", action="store_true", help="print the table of what is in the file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    done: dict[str, dict[int, dict[str, Any]]] = {}
    for text in options.out.read_text().splitlines() if options.out.exists() else []:
        record = json.loads(text)
        done.setdefault(record["problem"], {})[record["draw"]] = record["found"]
    if not options.table:
        cases: dict[str, Case] = {}
        for name in options.data:
            cases |= of_data(name)
        if not options.data:
            cases = of_others() if options.others else of_generated()
        cases = {
            n: c for n, c in cases.items() if not options.only or any(part in n for part in options.only)
        }
        for draw in range(options.draws):
            for name, case in cases.items():
                if draw in done.setdefault(name, {}):
                    continue
                late = options.expected is not None and draw >= options.expected
                parts = [part for part in options.parts if not (late and part == "expected")]
                done[name][draw] = run(case, options.rows, draw, parts)
                with options.out.open("a") as file:
                    file.write(json.dumps({"problem": name, "draw": draw, "found": done[name][draw]}) + "\n")
    print(HEAD)
    for name, found in done.items():
        print(line(name, list(found.values())))


if __name__ == "__main__":
    main()
