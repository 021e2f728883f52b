"""An RTSP server in a process of its own (rtsp_server.py), to publish to or to play from."""

import pathlib
import subprocess

PYTHON = "/usr/bin/python3"  # whose gi is Debian's


def has_elements(*names):
    return all(subprocess.run(["gst-inspect-1.0", "--exists", name], check=False).returncode == 0
               for name in names)


def has_server():
    return subprocess.run([PYTHON, "-c", "import gi; gi.require_version('GstRtspServer', '1.0')"],
                          stderr=subprocess.DEVNULL, check=False).returncode == 0


class Server:
    """It has the same port each time it is started. tls: the files of its certificate and key."""

    def __init__(self, camera, tls=()):
        self.camera = camera
        self.tls = tls
        self.port = "0"
        self.start()

    def start(self):
        path = pathlib.Path(__file__).with_name("rtsp_server.py")
        tls = ["--tls", *self.tls] if self.tls else []
        self.process = subprocess.Popen([PYTHON, path, *tls, self.port, self.camera], text=True,
                                        stdout=subprocess.PIPE)
        self.port = self.process.stdout.readline().strip()
        assert self.port.isdigit(), self.port

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    @property
    def url(self):
        scheme = "rtsps" if self.tls else "rtsp"
        return f"{scheme}://127.0.0.1:{self.port}/{self.camera.partition('=')[0]}"
