"""Makes the modules of scripts/ and bench/ importable, which these tests are about."""

from __future__ import annotations

import sys
from pathlib import Path

for folder in ("bench", "scripts"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / folder))
