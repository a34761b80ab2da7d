"""How pictures look: colours for light and dark that colour-blind readers can distinguish, and plain labels."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from metricfit.messages import unknown

# The longest name that is written out beside a picture.
LONGEST = 22


@dataclass(frozen=True)
class Style:
    """The colour of each part that pictures have.

    ``after`` is what the policy does, ``before`` the most probable class, ``bound`` what cannot be exceeded; the
    others distinguish decisions. The hues are those of Okabe and Ito.
    """

    surface: str
    ink: str
    muted: str
    grid: str
    after: str
    before: str
    bound: str
    others: tuple[str, ...]

    def hue(self, place: int) -> str:
        """Return the colour of the decision with a number."""
        hues = (self.after, self.before, self.bound, *self.others)
        return hues[place % len(hues)]


STYLES = {
    "light": Style(
        "#ffffff",
        "#1b1f24",
        "#57606a",
        "#d9dee3",
        "#0072b2",
        "#c25100",
        "#00805d",
        ("#a8457f", "#7a6a00", "#3d3d8f"),
    ),
    "dark": Style(
        "#14181d",
        "#e8ecf0",
        "#a4adb8",
        "#333a42",
        "#56b4e9",
        "#f0a35e",
        "#3ecfa3",
        ("#e49ac4", "#e6d94f", "#a9a9f5"),
    ),
}


def style_of(style: str | Style) -> Style:
    """Return a style by its name.

    Examples
    --------
    >>> style_of("light").surface
    '#ffffff'
    """
    if isinstance(style, Style):
        return style
    if style not in STYLES:
        raise ValueError(unknown("style", style, STYLES))
    return STYLES[style]


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say how to get it."""
    _needed()
    import matplotlib.pyplot

    return matplotlib.pyplot


def _needed() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ImportError('pictures need matplotlib: pip install ".[plot]" in a clone') from None


@contextmanager
def drawn_in(style: Style) -> Iterator[None]:
    """Draw in a style; the user's own settings are restored afterwards."""
    _needed()
    import matplotlib

    settings: Any = {
        "figure.facecolor": style.surface,
        "savefig.facecolor": style.surface,
        "axes.facecolor": style.surface,
        "axes.edgecolor": style.grid,
        "axes.labelcolor": style.ink,
        "axes.titlecolor": style.ink,
        "axes.titlesize": 11,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.axisbelow": True,
        "axes.grid": True,
        "grid.color": style.grid,
        "grid.linewidth": 0.7,
        "text.color": style.ink,
        "xtick.color": style.muted,
        "ytick.color": style.muted,
        "xtick.labelcolor": style.ink,
        "ytick.labelcolor": style.ink,
        "xtick.labelsize": 9,
        "ytick.labelsize": 9,
        "legend.fontsize": 9,
        "legend.frameon": False,
        "legend.labelcolor": style.ink,
        "font.size": 10,
        "lines.linewidth": 2.0,
        "svg.fonttype": "none",
        "svg.hashsalt": "metricfit",
    }
    with matplotlib.rc_context(settings):
        yield


def plain(value: object, longest: int = LONGEST) -> str:
    r"""Return a name as a label: no formulas, no control characters, not too long.

    Examples
    --------
    >>> plain("a$b$"), plain("x" * 30)
    ('a\\$b\\$', 'xxxxxxxxxxxxxxxxxxxxx…')
    """
    text = "".join(" " if unicodedata.category(c) in ("Cc", "Cs", "Cn", "Co") else c for c in str(value))
    text = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return text.replace("$", r"\$")  # a dollar would begin a formula
