"""The docs: examples and commands run, tables say what is declared, code and links are those of the files."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
import shlex
from pathlib import Path
from typing import ClassVar, get_type_hints

import pytest
from optional import absent

import metricfit as mf
from metricfit.cli import main
from metricfit.methods import METHODS, Method
from metricfit.metrics import METRICS, Curvature

ROOT = Path(__file__).parents[1]
AT_ROOT = ("README.md", "CONTRIBUTING.md")
PAGES = {
    str(page.relative_to(page.parents[1] if page.parent.name == "api" else page.parent)): page
    for page in (*(ROOT / name for name in AT_ROOT), *sorted((ROOT / "docs").rglob("*.md")))
}
TEXTS = {name: page.read_text(encoding="utf-8") for name, page in PAGES.items()}
EXCERPTS = [
    (name, *found)
    for name, text in TEXTS.items()
    for found in re.findall(r'```python title="([^"]+)"\n(.*?)```', text, re.DOTALL)
]
# Pages that would be worth little without a checked example.
SHOWING = {
    "first-hour.md",
    "two-classes.md",
    "which-confusion.md",
    "which-constraint.md",
    "comparison.md",
    "new-rows.md",
    "fairness.md",
    "scale.md",
    "concepts.md",
    "metrics.md",
    "methods.md",
    "add-a-metric.md",
    "add-a-method.md",
    "add-an-oracle.md",
    "command-line.md",
}


DECIMAL = re.compile(r"(?<![\w.])-?\d+\.\d+(?!\.\d)")
# How far a decimal may be from the one that a page shows: other processors and versions of a model give others.
NEAR = 0.1


class NearlyShown(doctest.OutputChecker):
    """Compares what a page shows with what is printed: texts and whole numbers as they are, decimals within `NEAR`."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Return whether the output is nearly the one shown."""
        if super().check_output(want, got, optionflags):
            return True
        shown = " ".join(want.split())
        pattern = (
            re.escape(DECIMAL.sub("\0", shown)).replace(re.escape("..."), ".*").replace("\0", r"(-?[\d.]+)")
        )
        found = re.fullmatch(pattern, " ".join(got.split()))
        pairs = zip(DECIMAL.findall(shown), found.groups(), strict=True) if found else []
        return found is not None and all(abs(float(a) - float(b)) <= NEAR for a, b in pairs)


@pytest.mark.parametrize(
    ("got", "same"),
    [
        ("value 0.62; 3 rows of 12\n", True),
        ("value 0.66; 3 rows of 7\n", True),
        ("value 0.78; 3 rows of 12\n", False),
        ("value 0.62; 4 rows of 12\n", False),
        ("worth 0.62; 3 rows of 12\n", False),
    ],
)
def test_decimals_of_pages_are_compared_nearly(got, same):
    assert NearlyShown().check_output("value 0.623; 3 rows of ...\n", got, doctest.ELLIPSIS) is same


def run_examples(name: str) -> doctest.TestResults:
    """Run the examples of a page in a namespace of its own, and show what failed."""
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    names = {"__name__": "__main__"}
    test = doctest.DocTestParser().get_doctest(TEXTS[name], names, name, str(PAGES[name]), 0)
    told: list[str] = []
    result = doctest.DocTestRunner(NearlyShown(), optionflags=flags, verbose=False).run(test, out=told.append)
    assert result.failed == 0, "".join(told)
    return result


# What examples need beyond the package without its extras.
NEEDED = {
    "explorer.md": ("starlette", "uvicorn"),
    "export.md": ("onnx", "onnxruntime"),
    "methods.md": ("skops",),
    "pictures.md": ("matplotlib", "starlette", "uvicorn"),
    "scale.md": ("dask", "distributed", "pyarrow"),
}


@pytest.mark.parametrize("name", [name for name, text in TEXTS.items() if ">>> " in text])
def test_examples_run(name, tmp_path, monkeypatch):
    if missing := absent(NEEDED.get(name, ())):
        pytest.skip(f"{', '.join(missing)} is not installed")
    monkeypatch.chdir(tmp_path)
    assert run_examples(name).attempted >= TEXTS[name].count("\n>>> ") > 0


def test_guides_have_examples():
    assert {name for name in SHOWING if ">>> " not in TEXTS[name]} == set()


@pytest.mark.parametrize(("name", "path", "code"), EXCERPTS)
def test_excerpts_are_those_of_the_files(name, path, code):
    assert code in (ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_links_and_files_lead_somewhere(name):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", TEXTS[name])
    assert [link for link in links if not (PAGES[name].parent / link).exists()] == []
    paths = re.findall(r"`((?:src|tests|docs|examples|benchmarks|metricfit)/[\w/.-]+)`", TEXTS[name])
    assert [p for p in paths if not ((ROOT / p).exists() or (ROOT / "src" / p).exists())] == []


# The site


def test_every_page_has_a_place_in_the_site():
    listed = set(
        re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("nav:")[-1])
    )
    generated = {"index.md", "changelog.md", "contributing.md"}  # from the root, see docs/assets/hooks.py
    assert listed == {name for name in PAGES if name not in AT_ROOT} | generated


def public_names() -> list[str]:
    """Return the full names of all that the package and its public modules export."""
    modules = ("", ".calibration", ".datasets", ".methods", ".oracles", ".report")
    found = []
    for module in (importlib.import_module(f"metricfit{name}") for name in modules):
        things = [getattr(module, name) for name in module.__all__]
        found += [
            f"{x.__module__}.{x.__name__}" for x in things if inspect.isclass(x) or inspect.isfunction(x)
        ]
    errors = vars(mf.exceptions).values()
    found += [
        f"{x.__module__}.{x.__name__}"
        for x in errors
        if inspect.isclass(x) and x.__module__ == mf.exceptions.__name__
    ]
    return sorted(set(found))


