"""`.ci/run`: what it installs where Chromium or PostgreSQL's server is missing, by an apt-get that only writes down."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("bash", "dirname", "grep", "mkdir", "mktemp", "rm", "tail", "tee")
CLOSING = "1 passed in 0.10s"

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it is for Debian")


@dataclass(frozen=True, slots=True)
class Machine:
    """A folder that stands for a machine: its programs, its /etc and a checkout with a test suite of one test."""

    folder: Path

    def program(self, name: str, *lines: str) -> None:
        path = self.folder / "bin" / name
        path.write_text("\n".join(("#!/bin/bash", *lines, "")), encoding="utf-8")
        path.chmod(0o755)

    def run(self) -> subprocess.CompletedProcess[str]:
        """Runs the script, with the machine's own folders in the place of the system's."""
        return subprocess.run(
            [str(self.folder / "bin/bash"), str(self.folder / "checkout/.ci/run")],
            env={"PATH": str(self.folder / "bin"), "TMPDIR": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def asked(self) -> list[str]:
        """What apt-get was asked for."""
        file = self.folder / "apt.log"
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    for name in ("bin", "checkout/.ci", "checkout/scripts", "checkout/tests"):
        (tmp_path / name).mkdir(parents=True)
    for tool in TOOLS:
        (tmp_path / "bin" / tool).symlink_to(shutil.which(tool) or tool)
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    for folder in ("/usr/lib/postgresql", "/etc/postgresql-common"):
        assert folder in script
        script = script.replace(folder, f"{tmp_path}{folder}")
    (tmp_path / "checkout/.ci/run").write_text(script, encoding="utf-8")
    (tmp_path / "checkout/scripts/test").symlink_to(tmp_path / "bin/tests")
    made = Machine(tmp_path)
    made.program("tests", f"echo '{CLOSING}'", "exit 7")
    config = f"$(<{tmp_path}/etc/postgresql-common/createcluster.conf)"
    made.program("apt-get", f'echo "$* [$DEBIAN_FRONTEND] [{config}]" >>{tmp_path}/apt.log')
    return made


def test_the_server_is_installed_without_a_cluster_of_its_own(machine: Machine) -> None:
    done = machine.run()
    assert done.returncode == 7, "the code is that of the tests"
    assert done.stdout.splitlines()[-1] == CLOSING
    assert done.stderr == ""
    settings = "[noninteractive] [create_main_cluster = false]"
    assert machine.asked == [
        f"update -qq {settings}",
        f"install -y -qq --no-install-recommends -o Dpkg::Options::=--force-confold postgresql {settings}",
    ]


@pytest.mark.parametrize("why", ["apt fails", "no rights"])
def test_where_it_cannot_be_installed_the_tests_run_all_the_same(machine: Machine, why: str) -> None:
    machine.program("apt-get", "exit 100")
    if why == "no rights":
        (machine.folder / "etc").write_text("nothing can be made in here", encoding="utf-8")
    done = machine.run()
    assert "postgresql could not be installed; the tests that need it are skipped" in done.stdout
    assert (done.returncode, done.stdout.splitlines()[-1]) == (7, CLOSING)


@pytest.mark.parametrize("works", [True, False])
def test_chromium_is_installed_where_tests_drive_it(machine: Machine, works: bool) -> None:
    (machine.folder / "checkout/tests/test_page.py").write_text("@pytest.mark.browser\n", encoding="utf-8")
    machine.program("initdb", "exit 0")
    machine.program("apt-get", f'echo "$*" >>{machine.folder}/apt.log', f"exit {0 if works else 100}")
    done = machine.run()
    missing = "chromium could not be installed; the tests that need it are skipped"
    assert (done.returncode, missing in done.stdout) == (7, not works)
    installing = ["install -y -qq --no-install-recommends chromium"] if works else []
    assert machine.asked == ["update -qq", *installing]


@pytest.mark.parametrize("where", ["bin", "usr/lib/postgresql/15/bin"])
def test_a_server_that_is_there_is_used(machine: Machine, where: str) -> None:
    (machine.folder / where).mkdir(parents=True, exist_ok=True)
    machine.program("initdb", "exit 0")
    shutil.copy(machine.folder / "bin/initdb", machine.folder / "initdb")
    (machine.folder / "bin/initdb").unlink()
    shutil.move(machine.folder / "initdb", machine.folder / where / "initdb")
    assert machine.run().returncode == 7
    assert machine.asked == []
