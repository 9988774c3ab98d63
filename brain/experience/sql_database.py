"""A database by URL, through SQLAlchemy: PostgreSQL, or SQLite for comparison."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy import URL, Connection, Engine, event, exc

from ..errors import BrainError, StoreError, printable_text
from . import sql_tables
from .experience_limits import SERVER_TIMEOUT_SECONDS
from .server_urls import bad_url_error, describe_url, find_server_url_fault

T = TypeVar("T")

_CREATION_LOCK = 0x62726E78
"""The advisory lock under which tables are created."""
_CREATABLE = (None, 1)
"""Versions that lack tables, and are otherwise the same as the present one."""
_UNAVAILABLE_HINT = (
    "nothing was half written: try again when the server answers, or correct the URL with"
    " `brain config experience`"
)


class SqlDatabase:
    """Transactions on one database; it is connected to when it is needed, and anew if it was lost.

    Methods raise `StoreError`: `experience_unavailable` if the server does not answer in time or
    refuses, `unsupported_version`, `bad_store` for a table of another shape.
    """

    def __init__(self, url: str) -> None:
        self._label = describe_url(url)
        self._engine = _make_engine(url)
        self._lock = threading.Lock()
        self._is_ready = False

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def run(self, action: Callable[[Connection], T]) -> T:
        """Run `action` in a transaction, kept whole or not at all."""
        try:
            self._create_tables_once()
            with self._engine.begin() as connection:
                return action(connection)
        except BrainError:
            raise
        except (exc.OperationalError, exc.InterfaceError, exc.TimeoutError) as error:
            raise self._unavailable_error(error) from error
        except exc.DBAPIError as error:
            if error.connection_invalidated:
                raise self._unavailable_error(error) from error
            raise StoreError(
                f"{self._label} refuses: {_first_line(error)}",
                hint="its tables brain_… must be those that this program makes, and its user must"
                " be allowed to read and write them",
            ) from error

    def _unavailable_error(self, error: exc.SQLAlchemyError) -> StoreError:
        return StoreError(
            f"{self._label} does not answer: {_first_line(error)}",
            code="experience_unavailable",
            hint=_UNAVAILABLE_HINT,
        )

    def _create_tables_once(self) -> None:
        with self._lock:
            if not self._is_ready:
                with self._engine.begin() as connection:
                    _create_tables(connection)
                self._is_ready = True


def _create_tables(connection: Connection) -> None:
    """Create all tables that are not there, in one transaction."""
    version = _read_version(connection)
    if version in _CREATABLE:
        if connection.dialect.name == "postgresql":  # two creators at once would fail
            connection.execute(
                sqlalchemy.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _CREATION_LOCK}
            )
        version = _read_version(connection)
    if version in _CREATABLE:
        sql_tables.metadata.create_all(connection)
        for index in sql_tables.work.indexes:
            index.create(connection, checkfirst=True)
        version = sql_tables.TABLES_VERSION
        connection.execute(sql_tables.versions.delete())
        connection.execute(sql_tables.versions.insert(), {"version": version})
    if version != sql_tables.TABLES_VERSION:
        raise StoreError(
            f"the tables of experience have version {version}, and this program reads"
            f" {sql_tables.TABLES_VERSION}",
            code="unsupported_version",
            hint="another release of brain made them: use that one, or another database",
        )


def _read_version(connection: Connection) -> int | None:
    if not sqlalchemy.inspect(connection).has_table(sql_tables.versions.name):
        return None
    return connection.scalar(sqlalchemy.select(sql_tables.versions.c.version))


def _make_engine(text: str) -> Engine:
    """Return an engine that connects later. Raises `InvalidInput` (`bad_experience_url`)."""
    fault = find_server_url_fault(text)
    if fault:
        raise bad_url_error(f"the URL of experience {fault}")
    try:
        url = sqlalchemy.make_url(text)
    except (exc.ArgumentError, ValueError):
        raise bad_url_error("the URL of experience is malformed") from None
    if url.get_backend_name() == "postgresql":
        return _make_postgres_engine(url.set(drivername="postgresql+psycopg"))
    engine = sqlalchemy.create_engine(url, connect_args={"timeout": SERVER_TIMEOUT_SECONDS})
    event.listen(engine, "connect", _leave_transactions_to_us)
    event.listen(engine, "begin", _begin_for_writing)
    return engine


def _make_postgres_engine(url: URL) -> Engine:
    from .postgres_connection import connect_to_postgres

    args, kwargs = url.get_dialect()().create_connect_args(url)
    return sqlalchemy.create_engine(
        "postgresql+psycopg://",
        creator=lambda: connect_to_postgres(*args, **kwargs),
        pool_pre_ping=True,  # after a restart of the server, the next call connects anew
        pool_size=2,
        max_overflow=14,
        pool_timeout=SERVER_TIMEOUT_SECONDS,
    )


def _leave_transactions_to_us(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _begin_for_writing(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")  # else two that read first could not both write


def _first_line(error: exc.SQLAlchemyError) -> str:
    """Return what the driver says, without the statement and its values."""
    said = str(getattr(error, "orig", None) or error).strip()
    return printable_text(said.splitlines()[0] if said else type(error).__name__)
