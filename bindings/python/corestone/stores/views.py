"""SQL views of stores."""

from __future__ import annotations

import os
from ctypes import byref

from .. import _abi
from .._abi import lib, path_argument
from .._abi.arguments import choice, flag
from .._abi.call import call
from ..model.model import ModelLike, given_model

_DATES = {"text": 0, "unix": 1, "reference": 2}


def views(
    path: str | os.PathLike[str],
    model: ModelLike | str | os.PathLike[str] | None = None,
    *,
    dates: str = "text",
    temporary: bool = True,
) -> str:
    """Returns SQL statements that create views of the SQLite store at a path, with the names of its model.

    There is one view for each entity, and for each relationship with a join table. The call does not change the store.
    Execute the statements with `sqlite3.Connection.executescript`. Temporary views exist until the connection is
    closed. Create permanent views only in copies of the store, because Apple's framework cannot migrate a store with
    views.

    dates         the form of dates: "text" (ISO 8601 in UTC), "unix" (seconds since 1970), "reference" (since 2001)
    """
    given = given_model(model, for_store=path)
    buffer = _abi.Buffer()
    call(
        lib.cst_store_copy_views,
        path_argument(path),
        given._handle if given is not None else None,
        _DATES[choice(dates, "dates", _DATES)],
        flag(temporary, "temporary"),
        byref(buffer),
    )
    return _abi.take_text(buffer)
