"""Checks the Debian packages in build/deb. tests/vm/test_packages.py installs them, and foreign.py
installs those of another architecture."""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = sorted((ROOT / os.environ.get("FFTD_PACKAGES", "build/deb")).glob("*.deb"))
NAMES = {"fftd", "fftd-gst", "fftd-loopback", "fftd-mqtt", "fftd-pipewire", "fftd-stream",
         "fftd-view", "libfftd0", "libfftd-dev", "gstreamer1.0-fftd", "python3-fftd"}


def name_of(package):
    return package.name.partition("_")[0]


def files_of(package):
    listing = subprocess.run(["dpkg-deb", "--contents", package], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    return {line.split(None, 5)[5].partition(" -> ")[0] for line in listing.splitlines()
            if not line.startswith("d")}


def test_all_packages_were_built():
    assert {name_of(package) for package in PACKAGES
            if "-dbgsym" not in package.name} == NAMES, "see build/deb.log"


def test_make_deb_installs_what_it_builds_with():
    """On a machine that has nothing yet. Other packages provide two of the names."""
    control = (ROOT / "debian/control").read_text()
    needed = re.search(r"^Build-Depends: (.*?)^\S", control, re.DOTALL | re.MULTILINE)[1]
    names = {re.split(r"[ :]", each.strip())[0] for each in needed.split(",")}
    installed = subprocess.run([ROOT / "tests/tools/deps.sh", "--list", "build", "gst", "deb"],
                               check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    same = {"debhelper-compat": "debhelper", "dh-sequence-python3": "dh-python"}
    # dh-python brings python3.
    assert {same.get(name, name) for name in names} - {"python3"} <= set(installed)


def test_lintian_finds_nothing():
    """Whoever publishes packages puts an address of their own into them."""
    assert PACKAGES
    done = subprocess.run(
        ["lintian", "--fail-on", "error,warning", "--suppress-tags",
         "bogus-mail-host,bogus-mail-host-in-debian-changelog", "--allow-root", *PACKAGES],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0 and not done.stdout, done.stdout


def test_everything_that_is_installed_is_in_one_package(tmp_path):
    """`make install`, which the tests of the service use elsewhere, and the packages agree."""
    done = subprocess.run(["make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/usr",
                           "PYTHON_DIR=/usr/lib/python3/dist-packages"], cwd=ROOT, text=True,
                          capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    installed = {"./" + str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")
                 if not path.is_dir() or path.is_symlink()}
    # Until Debian 13 debhelper installs units to /lib, which is a link to /usr/lib.
    packed = [re.sub(r"/lib/[^/]*-linux-[^/]*/", "/lib/", re.sub(r"^\./lib/", "./usr/lib/", file))
              .removesuffix(".gz") for package in PACKAGES for file in files_of(package)]
    assert installed <= set(packed), installed - set(packed)
    assert all(packed.count(file) == 1 for file in installed)
    assert not any("/OpenCL/vendors/" in file for file in packed)  # the driver's


def test_folders_for_images_and_presets_are_there():
    """`fftd-ctl calibrate` and `filter save FILE` write into these, but do not create them."""
    package = next(each for each in PACKAGES if name_of(each) == "fftd")
    listing = subprocess.run(["dpkg-deb", "--contents", package], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    folders = re.findall(r"^drwxr-xr-x root/root .* \./etc/fftd/(\w+)/$", listing, re.MULTILINE)
    assert set(folders) == {"images", "presets"}


def test_services_follow_their_packages():
    """debhelper knows no instances of a unit, so each package's own scripts restart them after an
    upgrade and stop them before removal."""
    packed = 0
    for install in (ROOT / "debian").glob("*.install"):
        for unit in re.findall(r"^usr/lib/systemd/system/(fftd[\w-]*@)\.service",
                               install.read_text(), re.MULTILINE):
            packed += 1
            for script, verb in (("postinst", "try-restart"), ("prerm", "stop")):
                text = install.with_suffix(f".{script}").read_text()
                assert re.search(rf"deb-systemd-invoke {verb} .*'{unit}\*\.service'", text), install
    assert packed == len(list((ROOT / "systemd").glob("*@.service")))


def test_the_librarys_names_are_documented():
    """The symbols file of the package and the manual page list what the library exports."""
    exported = set(re.findall(r"fftd_\w+", (ROOT / "client/libfftd/libfftd.map").read_text()))
    symbols = (ROOT / "debian/libfftd0.symbols").read_text()
    assert set(re.findall(r"^ (fftd_\w+)@", symbols, re.MULTILINE)) == exported
    manual = (ROOT / "docs/man/libfftd.3").read_text()
    assert set(re.findall(r"^\.F(?:n|o) (fftd_\w+)(?: \"|$)", manual, re.MULTILINE)) == exported
