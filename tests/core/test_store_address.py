"""Addresses of stores: what libpq reads in them, and what is refused without showing anything of it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptpex.core.errors import ConfigError
from promptpex.core.store_address import NO_PASSWORD, is_address, parse_address, server_at

GOOD = [
    "postgresql://",
    "postgres://host",
    "postgresql://user@host:5433/db?sslmode=verify-full&sslrootcert=/etc/ca.pem",
    "postgresql://host/db%20one",
    "postgresql://[::1]:5432/db",
    "postgresql://[fe80::1%25eth0]/db",
    "postgresql://h1:1,h2:2/db?target_session_attrs=read-write",
    "postgresql://%2Frun%2Fpostgresql/db",
    "postgresql:///db?host=/run/postgresql&port=5433",
    "postgresql://?service=team",
    "postgresql://người@máy/dữ%20liệu",
    "postgresql://a%40b@host/d%2Fb",
    "postgresql://host/db?options=-c%20statement_timeout%3D5s",
    "postgresql://host/?application_name=a+b",
    "postgresql://host/db?ssl=true",
]


@pytest.mark.parametrize("address", GOOD)
def test_an_address_means_what_libpq_takes_it_for(address: str) -> None:
    conninfo = pytest.importorskip("psycopg.conninfo")
    assert is_address(address)
    assert parse_address(address).parameters == conninfo.conninfo_to_dict(address)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://user:hunter2@host/db",
        "postgresql://user:@host/db",
        "postgresql://user%3Ahunter2@host/db",
        "postgresql://user:hunt/er2@host/db",
        "postgresql://user:hunt?er2@host/db",
        "postgresql://user:hunt@er2@host/db",
        "postgresql://:hunter2@host",
        "postgresql://host/db?password=hunter2",
        "postgresql://host/db?PASSWORD=hunter2",
        "postgresql://host/db?sslpassword=hunter2",
        "postgresql://host/db?user=x&pass%77ord=hunter2",
        "postgresql://host/db?oauth_client_secret=hunter2",
        "postgresql://host/db?scram_client_key=hunter2",
    ],
)
def test_no_password_stands_in_an_address_or_in_what_is_told_of_it(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        server_at(address)
    assert "hunt" not in str(caught.value)
    assert "er2" not in str(caught.value)
    if "%77" not in address:
        assert str(caught.value) == NO_PASSWORD


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("mysql://host/db", "begins with postgresql://"),
        ("POSTGRESQL://host/db", "begins with postgresql://"),
        ("service=team", "is a URL"),
        ("host=db.example dbname=x", "is a URL"),
        ("postgresql://host:port/db", "port that is not a number"),
        ("postgresql://host:70000/db", "port that is not a number"),
        ("postgresql://host:٥/db", "port that is not a number"),
        ("postgresql://::1/db", "without brackets"),
        ("postgresql://[host]/db", "without an IPv6 address"),
        ("postgresql://[::1/db", "without an IPv6 address"),
        ("postgresql://host/a/b", "in the database's name"),
        ("postgresql://host/db?sslmod=require", r"not known \(sslmod\)"),
        ("postgresql://host/db?sslmode", "not known"),
        ("postgresql://host/db?port=1&port=2", "gives port twice"),
        ("postgresql://host/db?host=other", "gives host twice"),
        ("postgresql://host/%zz", "followed by two digits"),
        ("postgresql://host/%ff", "not UTF-8"),
        ("postgresql://host/%00", "control character"),
        ("postgresql://host/a b", "blank"),
        ("postgresql://host/\u202edb", "invisible character"),
        ("postgresql://host/\ud800", "invisible character"),
        ("postgresql://host/db?schema=", "is not a name that a store's schema can have"),
        ("postgresql://host/db?schema=pg_catalog", "is not a name that a store's schema can have"),
        ("postgresql://host/db?schema=public", "is not a name that a store's schema can have"),
        ("postgresql://host/db?schema=" + "ă" * 32, "is not a name that a store's schema can have"),
    ],
)
def test_what_cannot_be_used_is_told_in_one_sentence(address: str, why: str) -> None:
    assert is_address(address)
    with pytest.raises(ConfigError, match=why):
        server_at(address)


@pytest.mark.parametrize(
    "location",
    [
        "postgresql:/me:hunter2@host/db",
        "postgresql:me:hunter2@host/db",
        " postgresql://me:hunter2@host/db",
        "'postgresql://me:hunter2@host/db'",
        "jdbc:postgresql://me:hunter2@host/db",
        "pgsql:host=db;password=hunter2",
        "me:hunter2@host:5432/db",
    ],
)
def test_a_misspelt_address_does_not_become_a_file(location: str) -> None:
    assert is_address(location)
    with pytest.raises(ConfigError, match="is a URL") as caught:
        server_at(location)
    assert "hunter" not in str(caught.value)


@pytest.mark.parametrize(
    "path",
    [
        "runs/me:x@y.db",
        "postgres/store.db",
        "postgresql.db",
        "x@y.db",
        ".promptpex/store.db",
        "/far/store.db",
        "C:\\store.db",
        "C:/store.db",
        "a=b",
        "s.db",
    ],
)
def test_a_path_is_no_address(path: str) -> None:
    assert not is_address(path)


@given(st.text(max_size=60))
def test_any_text_is_an_address_or_one_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert parse_address(f"postgresql://{text}").text
