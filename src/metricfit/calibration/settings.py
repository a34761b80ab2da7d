"""The tuned numbers of calibration, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """How calibrations are fitted and chosen.

    Ridges are precisions: a ridge of 4 says that a parameter is expected within 1/2 of no change, and is weighed
    against what the labels say. All numbers were chosen by the log loss of new rows, with
    ``benchmarks/worlds/calibration.py``: 13 data sets with features (digits to CovType, 124 to 80,000 rows) under
    logistic regression, boosted trees, naive Bayes and forests, five of them with groups that the models do not
    see, six sets of stored probabilities with up to 945 classes, and generated ones.

    Attributes
    ----------
    families : tuple of str
        The families to try, beside probabilities as they are.
    folds : int
        Folds of the cross validation.
    errors : float
        How many standard errors of the difference a richer family must gain over a simpler one.
    promised : float
        A family is fitted if Newton's first step promises to gain more log loss than this times what is lost again on
        new rows (Akaike): where probabilities are right, most families need not be fitted.
    floors : tuple of float
        Probabilities are raised to the first before logarithms are taken, or to another one if labels have smaller
        probabilities more often than these predict, as with votes of trees.
    bias_ridge, steepness_ridge : float
        Ridges of class biases, and of the steepness and its changes along a curve.
    vector_ridges, matrix_ridges : tuple of float
        From strong to weak: ridges of the steepness of each class, and of the entries of the matrix.
    cell_ridges : tuple of float
        From strong to weak: ridges of the differences of cells from the common calibration.
    bias_classes, vector_classes, matrix_classes : int
        The largest number of classes for which biases alone, a steepness of each class, and matrices are tried.
    rows_per_entry : float
        The least effective number of rows for each entry of a matrix, or factor of a class, for these to be tried.
    rows_per_parameter : float
        Families with fewer rows for each parameter take several Newton steps in each fold.
    cell_entries : int
        Cells may have calibrations of their own up to this number of cells times (classes + 1) squared.
    curve_rows : int
        The least effective number of rows for curves to be tried. A limit often cuts where few rows lie, and with fewer
        rows a curve that follows chance there costs more than its log loss says.
    entries, choice_entries, choice_rows, least_rows : int
        The most rows times classes for the final fit, the most rows times classes and the most rows for the choice of a
        family, and the rows that both may have whatever the number of classes. More rows are sampled.
    single_precision : int
        Above this many rows times classes exponentials are computed in single precision, which is much faster.
    steepest, flattest : float
        Limits of the steepness: labels that contradict the model make it flat, never upside down.
    refute_level, refute_effect : float
        How often right probabilities may be called refuted, and the smallest change of a class bias or of the steepness
        that is worth a warning.
    """

    families: tuple[str, ...] = ("temperature", "bias", "temperature_bias", "vector", "dirichlet", "curves")
    folds: int = 5
    errors: float = 0.7
    promised: float = 0.5
    floors: tuple[float, ...] = (1e-7, 1e-4, 1e-3, 1e-2)
    bias_ridge: float = 3.0
    steepness_ridge: float = 3.0
    vector_ridges: tuple[float, ...] = (10.0,)
    matrix_ridges: tuple[float, ...] = (300.0, 30.0, 3.0)
    cell_ridges: tuple[float, ...] = (100.0, 10.0)
    bias_classes: int = 40
    vector_classes: int = 150
    matrix_classes: int = 24
    rows_per_entry: float = 8.0
    rows_per_parameter: float = 20.0
    cell_entries: int = 1 << 20
    curve_rows: int = 10_000
    entries: int = 1 << 20
    choice_entries: int = 1 << 19
    choice_rows: int = 20_000
    least_rows: int = 2000
    single_precision: int = 1 << 15
    steepest: float = 20.0
    flattest: float = 0.02
    refute_level: float = 1e-3
    refute_effect: float = 0.1

    def rows(self, n: int) -> int:
        """Return the largest number of rows of n classes that a calibration is fitted to."""
        return max(self.least_rows, self.entries // n)

    def choosing_rows(self, n: int) -> int:
        """Return the largest number of rows of n classes on which a calibration is chosen."""
        return max(self.least_rows, min(self.choice_rows, self.choice_entries // n))

    def only(self, family: str, cells_differ: bool) -> Settings:
        """Return settings that fit one family, beside the one that richer families start from; curves from any of them.

        Examples
        --------
        >>> SETTINGS.only("bias", False).families, SETTINGS.only("vector", False).families
        (('bias',), ('temperature_bias', 'vector'))
        """
        simple = family in ("none", "temperature", "bias")
        some = (family,) if simple else ("temperature_bias", family)
        return replace(
            self,
            families=self.families if family == "curves" else some,
            cell_entries=self.cell_entries if cells_differ else 0,
        )


SETTINGS = Settings()
