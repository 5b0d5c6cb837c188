"""A PostgreSQL server for tests: a throw-away cluster on loopback, which goes with the tests, however they end.

The server's programs refuse to run as root: then they run as another user of this machine. All processes of a test run
share one cluster, since making one takes seconds; a process beside them (``python -m tests.postgres FOLDER``) stops it
and removes its files when the last of them has closed its connection to it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from promptpex.codecs.files.file_lock import lock

ROOT = Path(__file__).resolve().parents[1]
DEBIAN = Path("/usr/lib/postgresql")
USERS = ("postgres", "nobody")
"""Who runs the server where the tests run as root."""
SUPERUSER, GUEST, PASSWORD = "promptpex", "guest", "open-sesame-4711"
"""Roles of the cluster: the guest needs a password and may do nothing yet."""
WAIT_S = 300


def missing() -> str | None:
    """Why there can be no server on this machine; None if there can."""
    if os.name != "posix":
        return "PostgreSQL is tested on POSIX systems alone"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    if programs() is None:
        return "PostgreSQL's server programs are not installed (Debian: apt install postgresql)"
    if os.geteuid() == 0 and _user() is None:
        return f"PostgreSQL refuses to run as root, and there is no user of {' or '.join(USERS)}"
    return None


def programs() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


def _user() -> int | None:
    import pwd

    with contextlib.suppress(KeyError):
        return pwd.getpwnam(USERS[0]).pw_uid
    with contextlib.suppress(KeyError):
        return pwd.getpwnam(USERS[1]).pw_uid
    return None


def _folder(*, in_memory: bool = True) -> Path:
    """A new folder that the server's user can reach: pytest's own are closed to others."""
    places = (*(["/dev/shm"] if in_memory else []), "/tmp", tempfile.gettempdir())
    place = next(place for place in places if os.access(place, os.W_OK))
    folder = Path(tempfile.mkdtemp(prefix="promptpex-pg-", dir=place))
    user = _user() if os.geteuid() == 0 else None
    if user is not None:
        os.chown(folder, user, -1)
    folder.chmod(0o711)
    return folder


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        assert isinstance(port, int)
        return port


@dataclass
class Cluster:
    """A cluster with a server.

    Attributes:
        folder: its own, which holds the data, the log and the socket.
        port: on 127.0.0.1, and of the socket's name.
        durable: whether it syncs to the disk.
        options: further settings of the server.
    """

    folder: Path = field(default_factory=_folder)
    port: int = field(default_factory=free_port)
    durable: bool = False
    options: dict[str, str] = field(default_factory=dict)

    def make(self) -> None:
        """Makes the cluster's files, and starts its server."""
        self._do("initdb", "-D", "data", "-N", "-A", "trust", "-U", SUPERUSER, "-E", "UTF8", "--locale=C")
        rules = (self.folder / "data" / "pg_hba.conf").read_text(encoding="utf-8")
        guest = f"host all {GUEST} 127.0.0.1/32 scram-sha-256\nlocal all {GUEST} scram-sha-256\n"
        (self.folder / "data" / "pg_hba.conf").write_text(guest + rules, encoding="utf-8")
        self.start()
        self.execute(f"CREATE ROLE {GUEST} LOGIN PASSWORD '{PASSWORD}'")

    def secure(self) -> None:
        """Gives the server a certificate for ``localhost``, which it signs itself: ``folder/server.crt``."""
        key = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        names = ("-addext", "subjectAltName=DNS:localhost", "-keyout", "server.key", "-out", "server.crt")
        program = shutil.which("openssl")
        assert program is not None
        self._run([program, *key.split(), *names])
        for name, value in (("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")):
            self.execute(f"ALTER SYSTEM SET {name} = '{self.folder / value}'")
        self.execute("ALTER SYSTEM SET ssl = on")
        self.execute("SELECT pg_reload_conf()")

    def start(self) -> None:
        """Starts the server and waits until it lets people in."""
        given = {
            "listen_addresses": "127.0.0.1,::1",
            "port": str(self.port),
            "unix_socket_directories": str(self.folder),
            "fsync": "on" if self.durable else "off",
            "max_connections": "60",
            "shared_buffers": "32MB",
            "deadlock_timeout": "200ms",
            **self.options,
        }
        options = " ".join(f"-c {name}='{value}'" for name, value in given.items())
        self._do("pg_ctl", "-D", "data", "-w", "-t", str(WAIT_S), "-l", "log", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stops the server: ``fast`` cuts connections in good order, ``immediate`` as a crash does."""
        self._do("pg_ctl", "-D", "data", "-w", "-t", str(WAIT_S), "-m", mode, "stop")

    def remove(self) -> None:
        """Stops the server, if it runs, and removes all files."""
        with contextlib.suppress(subprocess.CalledProcessError):
            self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

    def address(self, **more: str) -> str:
        """The address of a store of its own, by TCP."""
        values = {"schema": f"s{uuid.uuid4().hex[:12]}", **more}
        query = "&".join(f"{name}={value}" for name, value in values.items())
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/postgres?{query}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """What a statement of the superuser gives."""
        import psycopg

        place = f"host={self.folder} port={self.port} user={SUPERUSER} dbname={database}"
        with psycopg.connect(place, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _do(self, program: str, *arguments: str) -> None:
        folder = programs()
        assert folder is not None
        self._run([str(folder / program), *arguments])

    def _run(self, command: list[str]) -> None:
        """Runs a program in the cluster's folder, as the server's user."""
        user = _user() if os.geteuid() == 0 else None
        subprocess.run(
            command,
            cwd=self.folder,
            user=user,
            extra_groups=[] if user is not None else None,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


@contextlib.contextmanager
def own_cluster(*, durable: bool = False, **options: str) -> Iterator[Cluster]:
    """A cluster for one test, which may stop and start it."""
    cluster = Cluster(_folder(in_memory=not durable), durable=durable, options=options)
    try:
        cluster.make()
        yield cluster
    finally:
        cluster.remove()


@contextlib.contextmanager
def shared_cluster() -> Iterator[Cluster]:
    """The cluster of this test run, made by the process that needs it first."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", f"{os.getpid()}-{uuid.uuid4().hex}")
    note = Path(tempfile.gettempdir(), f"promptpex-pg-{run}")
    handle = os.open(note, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        lock(handle, max_wait_s=WAIT_S)
        folder, connection = _joined(os.read(handle, 1000).decode())
        if connection is None:
            folder, connection = _supervised(note)
            os.ftruncate(handle, 0)
            os.pwrite(handle, str(folder).encode(), 0)
    finally:
        os.close(handle)
    with connection:
        yield Cluster(folder, int((folder / "port").read_text()))


def _joined(folder: str) -> tuple[Path, socket.socket | None]:
    """A connection to the supervisor of a cluster, which keeps it alive; None where there is none."""
    if folder:
        with contextlib.suppress(OSError):
            return Path(folder), _connection(Path(folder))
    return Path(), None


def _connection(folder: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(str(folder / "users"))
        assert connection.recv(1) == b"+"
    except BaseException:
        connection.close()
        raise
    return connection


def _supervised(note: Path) -> tuple[Path, socket.socket]:
    """A new cluster with a supervisor."""
    folder = _folder()
    subprocess.Popen(
        [sys.executable, "-m", "tests.postgres", str(folder), str(note)],
        cwd=ROOT,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ends = time.monotonic() + WAIT_S
    while time.monotonic() < ends:
        with contextlib.suppress(OSError):
            return folder, _connection(folder)
        time.sleep(0.05)
    raise AssertionError(f"the PostgreSQL server did not start: see {folder}/log")


class Supervisor:
    """Keeps a cluster until the last of its users has gone."""

    def __init__(self, cluster: Cluster, note: Path) -> None:
        self._cluster = cluster
        self._note = note
        self._users = 0
        self._turn = threading.Lock()
        self._listener = socket.socket(socket.AF_UNIX)
        self._left = threading.Event()

    def serve(self) -> None:
        """Makes the cluster, serves it, and removes it."""
        try:
            self._cluster.make()
            (self._cluster.folder / "port").write_text(str(self._cluster.port))
            self._listener.bind(str(self._cluster.folder / "users"))
            self._listener.listen(64)
            threading.Thread(target=self._accept, daemon=True).start()
            self._left.wait(WAIT_S)  # the first user has to come
            while self._users:
                self._left.wait()
                self._left.clear()
        finally:
            self._cluster.remove()
            self._note.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with self._turn:
                self._users += 1
            connection.sendall(b"+")
            self._left.set()
            threading.Thread(target=self._watch, args=(connection,), daemon=True).start()

    def _watch(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(1)  # nothing comes: it ends with its process
        with self._turn:
            self._users -= 1
        self._left.set()


if __name__ == "__main__":
    Supervisor(Cluster(Path(sys.argv[1])), Path(sys.argv[2])).serve()
