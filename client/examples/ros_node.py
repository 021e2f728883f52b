#!/usr/bin/python3
"""A node of ROS 1 that publishes the luma of a camera as sensor_msgs/Image on the topic `image`.

    ros_node.py [NAME | RUNTIME-DIRECTORY]

It needs the packages python3-rospy, python3-sensor-msgs and python3-fftd. Frames that nobody has
taken are dropped."""

import sys
import time

import fftd
import rospy
from sensor_msgs.msg import Image


def message(frame):
    """None if the frame was overwritten while it was copied."""
    height, width = frame.image.shape[:2]  # formats with a luma plane of 8 bits only
    image = Image(height=height, width=width, encoding="mono8", step=width,
                  data=frame.image.tobytes())
    # The frame has the time of CLOCK_MONOTONIC, and ROS that of the day.
    age_s = (time.monotonic_ns() - frame.captured_ns) / 1e9
    image.header.stamp = rospy.Time.now() - rospy.Duration.from_sec(age_s)
    image.header.frame_id = "camera"
    return image if frame.valid else None


def main(name):
    rospy.init_node("fftd", disable_signals=True)
    publisher = rospy.Publisher("image", Image, queue_size=1)
    with fftd.Camera(name) as camera:
        for frame in camera:
            if (image := message(frame)) is not None:
                publisher.publish(image)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "default")
