"""Why a number is not reached: for each bar, by a part of its name, the cause. Only those of missed bars are shown."""

from __future__ import annotations

CAUSES: dict[str, str] = {}
