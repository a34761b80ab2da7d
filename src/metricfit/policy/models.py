"""Policies over retrained models: each cell mixes whole models instead of plug-in rules."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.data.axes import Axes
from metricfit.data.row_order import check_row_order
from metricfit.exceptions import PolicyFileError
from metricfit.messages import cut
from metricfit.policy import archive
from metricfit.policy import file as policy_file
from metricfit.policy.document import items
from metricfit.policy.policy import Policy, Rule
from metricfit.policy.row_hash import row_words
from metricfit.types import FloatArray, IntArray

# The members of an archive besides the models, and that of a model in which skops says what to build.
POLICY, CLASSES, SCHEMA = "policy.json", "classes.json", "schema.json"
MAX_BYTES = 1 << 28
# A forest of 100 trees has 2 MB.
MAX_SCHEMA = 1 << 24


class ModelPolicy:
    """A randomised decision rule: for each cell a mixture of fitted models.

    The models vote, and a `Policy` over the votes picks the model whose vote counts; its classes are the pairs of model
    and decision. So mixtures, hashing and files work as for any policy.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells of the problem.
    models : sequence of fitted classifiers
        Each predicts the index of a decision.
    mixtures : sequence of sequences of (weight, model index)
        For each cell, its models and their weights.
    single : sequence of int, optional
        For each cell, the index in its mixture of the model that decides under ``randomize="never"``.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from metricfit.data.axes import Axes
    >>> no = DummyClassifier(strategy="constant", constant=0).fit([[0], [1]], [0, 1])
    >>> policy = ModelPolicy(Axes(("no", "yes")), [no], [[(1.0, 0)]])
    >>> policy.decide([[0.5], [0.7]]).tolist()
    ['no', 'no']
    """

    def __init__(
        self,
        axes: Axes,
        models: Sequence[Any],
        mixtures: Sequence[Sequence[tuple[float, int]]],
        single: Sequence[int] = (),
    ) -> None:
        self.axes, self.models = axes, tuple(models)
        votes = votes_of(len(self.models), axes.k)
        rules = tuple(tuple(Rule(weight, self._loss(m)) for weight, m in mixture) for mixture in mixtures)
        self.ballot = Policy(Axes(votes, axes.decisions, axes.cells), "full", rules, tuple(single))

    def _loss(self, model: int) -> FloatArray:
        """Return the loss over votes whose rule follows one model."""
        loss = np.zeros((len(self.models) * self.axes.k, self.axes.k))
        loss[model * self.axes.k + np.arange(self.axes.k), np.arange(self.axes.k)] = -1.0
        return loss

    @property
    def n_rules(self) -> int:
        """Number of rules in all cells together."""
        return self.ballot.n_rules

    def votes(self, X: Any) -> FloatArray:
        """Return the models' decisions for each row, as probabilities for the policy over votes."""
        made = [predictions(model, X) for model in self.models]
        shares = np.zeros((len(made[0]), len(made) * self.axes.k))
        for m, decisions in enumerate(made):
            shares[np.arange(len(decisions)), m * self.axes.k + decisions] = 1 / len(made)
        return shares

    def decide(
        self,
        X: Any,
        sensitive_features: Any = None,
        randomize: str = "hash",
        random_state: Any = None,
        key: Any = None,
    ) -> Any:
        """Return a decision for each row of features; see `Policy.decide`."""
        check_row_order(X=X, sensitive_features=sensitive_features, key=key)
        if key is None and randomize == "hash":
            key = row_words(fingerprint(self.models, X))
        return self.ballot.decide(self.votes(X), sensitive_features, randomize, random_state, key)

    def decision_proba(self, X: Any, sensitive_features: Any = None) -> FloatArray:
        """Return the probability of each decision for each row of features."""
        check_row_order(X=X, sensitive_features=sensitive_features)
        return self.ballot.decision_proba(self.votes(X), sensitive_features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy and its models (by skops, never pickle) to one file, completely or not at all."""
        skops = _skops()
        members = {POLICY: policy_file.encode(self.ballot.to_dict())}
        members[CLASSES] = json.dumps(list(self.axes.classes)).encode()
        members |= {f"{m}.skops": skops.dumps(model) for m, model in enumerate(self.models)}
        policy_file.write(path, archive.pack(members))

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, trusted: Sequence[str] = (), max_bytes: int = MAX_BYTES
    ) -> ModelPolicy:
        """Read a policy that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.
        trusted : list of str
            Types that the models may contain besides those that skops trusts by itself; the error names what a file
            needs.
        max_bytes : int, default=2**28
            Files that are larger than this, packed or unpacked, are refused.

        Returns
        -------
        ModelPolicy

        Raises
        ------
        PolicyFileError
            If the file is damaged, encrypted, too large or not an archive of models, or if its models are not
            classifiers or contain types that are not trusted.
        """
        try:
            return cls._read(policy_file.read(path, max_bytes), trusted, max_bytes)
        except PolicyFileError as error:
            raise PolicyFileError(f"cannot load a model policy from {os.fspath(path)!r}: {error}") from error

    @classmethod
    def _read(cls, data: bytes, trusted: Sequence[str], max_bytes: int) -> ModelPolicy:
        members = archive.unpack(data, max_bytes)
        for name in (POLICY, CLASSES):
            if len(members.get(name, b"")) > policy_file.MAX_BYTES or name not in members:
                raise PolicyFileError(f"its member {name} is missing or too large")
        ballot = Policy.from_dict(policy_file.decode(members[POLICY]))
        axes = ballot.axes
        try:
            classes = items(json.loads(members[CLASSES]), "classes", str, int, float, bool)
            named = Axes(tuple(classes), axes.decisions, axes.cells)
        except (ValueError, RecursionError) as error:
            raise PolicyFileError(f"its classes make no sense: {error}") from error
        count = axes.n // axes.k
        if axes.classes != votes_of(count, axes.k) or ballot.layout != "full":
            raise PolicyFileError("its rules are not those of a policy over models")
        if set(members) != {POLICY, CLASSES, *(f"{m}.skops" for m in range(count))}:
            raise PolicyFileError(f"it must hold {count} models, one for each that its rules name")
        models = [_model(members[f"{m}.skops"], m, axes.k, trusted, max_bytes) for m in range(count)]
        policy = cls.__new__(cls)
        policy.axes, policy.models, policy.ballot = named, tuple(models), ballot
        return policy

    def __repr__(self) -> str:
        return f"ModelPolicy({len(self.models)} models, {len(self.ballot.rules)} cells, {self.n_rules} rules)"


def votes_of(models: int, decisions: int) -> tuple[str, ...]:
    """Return the classes of the policy over votes: each decision of each model.

    Examples
    --------
    >>> votes_of(2, 2)
    ('0:0', '0:1', '1:0', '1:1')
    """
    return tuple(f"{m}:{j}" for m in range(models) for j in range(decisions))


def _model(data: bytes, number: int, k: int, trusted: Sequence[str], max_bytes: int) -> Any:
    """Return a model from the bytes that skops made of it; raise unless it is a classifier over k decisions."""
    from sklearn.base import BaseEstimator, is_classifier

    skops = _skops()
    where = f"model {number}"
    try:
        with archive.checked(data, max_bytes) as inner:
            schema = [member.file_size for member in inner.infolist() if member.filename == SCHEMA]
        if len(schema) != 1 or schema[0] > MAX_SCHEMA:
            raise PolicyFileError(f"{where} has no {SCHEMA} of at most {MAX_SCHEMA} bytes")
        unknown = sorted(set(skops.get_untrusted_types(data=data)) - set(trusted))
        if unknown:
            raise PolicyFileError(
                f"{where} holds types that are not trusted: {', '.join(unknown)}; if the file comes from a source you "
                f"trust, pass trusted={unknown}"
            )
        model = skops.loads(data, trusted=list(trusted))
        suits = isinstance(model, BaseEstimator) and is_classifier(model) and hasattr(model, "predict")
        suits = suits and {int(c) for c in model.classes_} <= set(range(k))
    except PolicyFileError:
        raise
    except Exception as error:  # skops builds what the file says, so that anything may fail
        raise PolicyFileError(f"{where} cannot be read: {type(error).__name__}: {cut(str(error))}") from error
    if not suits:
        raise PolicyFileError(
            f"{where} is of type {type(model).__name__}; it must be a fitted classifier of the decisions' numbers, "
            f"0 to {k - 1}"
        )
    return model


def predictions(model: Any, X: Any) -> IntArray:
    """Return the decisions of a model as indices."""
    return np.asarray(model.predict(X)).astype(np.int64)


def fingerprint(models: Sequence[Any], X: Any) -> FloatArray:
    """Return numbers that identify rows: the probabilities of the models that give any, else the features."""
    parts = [model.predict_proba(X) for model in models if hasattr(model, "predict_proba")]
    return np.hstack(parts) if parts else np.asarray(X, dtype=np.float64)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ValueError('saving models needs skops: pip install ".[io]" in a clone') from None
    return skops.io
