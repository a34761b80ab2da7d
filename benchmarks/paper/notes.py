"""Why a number is not reached: one sentence for each bar that is missed."""

from __future__ import annotations

CAUSES: dict[str, str] = {}
