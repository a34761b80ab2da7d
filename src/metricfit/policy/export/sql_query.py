"""A policy's deterministic rule as one SQL query: a chain of common table expressions, one for each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from metricfit.calibration import Calibration
from metricfit.data.validation import SUM_TOLERANCE
from metricfit.policy.export.dialects import Dialect, dialect_of
from metricfit.policy.export.rule import (
    Branch,
    DeterministicRule,
    ScoreFunctions,
    factors_of,
    segments,
    stages,
)
from metricfit.types import FloatArray, Label

# PostgreSQL stops a query in which an exponential underflows. The exponential of this does not, and is as good as 0.
LOWEST_EXPONENT = -700.0


def query(
    rule: DeterministicRule,
    dialect: str,
    *,
    table: str | Sequence[str] = "scores",
    proba_prefix: str = "p_",
    keep: Sequence[str] = (),
    decision: str = "decision",
) -> str:
    """Return a query that decides the rows of a table; see `Policy.to_sql`.

    Examples
    --------
    >>> import numpy as np
    >>> from metricfit.data.axes import Axes
    >>> rule = DeterministicRule.of(Axes(("no", "yes")), "full", [np.array([[0, 1], [5, 0]])])
    >>> print(query(rule, "duckdb"))
    WITH metricfit_given AS (
      SELECT CAST(t."p_no" AS DOUBLE) AS p0,
        CAST(t."p_yes" AS DOUBLE) AS p1
      FROM "scores" AS t
    ), metricfit_scored AS (
      SELECT g.*,
        g.p1 * 5.0e0 AS s0,
        g.p0 * 1.0e0 AS s1
      FROM metricfit_given AS g
    ), metricfit_best AS (
      SELECT g.*,
        LEAST(g.s0, g.s1) AS lowest
      FROM metricfit_scored AS g
    )
    SELECT
      CASE WHEN g.p0 >= 0 AND g.p1 >= 0 AND ABS(g.p0 + g.p1 - 1) <= 0.001
        THEN CASE g.lowest WHEN g.s1 THEN 'yes' WHEN g.s0 THEN 'no' END
      END AS "decision"
    FROM metricfit_best AS g
    """
    writer = _Writer(rule, dialect_of(dialect))
    if isinstance(keep, str):
        raise ValueError(f"keep must be a list of columns; got the string {keep!r}")
    _check_told_apart(
        [*(f"{proba_prefix}{value}" for value in rule.classes), *rule.attributes], writer.dialect
    )
    repeated = [name for name in keep if name == decision or list(keep).count(name) > 1]
    if repeated:
        raise ValueError(f"keep names a column twice, or the column of the decisions: {repeated[0]!r}")
    steps, label = [("given", writer.given(proba_prefix, keep)), *writer.steps()], writer.label()
    if rule.otherwise is not None:
        other = _Writer(rule.otherwise, writer.dialect, "otherwise_")
        steps += other.steps()
        label = f"CASE WHEN g.cell IS NULL THEN {other.label()} ELSE {label} END"
    return writer.assembled(steps, label, table, keep, decision)


def _check_told_apart(columns: Sequence[str], dialect: Dialect) -> None:
    """Raise if two of the columns that a query reads are one column to the dialect."""
    seen: dict[str, str] = {}
    for column in columns:
        name = column.lower() if dialect.folds_names else column
        if name in seen:
            raise ValueError(
                f"of the classes and attributes two have one column in {dialect.name}, {seen[name]!r} and {column!r}; "
                "rename one of them"
            )
        seen[name] = column


class _Writer:
    """The parts of the query. In each of its steps the rows so far are called g, the rows of the table t."""

    def __init__(self, rule: DeterministicRule, dialect: Dialect, mark: str = "") -> None:
        self.rule, self.dialect, self.number = rule, dialect, dialect.number
        self.mark = mark  # prefix of the names of computed columns

    def steps(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the steps from the probabilities p0, p1, ... to the lowest score, each with its columns."""
        for name, columns in (*self.calibrated(), ("scored", self.scored()), ("best", self.best())):
            yield f"{self.mark}{name}", columns

    def given(self, prefix: str, keep: Sequence[str]) -> list[str]:
        """Return the table's columns under new names, which no other column of the table can clash with."""
        columns = [f"t.{self.dialect.name_of(name)} AS k{i}" for i, name in enumerate(keep)]
        for i, value in enumerate(self.rule.classes):
            column = self.dialect.name_of(f"{prefix}{value}")
            # Names of columns are qualified: SQLite takes a quoted name that it does not know for a text.
            columns.append(f"CAST(t.{column} AS {self.dialect.double}) AS p{i}")
        return columns + ([f"{self._cell()} AS cell"] if self.rule.attributes else [])

    def _cell(self) -> str:
        lines = []
        for place, cell in enumerate(self.rule.cells):
            tests = (self._is(position, value) for position, value in enumerate(cell))
            lines.append(f"WHEN {' AND '.join(tests)} THEN {place}")
        return f"CASE {' '.join(lines)} END"

    def _is(self, position: int, value: Label) -> str:
        """Return the test of whether a row has a value of an attribute."""
        column = f"t.{self.dialect.name_of(self.rule.attributes[position])}"
        equal = f"{column} = {self.dialect.literal(value)}"
        if self.rule.missing is None or value != self.rule.missing:
            return equal
        # A column of numbers cannot be compared with a text.
        texts = all(isinstance(cell[position], str) for cell in self.rule.cells)
        return f"({column} IS NULL OR {equal})" if texts else f"{column} IS NULL"

    def calibrated(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the steps to calibrated probabilities, q0, q1, ..., of the last stage."""
        made, source = stages(self.rule.calibration), "p"
        for stage in made:
            mark = self.mark if stage is made[-1] else f"{self.mark}first_"
            for name, columns in self._stage(stage, mark, source):
                yield f"{mark.removeprefix(self.mark)}{name}", columns
            source = f"{mark}q"

    def _stage(self, made: Calibration, m: str, source: str) -> Iterator[tuple[str, list[str]]]:
        """Yield the steps of one calibration, which reads columns called ``source`` and names its own with a mark."""
        factors, classes = factors_of(made), range(self.rule.n)
        floor = self.number(made.floor)
        lifted = [f"{self.dialect.greatest}(g.{source}{i}, {floor})" for i in classes]
        if factors is not None:
            heights = (
                lifted
                if made.curves is None
                else [self._curve(made.curves[i], f"g.{source}{i}") for i in classes]
            )
            yield "raised", [f"{heights[i]} * {self._of_cell(factors[:, i])} AS {m}u{i}" for i in classes]
        else:
            yield "logs", [f"LN({lifted[i]}) AS {m}l{i}" for i in classes]
            yield "logits", [f"{self._logit(made, m, i)} AS {m}z{i}" for i in classes]
            yield "peak", [f"{self._extreme(self.dialect.greatest, f'{m}z', self.rule.n)} AS {m}peak"]
            exponents = [f"g.{m}z{i} - g.{m}peak, {self.number(LOWEST_EXPONENT)}" for i in classes]
            yield "raised", [f"EXP({self.dialect.greatest}({exponents[i]})) AS {m}u{i}" for i in classes]
        total = " + ".join(f"g.{m}u{i}" for i in classes)
        yield "summed", [f"{total} AS {m}total"]
        yield "calibrated", [f"g.{m}u{i} / g.{m}total AS {m}q{i}" for i in classes]

    def _curve(self, curve: tuple[FloatArray, FloatArray], column: str) -> str:
        pieces = [
            f"{self.number(slope)} * ({column} - {self.number(start)}) + {self.number(height)}"
            if slope
            else self.number(height)
            for slope, start, height in zip(*segments(*curve), strict=True)
        ]
        lines = [
            f"WHEN {column} < {self.number(at)} THEN {piece}"
            for at, piece in zip(curve[0], pieces, strict=False)
        ]
        return f"(CASE {' '.join(lines)} ELSE {pieces[-1]} END)"

    def _logit(self, made: Calibration, m: str, i: int) -> str:
        if made.matrix is None:
            log = f"g.{m}l{i}"
        elif made.matrix.ndim == 1:
            log = f"g.{m}l{i} * {self.number(made.matrix[i])}"
        else:
            row = enumerate(made.matrix[i])
            log = " + ".join(f"g.{m}l{j} * {self.number(weight)}" for j, weight in row)
        return f"({log}) * {self._of_cell(made.steepness)} + {self._of_cell(made.bias[:, i])}"

    def _of_cell(self, values: FloatArray) -> str:
        """Return the row's number: one for all cells, or one for each."""
        texts = [self.number(value) for value in values]
        return texts[0] if len(set(texts)) == 1 else self._by_cell(texts)

    def _by_cell(self, texts: Iterable[str]) -> str:
        """Return what belongs to the row's cell; NULL for a row of no cell."""
        return f"CASE g.cell {' '.join(f'WHEN {place} THEN {text}' for place, text in enumerate(texts))} END"

    def scored(self) -> list[str]:
        """Return the score of each decision, by the branch that the row takes in its cell."""
        letter = "p" if self.rule.calibration is None else f"{self.mark}q"
        columns = []
        for j in range(self.rule.k):
            texts = [self._branch(branches, j, letter) for branches in self.rule.branches]
            columns.append(f"{self._by_cell(texts) if self.rule.attributes else texts[0]} AS {self.mark}s{j}")
        return columns

    def _branch(self, branches: Sequence[Branch], j: int, letter: str) -> str:
        *tested, last = branches
        text = self._sum(last.scores, j, letter)
        for branch in reversed(tested):
            assert branch.test is not None
            test = f"{self._sum(branch.test, 0, letter)} <= {self.number(branch.limit)}"
            text = f"CASE WHEN {test} THEN {self._sum(branch.scores, j, letter)} ELSE {text} END"
        return text

    def _sum(self, scores: ScoreFunctions, column: int, letter: str) -> str:
        terms = [f"g.{letter}{i} * {self.number(weight)}" for i, weight in scores.terms(column)]
        constant = float(scores.constant[column])
        return " + ".join([*terms, *([self.number(constant)] if constant or not terms else [])])

    def best(self) -> list[str]:
        """Return the smallest score."""
        return [f"{self._extreme(self.dialect.least, f'{self.mark}s', self.rule.k)} AS {self.mark}lowest"]

    def _extreme(self, function: str, column: str, size: int) -> str:
        # SQLite's MIN of one value is that of all rows.
        names = [f"g.{column}{j}" for j in range(size)]
        return names[0] if size == 1 else f"{function}({', '.join(names)})"

    def label(self) -> str:
        """Return the label of the lowest score: of equal ones the larger index, as the last one comes first."""
        # A column has one type, so labels of several types become texts.
        labels = self.rule.decisions if self.rule.one_label_type else self.rule.texts
        cases = " ".join(
            f"WHEN g.{self.mark}s{j} THEN {self.dialect.literal(value)}"
            for j, value in reversed(list(enumerate(labels)))
        )
        return f"CASE g.{self.mark}lowest {cases} END"

    def assembled(
        self,
        steps: Iterable[tuple[str, list[str]]],
        label: str,
        table: str | Sequence[str],
        keep: Sequence[str],
        decision: str,
    ) -> str:
        """Return the whole query; each step reads the one before it as g, and the first one the table as t."""
        name_of = self.dialect.name_of
        source = ".".join(map(name_of, [table] if isinstance(table, str) else table)) + " AS t"
        blocks: list[str] = []
        for name, columns in steps:
            every = ["g.*"] if blocks else []
            lines = ",\n    ".join([*every, *columns])
            # Names that no table of the user is likely to have.
            blocks.append(
                f"metricfit_{name} AS {self.dialect.computed_once}(\n  SELECT {lines}\n  FROM {source}\n)"
            )
            source = f"metricfit_{name} AS g"
        classes = range(self.rule.n)
        total = " + ".join(f"g.p{i}" for i in classes)
        valid = " AND ".join([*(f"g.p{i} >= 0" for i in classes), f"ABS({total} - 1) <= {SUM_TOLERANCE:g}"])
        columns = [f"g.k{i} AS {name_of(name)}" for i, name in enumerate(keep)]
        columns += [f"CASE WHEN {valid}\n    THEN {label}\n  END AS {name_of(decision)}"]
        comment = "".join(f"-- {line}\n" for line in self.rule.about)
        return (
            f"{comment}WITH {', '.join(blocks)}\nSELECT\n  {f',{chr(10)}  '.join(columns)}\nFROM {source}\n"
        )
