#!/usr/bin/python3
"""An RTSP server as media servers are, made of GStreamer's gst-rtsp-server.

    rtsp_server.py [--tls CERTIFICATE KEY] PORT CAMERA...

A CAMERA is a NAME: what is published at /NAME/in by RECORD is played at /NAME to all who ask. Or it
is NAME=ELEMENTS, whose H.264 is played at /NAME, as that of a camera with a server of its own.

With --tls it serves RTSPS alone. It prints its port when it listens; port 0 takes a free one."""

import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import Gio, GLib, Gst, GstRtspServer  # pylint: disable=wrong-import-position

CAPS = "video/x-h264,stream-format=byte-stream,alignment=au"
RECEIVED = (f"( rtph264depay name=depay0 ! h264parse config-interval=-1 ! {CAPS} "
            "! appsink name=received sync=false max-buffers=60 drop=true emit-signals=true )")
# Each frame gets the time of its arrival. What a slow player has not taken is dropped. The received
# frames have their parameter sets: the payloader's config-interval=-1 would send them before each
# slice of a key frame again, where FFmpeg begins another frame and loses the slices before.
SENT = (f"( appsrc name=sent is-live=true format=time do-timestamp=true max-buffers=60 "
        f"leaky-type=downstream caps={CAPS} ! h264parse ! rtph264pay name=pay0 )")


def add_factory(mounts, path, launch, made=None, **properties):
    factory = GstRtspServer.RTSPMediaFactory(launch=launch, **properties)
    if made:
        factory.connect("media-configure", made)
    factory.add_role_from_structure(Gst.Structure.from_string(
        "anybody, media.factory.access=true, media.factory.construct=true")[0])
    mounts.add_factory(path, factory)


class Stream:
    """One camera: passes the frames of whoever publishes to all who play."""

    def __init__(self, mounts, name):
        self.players = []
        # Not shared, so that a restarted publisher does not wait for its previous session to end.
        add_factory(mounts, f"/{name}/in", RECEIVED, self.publish,
                    transport_mode=GstRtspServer.RTSPTransportMode.RECORD)
        add_factory(mounts, f"/{name}", SENT, self.play, shared=True)

    def publish(self, _, media):
        media.get_element().get_by_name("received").connect("new-sample", self.pass_on)

    def play(self, _, media):
        player = media.get_element().get_by_name("sent")
        self.players.append(player)
        media.connect("unprepared", lambda _: self.players.remove(player))

    def pass_on(self, sink):
        data = sink.emit("pull-sample").get_buffer()
        frame = Gst.Buffer.new_wrapped(data.extract_dup(0, data.get_size()))
        for player in list(self.players):
            player.emit("push-buffer", frame)
        return Gst.FlowReturn.OK


def require_tls(server, certificate, key):
    """Whoever connects by TLS may do everything."""
    auth, anybody = GstRtspServer.RTSPAuth(), GstRtspServer.RTSPToken()
    auth.set_tls_certificate(Gio.TlsCertificate.new_from_files(certificate, key))
    anybody.set_string(GstRtspServer.RTSP_TOKEN_MEDIA_FACTORY_ROLE, "anybody")
    auth.set_default_token(anybody)
    server.set_auth(auth)


def main(arguments):
    Gst.init(None)
    tls, arguments = (arguments[1:3], arguments[3:]) if arguments[0] == "--tls" else ((), arguments)
    port, cameras = arguments[0], arguments[1:]
    server = GstRtspServer.RTSPServer(address="127.0.0.1", service=port)
    # One thread for each connection: a player waits for the first frame of a publisher.
    server.get_thread_pool().set_max_threads(-1)
    if tls:
        require_tls(server, *tls)
    mounts = server.get_mount_points()
    streams = []
    for camera in cameras:
        name, _, elements = camera.partition("=")
        if elements:
            add_factory(mounts, f"/{name}", f"( {elements} ! rtph264pay name=pay0 )", shared=True)
        else:
            streams.append(Stream(mounts, name))
    if server.attach(None) == 0:
        sys.exit(f"rtsp_server.py: cannot listen on port {port}")
    print(server.get_bound_port(), flush=True)
    GLib.MainLoop().run()
    del streams


if __name__ == "__main__":
    main(sys.argv[1:])
