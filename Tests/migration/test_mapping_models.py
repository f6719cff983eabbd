"""A short run of mapping_models.py; `make check-mapping` has more and larger stores."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from checkout import FIXTURES


@pytest.mark.skipif(not FIXTURES.is_dir(), reason="the mapping models of other programs are not there")
def test_mapping_models_of_other_programs_run() -> None:
    command = [sys.executable, str(Path(__file__).with_name("mapping_models.py")), "--rounds", "1", "--count", "20"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
