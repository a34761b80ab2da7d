"""How oracles cut large data into pieces, when a sample is worth its cost, and how long they wait."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """Round numbers, chosen by hand; ``benchmarks/scale`` measures on generated rows what they cost and save.

    Parameters
    ----------
    compiled_work : int
        With more products than this in all passes, the compiled kernels save more time than they take to load.
    sample_rows : int
        Rows of a sample.
    stratum_rows : int
        A sample takes at least this many rows of each class in each cell; all, if there are fewer.
    sample_entries, sample_part : int and float
        A sample saves more than it costs if there are this many probabilities and it is at most this part of the rows.
    in_memory : int
        Files with up to this many bytes of probabilities are read into memory at once.
    block_entries : int
        Probabilities in a block: some megabytes, enough to keep threads busy but little compared with a gigabyte.
    batch_entries : int
        Probabilities of a file that are decoded and turned from columns into rows at once.
    part_rows : int
        Rows of labels, attributes and weights of a file that are encoded at once.
    spool : int
        Bytes of codes and weights that are kept in memory; beyond, they go to an unnamed temporary file.
    joined_entries : int
        Blocks of this many probabilities on a Dask worker are not joined with others: a run of the kernels on them
        already takes long compared with the cost of a call.
    large_arguments : int
        Arguments of more bytes than this are sent to Dask workers once, as a task of their own, and not with every
        task.
    patience, silence : float
        Seconds of waiting after which a Dask scheduler is asked whether it is alive, and how long it may take to
        answer.
    largest_ratio, standard_errors : float
        Ratios of counted to expected hits are clipped at this factor, because few labels cannot show more; a ratio
        within this many standard errors of 1 counts as 1. Tuned with the search on counted labels, which uses them.
    """

    compiled_work: int = 100_000_000
    sample_rows: int = 50_000
    stratum_rows: int = 20
    sample_entries: int = 50_000_000
    sample_part: float = 0.1
    in_memory: int = 2**28
    block_entries: int = 2**23
    batch_entries: int = 2**22
    part_rows: int = 2**18
    spool: int = 2**28
    joined_entries: int = 2**19
    large_arguments: int = 2**17
    patience: float = 5.0
    silence: float = 15.0
    largest_ratio: float = 2.0
    standard_errors: float = 2.0


TUNED = Settings()


def worth_a_sample(rows: int, classes: int, settings: Settings = TUNED) -> bool:
    """Return whether passes over all rows cost so much that a sample should be solved first.

    Examples
    --------
    >>> worth_a_sample(1_000_000, 100), worth_a_sample(50_000, 1000), worth_a_sample(1_000_000, 2)
    (True, False, False)
    """
    return rows * classes >= settings.sample_entries and settings.sample_part * rows >= settings.sample_rows
