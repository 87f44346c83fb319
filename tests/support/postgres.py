"""A PostgreSQL server of its own in a temporary folder, which tests may stop, kill and restart."""

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

PLACES = ("/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin", "/usr/lib/postgresql/17/bin")
FAST = {  # the tests ask what a crash of processes does, not what a power cut does
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "60",
    "log_min_messages": "fatal",
    "max_wal_size": "2GB",
}


def program(name):
    """Find a program of PostgreSQL; None where it is not installed."""
    return shutil.which(name, path=os.pathsep.join([*PLACES, os.environ.get("PATH", "")]))


def _as_owner(command):
    """Run as the user postgres where we are root, which PostgreSQL refuses to be run by."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


def _free_port():
    """Find a port below those of clients: one of them could get hold of it while we restart."""
    draw = random.Random()
    while True:
        port = draw.randrange(15_000, 30_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Server:
    """A server on a port of this machine; `dsn` is its address."""

    def __init__(self, folder, *, durable=False, settings=None):
        self.data, self.run = Path(folder) / "data", Path(folder) / "run"
        self._settings = ({} if durable else FAST) | (settings or {})
        self._process = None
        self.port = _free_port()
        self.dsn = f"postgresql://novarag@127.0.0.1:{self.port}/postgres"

    def make(self):
        self.run.mkdir(parents=True, mode=0o755)
        self.data.mkdir(mode=0o700)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            for folder in (self.data, self.run):
                os.chown(folder, owner.pw_uid, owner.pw_gid)
        command = [program("initdb"), "--no-sync", "-A", "trust", "-U", "novarag", "-D", self.data]
        subprocess.run(
            _as_owner([*map(str, command), "--encoding=UTF8", "--no-locale"]),
            check=True, capture_output=True, timeout=120,
        )  # fmt: skip

    def start(self):
        """Start it, and wait until it takes connections."""
        settings = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self.run,
            **self._settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self.run / "log").open("ab") as log:
            self._process = subprocess.Popen(
                _as_owner([program("postgres"), "-D", str(self.data), *options]),
                stdout=log, stderr=log, cwd="/",
            )  # fmt: skip
        self.wait()

    def wait(self, seconds=60):
        """Wait until the server takes connections."""
        command = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        until = time.monotonic() + seconds
        while subprocess.run(command, check=False).returncode:
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError(f"PostgreSQL did not start: {self._said()}")
            time.sleep(0.05)

    def _said(self):
        return (self.run / "log").read_text("utf-8", "replace")[-2000:]

    @property
    def pid(self):
        return int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])

    @contextmanager
    def hung(self, *backends):
        """Stop the processes of backends, and that which takes connections, without ending them."""
        processes = [self.pid, *backends]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in (*processes, self._process.pid):  # who started it stops with it
                os.kill(process, signal.SIGCONT)

    def stop(self, how=signal.SIGINT):
        """End it: SIGINT rolls back what runs, SIGQUIT is a crash."""
        if self._process is not None:
            os.kill(self.pid, how)
            self._process.wait(60)
            self._process = None

    def restart(self, how=signal.SIGINT):
        self.stop(how)
        self.start()


@contextmanager
def server(**more):
    """Run a server in a folder of its own: pytest's folders are closed to other users."""
    with TemporaryDirectory(prefix="novarag-postgres-") as folder:
        Path(folder).chmod(0o755)
        made = Server(folder, **more)
        made.make()
        made.start()
        try:
            yield made
        finally:
            made.stop(signal.SIGQUIT)
