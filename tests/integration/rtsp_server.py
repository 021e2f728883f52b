#!/usr/bin/python3
"""An RTSP server that takes what is published at /in (RECORD), and writes this H.264 stream to
stdout.

    rtsp_server.py PORT

prints its port on stderr when it listens; port 0 takes a free one. Made of GStreamer's
gst-rtsp-server."""

import os
import sys

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstRtspServer", "1.0")
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402

RECEIVED = ("( rtph264depay name=depay0 ! h264parse config-interval=-1 ! video/x-h264,"
            "stream-format=byte-stream,alignment=au ! appsink name=received sync=false "
            "emit-signals=true )")


def write(sink):
    data = sink.emit("pull-sample").get_buffer()
    data = data.extract_dup(0, data.get_size())
    while data:
        data = data[os.write(1, data):]
    return Gst.FlowReturn.OK


def main(port):
    Gst.init(None)
    server = GstRtspServer.RTSPServer(address="127.0.0.1", service=port)
    # Not shared, so that a restarted publisher does not wait for its previous session to end.
    factory = GstRtspServer.RTSPMediaFactory(
        launch=RECEIVED, transport_mode=GstRtspServer.RTSPTransportMode.RECORD)
    factory.connect("media-configure", lambda _, media: media.get_element().get_by_name(
        "received").connect("new-sample", write))
    server.get_mount_points().add_factory("/in", factory)
    if server.attach(None) == 0:
        sys.exit(f"rtsp_server.py: cannot listen on port {port}")
    print(server.get_bound_port(), file=sys.stderr, flush=True)
    GLib.MainLoop().run()


if __name__ == "__main__":
    main(sys.argv[1])
