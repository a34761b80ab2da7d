"""What MkDocs does to the pages on the way to the site; nothing of it needs the network.

- README.md is the home page, CHANGELOG.md and CONTRIBUTING.md are pages: they exist once, at the root;
- formulas become MathML, which browsers draw by themselves;
- blocks of code that begin with a prompt are coloured as sessions.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
FROM_ROOT = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
PAGES = {source: page for page, source in FROM_ROOT.items()}
FORMULA = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)

# A picture with a variant for the dark: on the site the reader's choice of colours decides, not the browser's.
PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img width="\d+" alt="([^"]+)" src="([^"]+)">\s*</picture>',
    re.DOTALL,
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that stand at the root of the repository."""
    for page, source in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=_links_from_docs(text)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Mark sessions, and lead links to files at the root to their pages."""
    for source, page in PAGES.items():
        markdown = markdown.replace(f"](../{source})", f"]({page})")
    return re.sub(r"^```python\n(?=>>> )", "```pycon\n", markdown, flags=re.MULTILINE)


def on_page_content(content: str, **_: Any) -> str:
    """Write formulas as MathML."""
    return FORMULA.sub(lambda found: convert(html.unescape(found[1])), content)


def _links_from_docs(text: str) -> str:
    text = PICTURE.sub(r'![\2](\3#only-light){ width="560" }\n![\2](\1#only-dark){ width="560" }', text)
    text = re.sub(r"\]\(docs/", "](", text)
    for source, page in PAGES.items():
        text = text.replace(f"]({source})", f"]({page})")
    return text
