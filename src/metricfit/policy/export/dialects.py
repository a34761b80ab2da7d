"""What differs between dialects of SQL, as far as an exported rule needs it."""

from __future__ import annotations

from dataclasses import dataclass
from unicodedata import category

from metricfit.messages import unknown
from metricfit.policy.export.rule import in_64_bits
from metricfit.types import Label


@dataclass(frozen=True)
class Dialect:
    r"""How a dialect writes names, texts and numbers.

    Parameters
    ----------
    name : str
        Its name, as sqlglot spells it.
    double : str
        The type of double-precision numbers.
    least, greatest : str
        The functions of the smallest and the largest of several values.
    quote : str
        The mark around names.
    backslash : bool
        Whether a backslash in a text or a name begins an escape.
    typed_numbers : bool
        Whether a literal with a point is of a decimal type, so that it has to be cast.
    computed_once : str
        The keyword that makes later steps read the columns of a step. Without it these dialects would inline its
        expressions again and again, which makes a query hundreds of times as long.
    folds_names : bool
        Whether names that differ in capital letters only are one name, quoted or not.

    Examples
    --------
    >>> print(DIALECTS["duckdb"].text("it's"), DIALECTS["bigquery"].text("it's"))
    'it''s' 'it\'s'
    >>> print(DIALECTS["sqlite"].name_of('a"b'), DIALECTS["bigquery"].name_of("a`b"))
    "a""b" `a\`b`
    """

    name: str
    double: str = "DOUBLE PRECISION"
    least: str = "LEAST"
    greatest: str = "GREATEST"
    quote: str = '"'
    backslash: bool = False
    typed_numbers: bool = False
    computed_once: str = ""
    folds_names: bool = False

    def name_of(self, name: str) -> str:
        """Return the quoted name of a column or table."""
        if not name:
            raise ValueError("a column or table has an empty name; give it one")
        return self._quoted(name, self.quote, "a column or table name", doubled=self.quote == '"')

    def text(self, value: str) -> str:
        """Return a text as a literal that no character of the text can end."""
        if self.name == "postgres" and "\\" in value:
            # How a plain literal reads a backslash depends on a setting of the server; with E it does not.
            escaped = value.replace("\\", "\\\\")
            return "E" + self._quoted(escaped, "'", "a label or value", doubled=True)
        return self._quoted(value, "'", "a label or value", doubled=self.name != "bigquery")

    def _quoted(self, text: str, mark: str, what: str, *, doubled: bool) -> str:
        if any(category(letter) in ("Cc", "Cs") for letter in text):
            raise ValueError(f"{what} has control characters, which SQL may not take: {text!r}")
        escaped = text.replace("\\", "\\\\") if self.backslash and not self._names_are_plain(mark) else text
        return mark + escaped.replace(mark, mark * 2 if doubled else f"\\{mark}") + mark

    def _names_are_plain(self, mark: str) -> bool:
        """In Snowflake a backslash is an escape in texts, not in names."""
        return mark == '"' and self.name == "snowflake"

    def literal(self, value: Label) -> str:
        """Return a label or an attribute's value as a literal."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self.text(value)
        return str(in_64_bits(value)) if isinstance(value, int) else self.number(value)

    def number(self, value: float) -> str:
        """Return a number as a double-precision literal that is read back without loss."""
        plain = repr(float(value))
        written = plain if "e" in plain else f"{plain}e0"
        return f"CAST('{plain}' AS {self.double})" if self.typed_numbers else written


DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect("duckdb", double="DOUBLE", folds_names=True),
        Dialect(
            "sqlite",
            double="REAL",
            least="MIN",
            greatest="MAX",
            computed_once="MATERIALIZED ",
            folds_names=True,
        ),
        Dialect("postgres", typed_numbers=True, computed_once="MATERIALIZED "),
        Dialect("bigquery", double="FLOAT64", quote="`", backslash=True, folds_names=True),
        Dialect("snowflake", double="DOUBLE", backslash=True, typed_numbers=True),
    )
}


def dialect_of(name: str) -> Dialect:
    """Return a dialect by its name.

    Examples
    --------
    >>> dialect_of("postgresql").name
    'postgres'
    """
    known = {**DIALECTS, "postgresql": DIALECTS["postgres"]}
    if not isinstance(name, str) or name.lower() not in known:
        raise ValueError(unknown("dialect", name, DIALECTS))
    return known[name.lower()]
