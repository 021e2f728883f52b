"""Home Assistant itself finds a camera at the broker, shows its state and changes its filter.

FFTD_HOME_ASSISTANT is the Python of a virtual environment that has it:

    python3 -m venv DIR && DIR/bin/pip install homeassistant paho-mqtt
    FFTD_HOME_ASSISTANT=DIR/bin/python make test-peers
"""

import json
import os
import subprocess

import pytest

from conftest import PATIENCE
from test_mqtt import (Subscriber, begin, bridge, broker, free_port,  # noqa: F401
                       needs_broker)  # pylint: disable=unused-import

# Prints the states of the camera's entities, chooses a preset, and prints the choice's state.
PROGRAM = """
import asyncio, json, sys
from homeassistant import bootstrap, runner

async def main(folder, port):
    hass = await bootstrap.async_setup_hass(runner.RuntimeConfig(config_dir=folder))
    await hass.async_start()
    flow = await hass.config_entries.flow.async_init("mqtt", context={"source": "user"})
    flow = await hass.config_entries.flow.async_configure(
        flow["flow_id"], {"broker": "127.0.0.1", "port": port})
    assert flow["type"] == "create_entry", flow
    names = lambda: {state.entity_id: state.state for state in hass.states.async_all()
                     if "front" in state.entity_id}
    for _ in range(600):
        found = names()
        if (found.get("sensor.front_state") == "online" and "select.front_preset" in found
                and "camera.front_picture" in found
                and found.get("sensor.front_mean", "unknown") != "unknown"):
            break
        await asyncio.sleep(0.1)
    print(json.dumps(found), flush=True)
    await hass.services.async_call("select", "select_option", {
        "entity_id": "select.front_preset", "option": "moire"}, blocking=True)
    for _ in range(600):
        if names().get("select.front_preset") == "moire":
            break
        await asyncio.sleep(0.1)
    print(json.dumps(names()), flush=True)
    await hass.async_stop()

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def test_home_assistant_finds_and_changes_it(start, broker, begin, bridge, tmp_path):  # noqa: F811
    python = os.environ.get("FFTD_HOME_ASSISTANT")
    if python is None:
        pytest.skip("FFTD_HOME_ASSISTANT names no Python with Home Assistant")
    daemon = start("--set", "output.measures=true")
    daemon.wait_for_socket("control-watch")
    subscriber = begin(Subscriber, broker.port)
    bridge(broker.port, "--allow-changes", "--picture", "1", "--period", "1")
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "configuration.yaml").write_text(
        f"http:\n  server_host: 127.0.0.1\n  server_port: {free_port()}\n")
    done = subprocess.run([python, "-c", PROGRAM, folder, str(broker.port)], capture_output=True,
                          text=True, timeout=5 * PATIENCE, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    before, after = map(json.loads, done.stdout.splitlines())
    assert before["sensor.front_state"] == "online", before
    assert float(before["sensor.front_frame_rate"]) > 0
    assert float(before["sensor.front_mean"]) > 0
    assert "camera.front_picture" in before
    assert after["select.front_preset"] == "moire"
    subscriber.until_json("fftd/front/filter/result", request="preset:moire", Serial=2)
    assert daemon.ctl_json("status")["Serial"] == 2
