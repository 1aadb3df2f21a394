"""What was read, as data frames of pandas, which is imported only when somebody asks for one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mosaic.errors import MosaicError

if TYPE_CHECKING:
    import pandas


def frame_of(columns: Mapping[str, Any]) -> pandas.DataFrame:
    """Return a data frame of *columns*.

    Raises:
        MosaicError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise MosaicError("data frames need pandas: pip install 'mosaic-sdk[pandas]'") from error
    return pandas.DataFrame(columns)


def frame_of_rows(rows: Iterable[Any], kind: type[Any]) -> pandas.DataFrame:
    """Return a data frame with a row for each of *rows* and a column for each field of *kind*, also when empty.

    Raises:
        MosaicError: pandas is not installed.
    """
    told = list(rows)
    names = [field.name for field in dataclasses.fields(kind)]
    return frame_of({name: [getattr(row, name) for row in told] for name in names})
