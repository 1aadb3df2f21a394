"""Reading a worker's configuration file, in either of its two forms.

Direct: the file is the configuration. Nested: it is a whole run request, and the configuration
stands under ``metadata.worker.config``.

The errors are ``BadInput`` (one text, all faults, exit code 2) and also the built-in exceptions
that callers of upstream's loader know: ``FileNotFoundError``, ``json.JSONDecodeError``, ``TypeError``,
``KeyError``; all but the first and ``ConfigClassInvalid`` are ``ValueError`` too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from mosaic.errors import BadInput
from mosaic.worker.schema import config_schema
from mosaic.worker.upstream_names import own_names
from mosaic.worker.validation import validate_config

ConfigT = TypeVar("ConfigT")

#: Whoever launches a worker may add these to any configuration, known to it or not.
LAUNCHER_FIELDS = frozenset({"run_id", "worker_id", "agent_id", "seed"})


class ConfigFileMissing(BadInput, FileNotFoundError):
    """There is no configuration file at that path."""


class ConfigInvalid(BadInput, ValueError):
    """The configuration cannot be used as it is."""


class ConfigFileUnreadable(ConfigInvalid, OSError):
    """The configuration file exists but cannot be read."""


class ConfigTypeInvalid(ConfigInvalid, TypeError):
    """The configuration has a value of a wrong type."""


class ConfigKeyMissing(ConfigInvalid, KeyError):
    """The configuration lacks a field."""

    def __str__(self) -> str:
        # A KeyError would show the text in quotes, with its newlines escaped.
        return str(self.args[0])


class ConfigNotJson(ConfigInvalid, json.JSONDecodeError):
    """The configuration file is not JSON."""

    def __init__(self, source: str, error: json.JSONDecodeError) -> None:
        """Keep where in the text reading stopped, as ``JSONDecodeError`` does."""
        self.source = source
        self.faults = (f"is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",)
        self.msg, self.doc, self.pos = error.msg, error.doc, error.pos
        self.lineno, self.colno = error.lineno, error.colno
        ValueError.__init__(self, f"{source}: {self.faults[0]}")


class ConfigClassInvalid(BadInput, TypeError):
    """The class given for configurations cannot build one."""


def extract_worker_config(payload: dict[str, Any]) -> dict[str, Any]:
    """Return ``metadata.worker.config`` of *payload* where it has one, else *payload* itself."""
    metadata = payload.get("metadata") if isinstance(payload, Mapping) else None
    section = metadata.get("worker") if isinstance(metadata, Mapping) else None
    if isinstance(section, Mapping) and "config" in section:
        nested: dict[str, Any] = section["config"]
        return nested
    return payload


def load_worker_config_from_file(path: Path, config_class: type[ConfigT]) -> ConfigT:
    """Read the configuration at *path*, direct or nested, by ``config_class.from_dict``.

    What ``from_dict`` accepts is accepted; the schema is asked only to explain what it refused.

    Raises:
        ConfigFileMissing: there is no such file (a ``FileNotFoundError``).
        ConfigNotJson: it is not JSON (a ``json.JSONDecodeError``).
        ConfigClassInvalid: *config_class* has no ``from_dict`` (a ``TypeError``).
        ConfigInvalid: ``from_dict`` refused it (a ``ValueError``, and of the type it raised).

    """
    data = read_config_data(path)
    return _build(data, config_class, str(path), ())


def load_strictly(path: Path, config_class: type[ConfigT], overrides: Mapping[str, Any] | None = None) -> ConfigT:
    """Read the configuration at *path* and refuse what its schema refuses, unknown fields too.

    Fields that launchers add (`LAUNCHER_FIELDS`) are always allowed, and so are the names that upstream's forms
    have for a field (`OTHER_NAMES`). *overrides* replace fields of the file. Raises as
    `load_worker_config_from_file` does.
    """
    told = {**read_config_data(path), **(overrides or {})}
    by_own_names = getattr(config_class, "by_own_names", None)
    data = by_own_names(told) if by_own_names else own_names(told, config_schema(config_class).get("properties", {}))
    return _build(data, config_class, str(path), schema_faults(config_class, data))


def read_config_data(path: Path) -> dict[str, Any]:
    """Return the configuration at *path* as a dict, before any class has seen it.

    Raises:
        ConfigFileMissing, ConfigFileUnreadable, ConfigNotJson, ConfigInvalid: as above.

    """
    payload = _read_json(Path(path))
    data: object = extract_worker_config(payload)
    if not isinstance(data, Mapping):
        where = "metadata.worker.config" if data is not payload else "the configuration"
        raise ConfigTypeInvalid(str(path), [f"{where} must be an object, is {type(data).__name__}"])
    return dict(data)


def schema_faults(config_class: type, data: Mapping[str, Any]) -> list[str]:
    """Return what the schema of *config_class* has against *data*, launcher fields apart."""
    schema = config_schema(config_class)
    known = schema.get("properties", {})
    judged = {name: value for name, value in data.items() if name in known or name not in LAUNCHER_FIELDS}
    return _nesting_faults(data, known) or validate_config(schema, judged)


def _nesting_faults(data: Mapping[str, Any], known: Mapping[str, Any]) -> list[str]:
    if "metadata" in known or not isinstance(data.get("metadata"), Mapping):
        return []
    if "worker" not in data["metadata"]:
        return ["metadata.worker is missing: the nested form is {'metadata': {'worker': {'config': {...}}}}"]
    return ["metadata.worker.config is missing: the nested form is {'metadata': {'worker': {'config': {...}}}}"]


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ConfigFileMissing(str(path), ["there is no such file"]) from error
    except OSError as error:
        raise ConfigFileUnreadable(str(path), [f"cannot be read: {error.strerror}"]) from error
    except json.JSONDecodeError as error:
        raise ConfigNotJson(str(path), error) from error
    except UnicodeDecodeError as error:
        raise ConfigInvalid(str(path), [f"is not UTF-8 text: {error.reason} at byte {error.start}"]) from error
    except RecursionError as error:
        raise ConfigInvalid(str(path), ["is nested too deeply"]) from error
    except ValueError as error:
        # An integer of thousands of digits, or a path that no file can have.
        raise ConfigInvalid(str(path), [f"cannot be read: {error}"]) from error


def _build(data: dict[str, Any], config_class: type[ConfigT], source: str, faults: list[str] | tuple[()]) -> ConfigT:
    from_dict = getattr(config_class, "from_dict", None)
    if from_dict is None:
        raise ConfigClassInvalid(source, [f"{config_class.__name__} must implement from_dict() class method"])
    try:
        config: ConfigT = from_dict(data)
    except Exception as error:
        raise _explained(error, data, config_class, source, faults) from error
    if faults:
        raise ConfigInvalid(source, faults)
    return config


def _explained(
    error: Exception, data: Mapping[str, Any], config_class: type, source: str, faults: list[str] | tuple[()]
) -> ConfigInvalid:
    """Say all that is wrong: what the schema sees, then what only the worker's own check sees."""
    known = list(faults) or schema_faults(config_class, data)
    # A missing or mistyped field makes from_dict stumble over what the schema said better.
    if not known or (isinstance(error, ValueError) and not isinstance(error, BadInput)):
        own = _words(error)
        known += [] if any(own in fault or fault in own for fault in known) else [own]
    for builtin, ours in ((TypeError, ConfigTypeInvalid), (KeyError, ConfigKeyMissing)):
        if isinstance(error, builtin):
            return ours(source, known)
    return ConfigInvalid(source, known)


def _words(error: Exception) -> str:
    if isinstance(error, KeyError) and error.args:
        return f"{error.args[0]}: is required"
    return str(error) or type(error).__name__