# Raised and caught inside; no user meets them.
INSIDE = {f"metricfit.exceptions.{name}" for name in ("NotConvexError", "UndefinedError", "UnsolvedError")}


@pytest.mark.parametrize("name", public_names())
def test_the_reference_has_every_public_name(name):
    listed = {found for text in TEXTS.values() for found in re.findall(r"^::: (\S+)$", text, re.MULTILINE)}
    assert (name in listed) != (name in INSIDE)


def test_troubleshooting_names_every_error_and_warning():
    met = {name for name in public_names() if name.startswith(f"{mf.exceptions.__name__}.")} - INSIDE
    listed = set(re.findall(r"^### (\w+)\n\n[A-Z`]", TEXTS["troubleshooting.md"], re.MULTILINE))
    assert listed == {name.rpartition(".")[2] for name in met}


def test_nothing_of_the_site_comes_from_elsewhere():
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assets = [path for path in (ROOT / "docs" / "assets").iterdir() if path.suffix in {".css", ".js"}]
    assert assets
    for text in (settings, *(path.read_text(encoding="utf-8") for path in assets)):
        assert "http" not in text


# Tables


def rows_of(name: str) -> list[list[str]]:
    """Return the rows of a page's tables that begin with code, without the marks around it."""
    rows = re.findall(r"^\| `(.+?)` \|(.*)\|$", TEXTS[name], re.MULTILINE)
    return [[first, *(cell.strip() for cell in rest.split("|"))] for first, rest in rows]


DECLARED = [row for row in rows_of("metrics.md") if len(row) == 6]


def test_tables_list_exactly_the_metrics():
    assert {text.split("(")[0] for text, *_ in DECLARED} == set(METRICS)


@pytest.mark.parametrize("row", DECLARED, ids=[row[0] for row in DECLARED])
def test_tables_say_what_metrics_declare(row):
    text, _, better, curvature, smooth, _ = row
    metric = mf.parse(text)
    assert better == {1: "higher", -1: "lower", 0: "-"}[metric.direction]
    assert curvature == metric.curvature.value
    assert smooth == ("yes" if metric.smooth else "no")


def test_the_table_of_methods_is_what_they_declare():
    declared = []
    for method in METHODS.values():
        kinds = "any" if method.accepts == frozenset(Curvature) else ", ".join(sorted(method.accepts))
        flags = (method.needs_smooth, method.constrained, method.nonconvex)
        told = ["yes" if flag else "no" for flag in flags]
        declared.append([method.name, kinds, *told, str(method.default_calls), method.reference])
    assert [row for row in rows_of("methods.md") if len(row) == 7] == declared


def test_the_table_of_aids_is_what_methods_do():
    table = [[cell.strip("`") for cell in row[:4]] for row in rows_of("methods.md") if len(row) == 5]
    aids = [
        [method.name, name, repr(aid.ours), repr(aid.published)]
        for method in METHODS.values()
        for name, aid in getattr(method, "aids", {}).items()
    ]
    assert table == aids
    for method in (kind for kind in METHODS.values() if getattr(kind, "aids", {})):
        for name, aid in method.aids.items():
            if name != "inner":
                assert getattr(method(), name) == aid.ours
                assert getattr(method(as_published=True), name) == aid.published


def test_declarations_of_methods_are_all_explained():
    hints = get_type_hints(Method, include_extras=True)
    declared = [name for name, hint in hints.items() if str(hint).startswith(str(ClassVar))]
    explained = [row[0] for row in rows_of("add-a-method.md") if "(" not in row[0] and "." not in row[0]]
    assert sorted(explained) == sorted(declared)


# The command line


def commands_of(text: str) -> list[list[str]]:
    """Return the arguments of every command in the shell blocks of a page."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [words[1:] for words in map(shlex.split, lines) if words[:1] == ["metricfit"]]


# What is said about the numbers that a search came to: prices in words, the bound, and lines that go on.
SAID_OF_NUMBERS = re.compile(r"^( {10}\S|  One |  bound ).*\n", re.MULTILINE)


def shape(text: str) -> list[str]:
    """Return words of a printed report with every number as #, since searches may come to better ones."""
    text = SAID_OF_NUMBERS.sub("", text)
    return re.sub(r"(?<![\w'])-?[\d,.]*\d(e-\d+)?%?", "#", text).split()


def test_commands_run_and_print_what_the_page_shows(tmp_path, monkeypatch, capsys):
    page = "command-line.md"
    monkeypatch.chdir(tmp_path)
    run_examples(page)  # writes the tables
    commands = commands_of(TEXTS[page])
    assert {words[0] for words in commands} == {"demo", "fit", "apply", "evaluate", "metrics", "export"}
    printed = []
    for words in commands:
        if words != ["demo"]:  # it has tests of its own, and takes its time
            capsys.readouterr()
            assert main(words) == 0, words
            printed.append(capsys.readouterr().out)
    shown = re.findall(r"```text\n(.*?)```", TEXTS[page], re.DOTALL)
    assert len(shown) >= 3
    for block in shown:
        assert any(shape(block) == shape(out) for out in printed), block
    reached = [float(re.search(r"^  value +(\S+)", text, re.MULTILINE)[1]) for text in (shown[0], printed[2])]
    assert reached[0] == pytest.approx(reached[1], abs=0.02)
