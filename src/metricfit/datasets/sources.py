"""Where the files of the paper's data sets come from, their SHA-256, and how they become our arrays.

The terms of the sources: the sets from UCI (abalone, pageblocks, satimage, crimes, adult, default) are CC BY 4.0; the
repository of the paper's authors and that of the CSV file of default have no licence file; MACHO, the law school
study and ProPublica's COMPAS are published for research. Nothing of them is a part of this package.
"""

from __future__ import annotations

import bz2
import io
import pickle
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


class Source(NamedTuple):
    """A file: where it is, and the SHA-256 of its bytes."""

    url: str
    sha256: str

    @property
    def file(self) -> str:
        """The name of the file."""
        return self.url.rsplit("/", 1)[1]


class Recipe(NamedTuple):
    """The files of a data set, and the function that turns their bytes into its arrays."""

    sources: tuple[Source, ...]
    convert: Callable[[Sequence[bytes]], Arrays]


class ArraysOnly(pickle.Unpickler):
    """Reads NumPy arrays from a pickle, and refuses everything else: a pickle could run any code."""

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the few functions that arrays need."""
        if (module, name) == ("_codecs", "encode"):
            return lambda text, _: text.encode("latin1")
        if module.split(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return np.empty(0).__reduce__()[0] if name == "_reconstruct" else getattr(np, name)
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an array")


def loaded(content: bytes) -> Any:
    """Return the array of an .npy file, or the dictionary of arrays that such a file wraps."""
    file = io.BytesIO(content)
    np.lib.format.read_magic(file)
    _, _, dtype = np.lib.format.read_array_header_1_0(file)
    if not dtype.hasobject:
        return np.load(io.BytesIO(content), allow_pickle=False)
    stored = ArraysOnly(file, encoding="latin1").load()
    return stored.item() if isinstance(stored, np.ndarray) else stored


def whole(contents: Sequence[bytes]) -> Arrays:
    """Take the authors' rows as they are."""
    stored = loaded(contents[0])
    return {"X": stored["X"].astype(np.float32), "y": stored["Y"].astype(np.int16)}


def stacked(contents: Sequence[bytes]) -> Arrays:
    """Stack the authors' training and test rows; the protected attribute is the first column."""
    stored = loaded(contents[0])
    X = np.concatenate([stored["X_train"], stored["X_test"]]).astype(np.float32)
    y = np.concatenate([stored["y_train"], stored["y_test"]]).astype(np.int16)
    return {"X": X, "y": y, "group": X[:, 0].astype(np.int8)}


def one_file_each(keys: Sequence[str], contents: Sequence[bytes]) -> Arrays:
    """Take each array from a file of its own."""
    arrays = {key: loaded(content) for key, content in zip(keys, contents, strict=True)}
    return {key: a.astype(np.float32 if key.startswith("P") else np.int16) for key, a in arrays.items()}


def credit_cards(contents: Sequence[bytes]) -> Arrays:
    """Move sex, coded men 0 and women 1, to the front."""
    raw = np.loadtxt(io.BytesIO(contents[0]), delimiter=",", skiprows=1)
    X = np.column_stack([raw[:, 1] - 1, raw[:, 0], raw[:, 2:-1]]).astype(np.float32)
    return {"X": X, "y": raw[:, -1].astype(np.int16), "group": X[:, 0].astype(np.int8)}


# Columns of the coding a9a of Adult, counted from 0, and which of them says that a person is a woman.
COLUMNS, WOMAN = 123, 71


def census(contents: Sequence[bytes]) -> Arrays:
    """Read the training and the test rows of a9a; the indicator of women moves to the front."""
    lines = [line for content in contents for line in bz2.decompress(content).decode("ascii").splitlines()]
    X, y = np.zeros((len(lines), COLUMNS), np.float32), np.zeros(len(lines), np.int16)
    for row, line in enumerate(lines):
        label, *entries = line.split()
        y[row] = float(label) > 0
        for entry in entries:
            place, value = entry.split(":")
            X[row, int(place)] = float(value)
    X = np.column_stack([X[:, WOMAN], np.delete(X, WOMAN, axis=1)])
    return {"X": X, "y": y, "group": X[:, 0].astype(np.int8)}


GITHUB = "https://raw.githubusercontent.com"
AUTHORS = f"{GITHUB}/shivtavker/constrained-classification/34e41da33d7e92de252a2e9c190ad2a79fccaa81"
CARDS = f"{GITHUB}/tailequy/fairness_dataset/abb5a18b822ba56a221c5311082e192e85000b95/experiments/data"
CENSUS = f"{GITHUB}/X-DataInitiative/tick-datasets/9d959b6e53e17145e93e9849ff1f9f6d2de8ae51/binary/adult"
CIFAR10, CIFAR55 = f"{AUTHORS}/data/cifar10", f"{AUTHORS}/data/cifar55"

