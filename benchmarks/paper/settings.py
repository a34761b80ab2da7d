"""How much is run: splits, budgets of oracle calls, and where results go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"

# Appendix B.1 of the paper.
PAPER_CALLS = {"frank_wolfe": 5000, "gda": 5000, "ellipsoid": 1000}
PAPER_CALLS_CONSTRAINED = {"split_frank_wolfe": 10_000, "gda": 10_000, "ellipsoid": 1000}

# The methods of the retraining study and their oracles. The radius of the authors' code tells why plug-in numbers
# differ from theirs; it is not worth training for.
BOTH = ("plugin", "retrain")
AUTHORS_RADIUS = "ellipsoid_31.6"
RETRAINED = {
    "frank_wolfe": BOTH,
    "gda": BOTH,
    "ellipsoid": BOTH,
    AUTHORS_RADIUS: ("plugin",),
    "auto": BOTH,
}


@dataclass(frozen=True)
class Settings:
    """What a run does."""

    splits: int
    published_splits: int
    calls: dict[str, int]
    constrained_calls: dict[str, int]
    small_only: bool
    results: Path
    page: Path
    figures: Path


FULL = Settings(
    splits=10,
    published_splits=3,
    calls=PAPER_CALLS,
    constrained_calls=PAPER_CALLS_CONSTRAINED,
    small_only=False,
    results=HERE / "results",
    page=DOCS / "paper.md",
    figures=DOCS / "figures",
)

QUICK = Settings(
    splits=2,
    published_splits=1,
    calls={"frank_wolfe": 100, "gda": 100, "ellipsoid": 60},
    constrained_calls={"split_frank_wolfe": 200, "gda": 200, "ellipsoid": 60},
    small_only=True,
    results=HERE / "cache" / "quick" / "results",
    page=HERE / "cache" / "quick" / "paper.md",
    figures=HERE / "cache" / "quick" / "figures",
)
