"""How much is run: splits, budgets of oracle calls, and where results go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"

# Appendix B.1 of the paper.
PAPER_CALLS = {"frank_wolfe": 5000, "gda": 5000, "ellipsoid": 1000}
PAPER_CALLS_CONSTRAINED = {"split_frank_wolfe": 10_000, "gda": 10_000, "ellipsoid": 1000}


@dataclass(frozen=True)
class Settings:
    """What a run does."""

    splits: int
    calls: dict[str, int]
    constrained_calls: dict[str, int]
    small_only: bool
    results: Path
    page: Path
    figures: Path


# After 1,000 calls the authors' own Frank-Wolfe has long converged; the ellipsoid's cost grows with the
# number of rules it mixes.
FULL = Settings(
    splits=10,
    calls={"frank_wolfe": 1000, "gda": 1000, "ellipsoid": 200},
    constrained_calls={"split_frank_wolfe": 500, "gda": 500, "ellipsoid": 150},
    small_only=False,
    results=HERE / "results",
    page=DOCS / "paper.md",
    figures=DOCS / "figures",
)

QUICK = Settings(
    splits=2,
    calls={"frank_wolfe": 100, "gda": 100, "ellipsoid": 60},
    constrained_calls={"split_frank_wolfe": 200, "gda": 200, "ellipsoid": 60},
    small_only=True,
    results=HERE / "cache" / "quick" / "results",
    page=HERE / "cache" / "quick" / "paper.md",
    figures=HERE / "cache" / "quick" / "figures",
)

PAPER = Settings(
    splits=10,
    calls=PAPER_CALLS,
    constrained_calls=PAPER_CALLS_CONSTRAINED,
    small_only=False,
    results=HERE / "cache" / "paper-budgets" / "results",
    page=HERE / "cache" / "paper-budgets" / "paper.md",
    figures=HERE / "cache" / "paper-budgets" / "figures",
)
