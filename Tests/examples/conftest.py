"""Where the tests find the modules of examples/stores, and those that the tests of the package share."""

from __future__ import annotations

import sys

from programs import ROOT

sys.path[:0] = [str(ROOT / "examples" / "stores"), str(ROOT / "bindings" / "python" / "tests")]
