"""A picture as a piece of a page: inline SVG whose colours are the page's, so that light and dark share it."""

from __future__ import annotations

import io
import re
import warnings

from metricfit.report.pictures.display import Display
from metricfit.report.pictures.style import Style, drawn_in

# Colours that stand for the page's own. No picture uses them otherwise.
VARIABLES = {
    "#01fe01": "surface",
    "#01fe02": "ink",
    "#01fe03": "muted",
    "#01fe04": "line",
    "#01fe05": "after",
    "#01fe06": "before",
    "#01fe07": "bound",
    "#01fe08": "fourth",
    "#01fe09": "fifth",
    "#01fe0a": "sixth",
}
_SURFACE, _INK, _MUTED, _LINE, _AFTER, _BEFORE, _BOUND, *_OTHERS = VARIABLES
PAGE = Style(_SURFACE, _INK, _MUTED, _LINE, _AFTER, _BEFORE, _BOUND, tuple(_OTHERS))


def inline_svg(display: Display, name: str) -> str:
    """Return a picture as an SVG element.

    Parameters
    ----------
    display : Display
        The picture.
    name : str
        A word that begins the names of all its parts, which must be unique on a page.

    Returns
    -------
    str
    """
    with drawn_in(PAGE), warnings.catch_warnings():
        # The browser has its own fonts; matplotlib's only measure.
        warnings.filterwarnings("ignore", "Glyph .* missing from", UserWarning)
        from matplotlib.figure import Figure

        figure = Figure(figsize=display.size, layout="constrained")
        figure.patch.set_visible(False)
        display.plot(ax=display.axes_on(figure), style=PAGE)
        buffer = io.StringIO()
        figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    return _page_part(buffer.getvalue(), name, display)


def _page_part(text: str, name: str, display: Display) -> str:
    """Return what matplotlib wrote without what only files need."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    width, height = (72 * side for side in display.size)
    head = (
        f'<svg viewBox="0 0 {width:.6g} {height:.6g}" role="img" aria-labelledby="{name}-words" '
        f'style="--wide: {width:.0f}px" focusable="false">'
    )
    text = re.sub(r"<svg[^>]*>", head, text, count=1)
    text = text.replace("xlink:href=", "href=")
    text = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', text)
    text = re.sub(r'href="#([^"]+)"', rf'href="#{name}-\1"', text)
    text = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", text)
    text = re.sub(r"font: ([^;\"]*?)([\d.]+px) [^;\"]*", _font, text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    # Hundredths of a pixel are enough; numbers that are read stay as they are.
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d{2})\d+", r"\1", tag[0]), text)
    return re.sub(r"\n\s*", "\n", text).strip()


def _font(found: re.Match[str]) -> str:
    weight = "font-weight: 600; " if "bold" in found[1] or "700" in found[1] else ""
    return f"{weight}font-size: {found[2]}; font-family: inherit"
