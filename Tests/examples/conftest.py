"""Where the tests find modules: of examples/stores and examples/history, and those that the package's tests share."""

from __future__ import annotations

import sys

from programs import ROOT

sys.path[:0] = [str(ROOT / "examples" / "stores"), str(ROOT / "bindings" / "python" / "tests")]
sys.path.append(str(ROOT / "examples" / "history"))
