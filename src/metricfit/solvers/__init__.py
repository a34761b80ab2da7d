"""Convex programs and their solvers: `lp` (HiGHS), `qp` (Clarabel), `cone` (CVXPY).

Nothing else in the package calls a solver. Whatever goes wrong inside one (no solution, numbers that are not finite,
a panic of compiled code) is one exception, `metricfit.exceptions.UnsolvedError`, raised in
`metricfit.solvers.attempts`.
"""
