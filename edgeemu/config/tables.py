"""From a TOML document to checked values, by the table of keys. It knows no file and no project."""

from typing import Any

from edgeemu.config.keys import (
    ANY_NAME,
    KEYS_BY_PATH,
    LIST_TABLES,
    ONE_OR_MANY_TABLES,
    SECRET_TABLE,
    TABLES,
    Key,
    join,
)
from edgeemu.config.kinds import RefusedError
from edgeemu.config.places import Places, ValuePath, nearest, show
from edgeemu.errors import Code, EdgeemuError


def read_document(document: dict[str, Any], places: Places) -> dict[str, Any]:
    """The values of a document in the shape of `edgeemu.toml`, each one read by its kind.

    Raises:
        EdgeemuError: `E_CONFIG_UNKNOWN_KEY` or `E_CONFIG_VALUE`, for the first that is wrong.
    """
    return _read_table(document, "", (), places)


def _read_table(given: Any, table: str, path: ValuePath, places: Places) -> dict[str, Any]:
    if not isinstance(given, dict):
        name = written_name(path)
        raise places.value_error(
            path,
            given,
            why=f"`{name}` is a table",
            fix=f"write [{name}] on a line of its own, and its keys below it",
        )
    result: dict[str, Any] = {}
    for name, value in given.items():
        here = (*path, name)
        inner = join(table, name)
        if inner not in KEYS_BY_PATH and inner not in TABLES:
            inner = join(table, ANY_NAME)
        if key := KEYS_BY_PATH.get(inner):
            result[name] = _read_key(key, value, here, places)
        elif inner in LIST_TABLES or (inner in ONE_OR_MANY_TABLES and isinstance(value, list)):
            result[name] = _read_list(value, inner, here, places)
        elif inner in TABLES:
            result[name] = _read_table(value, inner, here, places)
        else:
            raise _unknown_key(name, table, here, places)
    return result


def _read_list(given: Any, table: str, path: ValuePath, places: Places) -> list[dict[str, Any]]:
    if not isinstance(given, list):
        raise places.value_error(
            path,
            given,
            why=f"`{table}` is a list of tables",
            fix=f"write [[{table}]] with two brackets on each side, once for each entry",
        )
    return [_read_table(item, table, (*path, index), places) for index, item in enumerate(given)]


def _read_key(key: Key, given: Any, path: ValuePath, places: Places) -> Any:
    try:
        return key.kind.read(given)
    except RefusedError as refused:
        reason = f" ({refused.reason})" if refused.reason else ""
        near = None
        if isinstance(given, str) and key.kind.expected.startswith("one of "):
            near = nearest(given, [word.strip('"') for word in key.kind.expected[7:].split(", ")])
        instead = refused.instead or (show(near) if near else None)
        if instead is None or key.table == SECRET_TABLE:
            instead = key.example
        raise places.value_error(
            path,
            given,
            why=f"it should be {key.kind.expected}{reason}",
            fix=f"write it like `{path[-1]} = {instead}`",
        ) from None


def _unknown_key(name: str, table: str, path: ValuePath, places: Places) -> EdgeemuError:
    known = TABLES[table]
    title = written_name(path[:-1])
    inside = f"table [{title}]" if title else "at the top of the file"
    near = nearest(name, known)
    home = None if near else _home(name)
    if near:
        fix = f"rename it to `{near}`, or delete it"
    elif home is not None:
        fix = f"move it below [{home}]" if home else "move it above the first [table]"
    else:
        fix = "delete it, or use one of the known keys"
    return EdgeemuError(
        Code.CONFIG_UNKNOWN_KEY,
        what=f"unknown key `{name}` in {places.file}"
        if not places.is_overridden(path)
        else f"unknown key `{name}` in an override",
        why=f"{places.where(path)}, {inside}; known keys are "
        + ", ".join(f"`{word}`" for word in sorted(known)),
        fix=fix,
    )


def _home(name: str) -> str | None:
    """The table in which a key of this name would be right, if there is exactly one."""
    homes = {key.table for key in KEYS_BY_PATH.values() if key.name == name}
    return homes.pop() if len(homes) == 1 else None


def written_name(path: ValuePath) -> str:
    """The name of a table as its header writes it, without indices."""
    return ".".join(part for part in path if isinstance(part, str))
