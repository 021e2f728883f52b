"""What `fftd-ctl report` finds of a service that does not work, with the real systemd and nodes."""

import os
import pathlib

from commands import run

CAUSES = "==== What is plainly wrong"


def causes(service):
    """The report's first section. Of its programs some are slow in an emulated machine."""
    text = run("env", "FFTD_REPORT_SECONDS=10", "fftd-ctl", "--name", service.name, "report").stdout
    return text.partition(CAUSES)[2].partition("\n====")[0]


def test_why_a_service_does_not_start(single, service):
    source = f"v4l2:{single.device}"
    service.configure(source, filter="gausian-blur:sigma=2")
    service.systemctl("start", check=False)
    service.wait_for(lambda: service.show("ActiveState") == "failed", "the failure")
    told = causes(service)
    assert "- The configuration is wrong. Correct it, then run sudo systemctl restart fftd@cam: " \
        f"{service.config}:2: filter: unknown filter gausian-blur" in told
    assert "- The service fftd@cam has failed. Its last error: " in told
    assert told.count("did you mean gaussian-blur?") == 2  # of the file, and of the service

    service.end()  # with its sockets, at which a question would start it
    service.configure(source)
    told = causes(service)
    assert "- The service fftd@cam is not running: sudo systemctl enable --now fftd@cam" in told
    assert "configuration" not in told and "has failed" not in told

    service.config.unlink()
    service.systemctl("start", check=False)  # its condition is not met, which is no failure
    assert f"- There is no {service.config}, without which" in causes(service)
    service.configure(source)


def test_a_camera_that_the_service_may_not_open(single, service):
    node = pathlib.Path(single.device)
    assert "may not open" not in causes(service)
    os.chown(node, 0, 0)
    assert f"- The service may not open {node}: its mode is crw-rw---- and its group is root." \
        in causes(service)
