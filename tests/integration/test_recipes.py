"""Recipes of docs/CLIENTS.md that are not single commands: a proxy before fftd-view, the two
streams of a recorder, and a node of ROS."""

import base64
import http.client
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess

import pytest

from conftest import BUILD, FAST_KERNELS, PATIENCE, SANITIZED, wait_until
from gstreamer import plugin_dir  # pylint: disable=unused-import
from process import Process
from rtsp import Server, has_elements, has_server
from test_mqtt import free_port
from test_view_http import runtime_dir, view  # pylint: disable=unused-import
from unit import command_of

CLIENTS = pathlib.Path(__file__).resolve().parents[2] / "docs/CLIENTS.md"
NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin")
FRAMES = 100


def recipe(first):
    """The indented lines of the page that begin with this one."""
    found = re.search(rf"^    {re.escape(first)}.*\n(?:(?:    .*)?\n)*", CLIENTS.read_text(), re.M)
    return "\n".join(line[4:] for line in found[0].rstrip().splitlines())


@pytest.fixture
def proxy(tmp_path, view):  # pylint: disable=redefined-outer-name
    """The recipe's nginx in front of fftd-view, with other ports and files. Returns its port."""
    key, certificate, passwords = (tmp_path / name for name in ("key", "certificate", "passwords"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                    "-out", certificate, "-subj", "/CN=cameras.example", "-addext",
                    "subjectAltName=DNS:cameras.example"], check=True, capture_output=True)
    password = subprocess.run(["openssl", "passwd", "-6", "secret"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
    passwords.write_text(f"me:{password}")
    web, port = view("--host", "cameras.example"), free_port()
    server = recipe("server {")
    for old, new in (("443", f"127.0.0.1:{port}"), ("/etc/ssl/cameras.crt", certificate),
                     ("/etc/ssl/private/cameras.key", key),
                     ("127.0.0.1:8787", f"127.0.0.1:{web.port}"),
                     ("/etc/nginx/cameras.htpasswd", passwords)):
        assert old in server
        server = server.replace(old, str(new))
    paths = "\n".join(f"{name}_temp_path {tmp_path}/{name};" for name in
                      ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{paths}\n{server}\n}}\n")
    process = Process([NGINX, "-e", tmp_path / "errors", "-c", tmp_path / "nginx.conf"],
                      dict(os.environ), tmp_path / "nginx.log")
    wait_until((tmp_path / "pid").exists, "nginx")
    yield port, ssl.create_default_context(cafile=certificate)
    process.kill()


def ask(port, context, path, password=None):
    """A request for https://cameras.example, which is at that port of this machine."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)
    connection.sock = context.wrap_socket(socket.create_connection(("127.0.0.1", port), PATIENCE),
                                          server_hostname="cameras.example")
    headers = {"Host": "cameras.example"}
    if password:
        headers["Authorization"] = "Basic " + base64.b64encode(f"me:{password}".encode()).decode()
    connection.request("GET", path, headers=headers)
    return connection.getresponse()


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_a_proxy_with_tls_and_a_password(start, proxy):  # pylint: disable=redefined-outer-name
    daemon = start(*FAST_KERNELS)
    daemon.wait_for_socket("frames")
    assert ask(*proxy, "/api/cameras").status == 401
    assert ask(*proxy, "/api/cameras", "wrong").status == 401
    assert b"front" in ask(*proxy, "/api/cameras", "secret").read()
    answer = ask(*proxy, "/camera/front/stream.mjpeg", "secret")
    assert answer.status == 200 and answer.readline() == b"--fftd\r\n"
    sequences = []
    for _ in range(FRAMES):
        headers = http.client.parse_headers(answer)
        jpeg = answer.read(int(headers["Content-Length"]))
        assert jpeg[:2] == b"\xff\xd8" and jpeg[-2:] == b"\xff\xd9"
        sequences.append(int(headers["Fftd-Sequence"]))
        assert answer.read(len(b"\r\n--fftd\r\n")) == b"\r\n--fftd\r\n"
    assert sequences == sorted(set(sequences))
    answer.close()


def frames_of(url):
    """The size of 100 frames that FFmpeg has decoded, as Frigate reads them, and the time from the
    first to the last one's capture in seconds. None if there is no stream yet."""
    done = subprocess.run(
        ["ffmpeg", "-loglevel", "error", "-rtsp_transport", "tcp", "-i", url, "-frames:v",
         str(FRAMES), "-fps_mode", "passthrough", "-f", "framecrc", "-"], capture_output=True,
        text=True, timeout=PATIENCE, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("#")]
    if done.returncode != 0 or not lines:
        return None
    assert len(lines) == FRAMES
    size = re.search(r"^#dimensions 0: (\S+)$", done.stdout, re.M)[1]
    ticks = re.search(r"^#tb 0: (\d+)/(\d+)$", done.stdout, re.M)
    times = [int(line.split(",")[2]) for line in lines]
    return size, (times[-1] - times[0]) * int(ticks[1]) / int(ticks[2])


@pytest.mark.skipif(SANITIZED, reason="the element is not sanitized")
def test_two_streams_of_one_camera(start, plugin_dir, runtime_dir,  # noqa: F811
                                   tmp_path):  # pylint: disable=redefined-outer-name
    if not has_elements("x264enc", "h264parse", "rtspclientsink") or not has_server() or \
            not shutil.which("ffmpeg"):
        pytest.skip("ffmpeg or parts of GStreamer are not installed")
    large, small = Server("front"), Server("front-small")
    settings = dict(line.split("=", 1) for line in recipe("URL=rtsp://127.0.0.1:8554/front")
                    .replace("\\\n", " ").splitlines())
    settings["URL"] = large.url + "/in"
    assert "rtsp://127.0.0.1:8554/front-small" in settings["ENCODER"]
    settings["ENCODER"] = settings["ENCODER"].replace("rtsp://127.0.0.1:8554/front-small",
                                                      small.url + "/in")
    outputs = recipe('outputs = ( { name = "small"; size = "320').rstrip(";")
    daemon = start("--set", outputs.replace(" = ", "=", 1), size="640x360", fps="30")
    daemon.wait_for_socket("outputs/small/frames")
    stream = Process(command_of("fftd-stream@.service", "front", settings),
                     dict(os.environ, GST_PLUGIN_PATH=str(plugin_dir),
                          XDG_RUNTIME_DIR=str(runtime_dir.parents[1])), tmp_path / "stream.log")
    try:
        size, seconds = wait_until(lambda: frames_of(large.url), "the large stream")
        # A busy machine leaves frames out, and never adds some. The sender may move the times of
        # the first ones a little.
        assert size == "640x360" and seconds > 0.8 * FRAMES / 30
        size, seconds = wait_until(lambda: frames_of(small.url), "the small stream")
        assert size == "320x180" and seconds > 0.8 * FRAMES / 5
    finally:
        stream.kill()
        large.kill()
        small.kill()


# Prints the size and the age of 100 images.
SUBSCRIBER = """
import rospy
from sensor_msgs.msg import Image
rospy.init_node("test", disable_signals=True)
taken = []
rospy.Subscriber("/image", Image, taken.append)
for _ in range(1200):
    rospy.sleep(0.05)
    if len(taken) >= 100:
        break
for image in taken[:100]:
    print(image.width, image.height, len(image.data), image.encoding,
          (rospy.Time.now() - image.header.stamp).to_sec())
"""


@pytest.mark.skipif(SANITIZED, reason="a sanitized library cannot be loaded into Python")
def test_a_node_of_ros(start, runtime_dir, tmp_path):  # pylint: disable=redefined-outer-name
    python = "/usr/bin/python3"  # whose rospy is Debian's
    if not shutil.which("rosmaster") or subprocess.run(
            [python, "-c", "import rospy, sensor_msgs.msg"], stderr=subprocess.DEVNULL,
            check=False).returncode != 0:
        pytest.skip("python3-rospy, python3-sensor-msgs or python3-rosmaster is not installed")
    port = free_port()
    env = dict(os.environ, ROS_MASTER_URI=f"http://127.0.0.1:{port}", ROS_IP="127.0.0.1",
               ROS_HOME=str(tmp_path), PYTHONPATH=str(CLIENTS.parents[1] / "client/python"),
               LIBFFTD=os.environ.get("FFTD_LIBRARY", str(BUILD / "libfftd.so.0")))
    daemon = start(*FAST_KERNELS, fps="100")
    daemon.wait_for_socket("frames")
    master = Process(["rosmaster", "--core", "-p", str(port)], env, tmp_path / "master.log")

    def listens():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens, "rosmaster")
    node = Process([python, CLIENTS.parents[1] / "client/examples/ros_node.py", runtime_dir], env,
                   tmp_path / "node.log")
    try:
        done = subprocess.run([python, "-c", SUBSCRIBER], env=env, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        assert done.returncode == 0, done.stderr
        images = [line.split() for line in done.stdout.splitlines()]
        assert len(images) == FRAMES, node.log
        assert {tuple(each[:4]) for each in images} == {("160", "120", "19200", "mono8")}
        assert all(0 <= float(each[4]) < PATIENCE for each in images)
    finally:
        node.kill()
        master.kill()
