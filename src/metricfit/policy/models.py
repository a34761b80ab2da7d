"""Policies over retrained models: each cell mixes whole models in place of plug-in rules."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from metricfit.data.confusion import Axes
from metricfit.exceptions import PolicyFileError
from metricfit.policy import file as policy_file
from metricfit.policy.policy import Policy, Rule
from metricfit.policy.row_hash import row_words
from metricfit.types import FloatArray, IntArray

MANIFEST = "policy.json"


class ModelPolicy:
    """A randomised decision rule: for each cell a mixture of fitted models.

    The models vote, and a `Policy` over the votes picks whose vote counts: its classes are the pairs of model
    and decision. So mixtures, hashing and files are those of any policy.

    Parameters
    ----------
    axes : Axes
        Classes, decisions and cells of the problem.
    models : sequence of fitted classifiers
        Each predicts the index of a decision.
    mixtures : sequence of sequences of (weight, model index)
        For each cell, how much of which model.
    single : sequence of int, optional
        For each cell, the place in its mixture of the model that decides under ``randomize="never"``.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from metricfit.data.confusion import Axes
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
        votes = tuple(f"{m}:{j}" for m in range(len(self.models)) for j in range(axes.k))
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
        if key is None and randomize == "hash":
            key = row_words(fingerprint(self.models, X))
        return self.ballot.decide(self.votes(X), sensitive_features, randomize, random_state, key)

    def decision_proba(self, X: Any, sensitive_features: Any = None) -> FloatArray:
        """Return the probability of each decision for each row of features."""
        return self.ballot.decision_proba(self.votes(X), sensitive_features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy and its models (by skops, never pickle) to one file, whole or not at all."""
        skops = _skops()
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(MANIFEST, policy_file.encode(self.ballot.to_dict()))
            archive.writestr("classes.json", policy_file.encode({"classes": list(self.axes.classes)}))
            for m, model in enumerate(self.models):
                archive.writestr(f"{m}.skops", skops.dumps(model))
        policy_file.write(path, buffer.getvalue())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trusted: Sequence[str] = ()) -> ModelPolicy:
        """Read a policy that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.
        trusted : list of str
            Types that the models may hold beyond those skops trusts by itself; what a file needs is named in
            the error.
        """
        import json

        skops = _skops()
        try:
            with zipfile.ZipFile(path) as archive:
                ballot = Policy.from_dict(policy_file.decode(archive.read(MANIFEST)))
                classes = json.loads(archive.read("classes.json"))["classes"]
                count = ballot.axes.n // ballot.axes.k
                files = [archive.read(f"{m}.skops") for m in range(count)]
        except (zipfile.BadZipFile, KeyError, ValueError) as error:
            raise PolicyFileError(f"cannot load a model policy from {os.fspath(path)!r}: {error}") from error
        for m, data in enumerate(files):
            unknown = sorted(set(skops.get_untrusted_types(data=data)) - set(trusted))
            if unknown:
                raise PolicyFileError(
                    f"model {m} in {os.fspath(path)!r} holds types that are not trusted: "
                    f"{', '.join(unknown)}; if the file comes from a source you trust, pass trusted={unknown}"
                )
        models = [skops.loads(data, trusted=list(trusted)) for data in files]
        policy = cls.__new__(cls)
        policy.axes = Axes(tuple(classes), ballot.axes.decisions, ballot.axes.cells)
        policy.models, policy.ballot = tuple(models), ballot
        return policy

    def __repr__(self) -> str:
        return f"ModelPolicy({len(self.models)} models, {len(self.ballot.rules)} cells, {self.n_rules} rules)"


def predictions(model: Any, X: Any) -> IntArray:
    """Return the decisions of a model as indices."""
    return np.asarray(model.predict(X)).astype(np.int64)


def fingerprint(models: Sequence[Any], X: Any) -> FloatArray:
    """Return numbers that tell rows apart: probabilities of the models that give any, else the features."""
    parts = [model.predict_proba(X) for model in models if hasattr(model, "predict_proba")]
    return np.hstack(parts) if parts else np.asarray(X, dtype=np.float64)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ValueError('saving models needs skops: pip install "metricfit[io]"') from None
    return skops.io