RECIPES = {
    "abalone": Recipe(
        (
            Source(
                f"{AUTHORS}/data/multiclass/abalone_data.npy",
                "fc5fd5dc26f7f53ba28bde5eac36eed2a0e53bc663ee0a7a9b00af2674869222",
            ),
        ),
        whole,
    ),
    "compas": Recipe(
        (
            Source(
                f"{AUTHORS}/data/compas_data.npy",
                "57d06ea6451a34045d581d44e7471f8c8cc7f1d88da3aa824c47dac99cb974ea",
            ),
        ),
        stacked,
    ),
    "crimes": Recipe(
        (
            Source(
                f"{AUTHORS}/data/crimes_data.npy",
                "bf3e6bb99d1f61811bd40b8e2c87d15fcea23c23d457a72bbd2c4448b37e8459",
            ),
        ),
        stacked,
    ),
    "lawschool": Recipe(
        (
            Source(
                f"{AUTHORS}/data/lawschool_data.npy",
                "44bead3cd54f57f7f4f38f3d761093b338b5bd744a9bea86b380b225c8180e4c",
            ),
        ),
        stacked,
    ),
    "macho": Recipe(
        (
            Source(
                f"{AUTHORS}/data/multiclass/MACHO_data.npy",
                "26b605442686968bd64254a5c19ce9785c2f2ec8fc662640d32b5dc968a326a1",
            ),
        ),
        whole,
    ),
    "pageblocks": Recipe(
        (
            Source(
                f"{AUTHORS}/data/multiclass/pageblocks_data.npy",
                "89dc75fae779d77e618507bb101bc12df69e96fc4ca81f2d76ee9a98f4d0dbb7",
            ),
        ),
        whole,
    ),
    "satimage": Recipe(
        (
            Source(
                f"{AUTHORS}/new_experiments/MinMax/data/satimage_data.npy",
                "47b7c6043be4b42eb3677a77952cda38d1ae7249dec8ed142bf53890cc63a9b6",
            ),
        ),
        whole,
    ),
    "cifar10_flip": Recipe(
        (
            Source(
                f"{CIFAR10}/train_probab_flip.npy",
                "d2ea250de63863a01ad594e27d558dada24a88c0bc490b133b77de1e9b13d2e5",
            ),
            Source(
                f"{CIFAR10}/y_train_flip.npy",
                "201faa782bcb742d5ca3e3cc14a2d1c59375742ec96b1619ed25d138a404b7b4",
            ),
            Source(
                f"{CIFAR10}/true_y_train_flip.npy",
                "20a947077577b6cc9ce493efbef0c0db9f51cf66f24a59bbd5302e7770798b22",
            ),
            Source(
                f"{CIFAR10}/test_probab_flip.npy",
                "6e3252173c04fc45a0affa4d1eea478ca5c978b1eccfb4ae01a4e9f5bbd0862c",
            ),
            Source(
                f"{CIFAR10}/y_test_flip.npy",
                "0ca099fbc36a5ac7a25bf64d83d20f5e7fa3cfe5aac2b87f26b71e9f39457449",
            ),
            Source(
                f"{CIFAR10}/true_y_test_flip.npy",
                "2419f22ad0ef738ad1831451477e51d0a1245d49642888f20e281cacd22dd730",
            ),
        ),
        partial(one_file_each, ("P_train", "y_train", "true_y_train", "P_test", "y_test", "true_y_test")),
    ),
    "cifar55_test": Recipe(
        (
            Source(
                f"{CIFAR55}/y_train55.npy", "c2393c09a2397e3ed7fe602fe4261c8d4209c2e47324173fa79cbfa976ae9ecb"
            ),
            Source(
                f"{CIFAR55}/test_probab55.npy",
                "548c6443b65c225bcfb9bf66d94b3ce76cd5ada1a97a61b22189f43d4e2c27e4",
            ),
            Source(
                f"{CIFAR55}/y_test55.npy", "ead06a53dd804c6f73c9536cc45e49d600aacbddcee26a1867632b02ec092ecf"
            ),
        ),
        partial(one_file_each, ("y_train", "P_test", "y_test")),
    ),
    "default": Recipe(
        (
            Source(
                f"{CARDS}/credit-card-clients.csv",
                "7cfc3bb35b6986be40cccb5d490806f082b46f93afafdce27fd7f409eb5abb02",
            ),
        ),
        credit_cards,
    ),
    "adult": Recipe(
        (
            Source(
                f"{CENSUS}/adult.trn.bz2", "73ce74d43bbfc988b08e6ecf738cf5484f19dafa143c31f702f3a8b779d277e5"
            ),
            Source(
                f"{CENSUS}/adult.tst.bz2", "bdb2ec9642e77947a67269471506b18bc4dcf03413f44814dc24833432ba818d"
            ),
        ),
        census,
    ),
}

#: Why the other data sets cannot be made from public files.
NOT_BUILT = {
    "covtype": "our rows are those of UCI Covertype that several public samples of it happen to contain",
    "cifar100_cv": "it is no data set of the paper",
    "news20_cv": "it is no data set of the paper",
    "debian_maintainer_mlp": "it is no data set of the paper",
    "debian_section_mlp": "it is no data set of the paper",
}
