"""Prints the folder of Python packages below a prefix, for this interpreter. Usage: python_folder.py PREFIX"""

from __future__ import annotations

import sys

prefix = sys.argv[1].rstrip("/")
folders = [each for each in sys.path if each.startswith(f"{prefix}/") and each.endswith(("-packages",))]
# An interpreter of another prefix does not import from the folder of this default. To install for such an interpreter,
# set PYTHONDIR to a folder from which it imports.
print(folders[0] if folders else f"{prefix}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")
