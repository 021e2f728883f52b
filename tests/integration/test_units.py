"""Checks the unit files with systemd, without starting anything."""

import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, PATIENCE

SYSTEMD = pathlib.Path(__file__).resolve().parents[2] / "systemd"

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")


@pytest.fixture
def units(tmp_path):
    """Writes the instance `front` of every unit, which runs the built program."""
    for unit in [*SYSTEMD.glob("*.service"), *SYSTEMD.glob("*.socket")]:
        if unit.stem.rstrip("@") in ("fftd-view", "fftd-mqtt") and not (
                BUILD / unit.stem.rstrip("@")).exists():
            continue
        text = unit.read_text().replace("/usr/bin/fftd", str(BUILD / "fftd"))
        (tmp_path / unit.name.replace("@.", "@front.")).write_text(text)
    return tmp_path


def analyze(*arguments, folder):
    return subprocess.run(["systemd-analyze", *arguments], cwd=folder, capture_output=True,
                          text=True, timeout=PATIENCE, check=False,
                          env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
                               "SYSTEMD_UNIT_PATH": f"{folder}:", "SYSTEMD_COLORS": "0"})


def test_systemd_has_no_complaint(units):
    names = [f"./{unit.name}" for unit in units.iterdir()]
    assert len(names) == (7 + 2 * (BUILD / "fftd-view").exists()
                          + (BUILD / "fftd-mqtt").exists())
    done = analyze("verify", "--man=no", *names, folder=units)
    complaints = [line for line in done.stderr.splitlines() if "fftd" in line]
    assert done.returncode == 0 and not complaints, done.stderr


def test_systemd_has_no_complaint_about_a_users_unit(tmp_path):
    if not (BUILD / "fftd-pipewire").exists():
        pytest.skip("fftd-pipewire was not built: libpipewire-0.3-dev is not installed")
    text = (SYSTEMD / "user/fftd-pipewire@.service").read_text()
    unit = tmp_path / "fftd-pipewire@front.service"
    unit.write_text(text.replace("/usr/bin/fftd", str(BUILD / "fftd")))
    done = subprocess.run(["systemd-analyze", "--user", "verify", "--man=no", unit],
                          capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={"PATH": "/usr/bin:/bin", "SYSTEMD_COLORS": "0",
                               "HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path)})
    complaints = [line for line in done.stderr.splitlines() if "fftd" in line]
    assert done.returncode == 0 and not complaints, done.stderr


@pytest.mark.parametrize("version, is_there", [("252", False), ("252.39", False), ("253", True),
                                               ("257~rc2", True)])
def test_reload_is_waited_for_where_systemd_can(tmp_path, version, is_there):
    subprocess.run(["make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr",
                    f"BUILD={BUILD}", f"SYSTEMD_VERSION={version}"], check=True, timeout=PATIENCE,
                   cwd=SYSTEMD.parent, capture_output=True)
    assert list(tmp_path.glob("usr/lib/python3.*/dist-packages/fftd.py"))
    element = "gstreamer/libgstfftd.so"
    assert (tmp_path / "usr/lib/gstreamer-1.0/libgstfftd.so").exists() == (BUILD / element).exists()
    units = tmp_path / "usr/lib/systemd/system"
    assert (units / "fftd@.service.d/notify-reload.conf").exists() == is_there
    assert "Type=notify\n" in (units / "fftd@.service").read_text()


# fftd-stream needs the network, and GStreamer compiles at run time.
@pytest.mark.parametrize("name, most", [("fftd@front", 0.7), ("fftd-view", 0.4),
                                        ("fftd-metrics@front", 0.4), ("fftd-loopback@front", 0.6),
                                        ("fftd-stream@front", 1.2), ("fftd-mqtt@front", 1.2)])
def test_exposure_is_low(units, name, most):
    if not (units / f"{name}.service").exists():
        pytest.skip(f"{name.partition('@')[0]} is not built: its library is missing")
    done = analyze("security", "--offline=true", f"--threshold={most * 10:.0f}",
                   f"./{name}.service", folder=units)
    exposure = re.search(r"Overall exposure level.*: ([\d.]+)", done.stdout)
    assert exposure, done.stdout + done.stderr
    assert float(exposure[1]) <= most, done.stdout


def test_every_service_is_limited():
    for unit in SYSTEMD.glob("**/*.service"):
        for setting in ("MemoryMax", "TasksMax"):
            assert re.search(f"^{setting}=[0-9]+[%MG]?$", unit.read_text(), re.M), \
                f"{unit.name} has no {setting}="


def test_users_exist_for_every_group_named(tmp_path):
    if not shutil.which("systemd-sysusers"):
        pytest.skip("no systemd-sysusers")
    etc = tmp_path / "etc"
    etc.mkdir()
    done = subprocess.run(["systemd-sysusers", f"--root={tmp_path}", "-"], text=True,
                          input=(SYSTEMD / "sysusers.d/fftd.conf").read_text(),
                          capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    groups = {line.split(":")[0] for line in (etc / "group").read_text().splitlines()}
    named = set()
    for unit in [*SYSTEMD.glob("*.service"), *SYSTEMD.glob("*.socket")]:
        for found in re.findall(r"^(?:Group|SocketGroup|SupplementaryGroups)=(.*)$",
                                unit.read_text(), re.M):
            named.update(found.split())
    assert named - groups == {"video", "render"}, "which are the system's own"
