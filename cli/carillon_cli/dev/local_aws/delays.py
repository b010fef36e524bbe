"""Prompt delivery of delayed messages.

AWS polls queues all the time, so a function sees a message some milliseconds after its delay is over. ministack's
poller sleeps for a second unless it is woken by a new message; here it is woken when an old one becomes visible.
"""

import threading
import time

from carillon_cli.dev.local_aws.seams import Seams

_LOOK_SECONDS = 0.05


def watch_delays(seams: Seams, stop: threading.Event) -> None:
    """Wake the poller within 50 ms of a message becoming visible, until `stop` is set."""
    seen = time.time()
    while not stop.wait(_LOOK_SECONDS):
        now = time.time()
        if any(seen < visible <= now for visible in seams.visible_times()):
            seams.wake_pollers()
        seen = now
