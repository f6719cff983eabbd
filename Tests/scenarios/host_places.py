"""The two stores of examples/stores, and the service that one of them needs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2] / "examples" / "stores"))
from json_folder import JSONFolder
from rest_store import RESTStore
from server import served

__all__ = ["HOST_TYPES", "JSONFolder", "RESTStore", "served"]
HOST_TYPES = ("JSONFolder", "REST")
