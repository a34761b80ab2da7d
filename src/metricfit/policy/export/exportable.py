"""The export methods of a policy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import metricfit
from metricfit.policy.export import onnx_model, python_source, sql_query
from metricfit.policy.export.rule import DeterministicRule


class Exportable:
    """Adds methods that write a deterministic rule for other programs."""

    @property
    @abstractmethod
    def deterministic(self) -> DeterministicRule:
        """The rule of ``randomize="never"``, in the form that exports start from."""

    def to_python(self) -> str:
        """Return the rule of ``randomize="never"`` as the source text of a module without dependencies.

        Returns
        -------
        str
            A module with ``decide(probabilities, attributes)``, for one row, which raises ValueError for what
            the policy would refuse too. Without a calibration it computes what `decide` computes, bit for bit;
            with one, rows may differ whose two best scores are equal up to rounding, which no tuning row has.

        Examples
        --------
        >>> from metricfit.data.axes import Axes
        >>> from metricfit.policy import Policy, Rule
        >>> policy = Policy(Axes(("no", "yes")), "full", [[Rule(1, [[0, 1], [5, 0]])]])
        >>> module = {}
        >>> exec(policy.to_python(), module)
        >>> module["decide"]([0.9, 0.1]), module["decide"]({"no": 0.5, "yes": 0.5})
        ('no', 'yes')
        """
        return python_source.source(self.deterministic, metricfit.__version__)

    def to_sql(
        self,
        dialect: str,
        *,
        table: str | Sequence[str] = "scores",
        proba_prefix: str = "p_",
        keep: Sequence[str] = (),
        decision: str = "decision",
    ) -> str:
        """Return the rule of ``randomize="never"`` as a SQL query.

        Parameters
        ----------
        dialect : {"duckdb", "sqlite", "postgres", "bigquery", "snowflake"}
            The dialect. SQLite needs its mathematical functions if the policy has a calibration.
        table : str or sequence of str, default="scores"
            The table of the rows; a sequence is a qualified name, such as ``["schema", "scores"]``.
        proba_prefix : str, default="p_"
            The probability of class c is in the column ``<prefix>c``.
        keep : sequence of str
            Columns that are copied to the result, such as a key.
        decision : str, default="decision"
            The name of the column of decisions.

        Returns
        -------
        str
            A query. A row gets NULL if its attributes have values that the policy does not know, or if its
            probabilities are missing, negative or do not sum to 1. Attributes are columns of their own names.
            Decisions of several types become texts.

        Examples
        --------
        >>> from metricfit.data.axes import Axes
        >>> from metricfit.policy import Policy, Rule
        >>> policy = Policy(Axes(("no", "yes")), "full", [[Rule(1, [[0, 1], [5, 0]])]])
        >>> import sqlite3
        >>> base = sqlite3.connect(":memory:")
        >>> rows = [(1, 0.9, 0.1), (2, 0.5, 0.5), (3, 0.5, None)]
        >>> _ = base.execute('CREATE TABLE scores (id, "p_no", "p_yes")')
        >>> _ = base.executemany("INSERT INTO scores VALUES (?, ?, ?)", rows)
        >>> base.execute(policy.to_sql("sqlite", keep=["id"])).fetchall()
        [(1, 'no'), (2, 'yes'), (3, None)]
        >>> base.close()
        """
        return sql_query.query(
            self.deterministic,
            dialect,
            table=table,
            proba_prefix=proba_prefix,
            keep=keep,
            decision=decision,
        )

    def to_onnx(self, *, dtype: str = "float64") -> Any:
        """Return the rule of ``randomize="never"`` as an ONNX model.

        Parameters
        ----------
        dtype : {"float64", "float32"}
            The type of the input ``probabilities``, of shape (rows, classes); all computations are in double
            precision. Each attribute is an input of shape (rows,) of its own name: texts, bool, int64 or float64.

        Returns
        -------
        onnx.ModelProto
            Its outputs are ``decision``, the labels (texts if they are of several types), and
            ``decision_index``. A row that the policy would refuse has index -1, and as its label an empty text,
            the smallest int64 or NaN.

        Examples
        --------
        >>> from metricfit.data.axes import Axes
        >>> from metricfit.policy import Policy, Rule
        >>> policy = Policy(Axes(("no", "yes")), "full", [[Rule(1, [[0, 1], [5, 0]])]])
        >>> model = policy.to_onnx()  # onnx.save(model, "policy.onnx") writes it
        >>> [value.name for value in (*model.graph.input, *model.graph.output)]
        ['probabilities', 'decision', 'decision_index']
        """
        return onnx_model.model(self.deterministic, dtype=dtype)
