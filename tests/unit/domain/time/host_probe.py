"""Answers about many schedules, as one digest, on any host, in any language.

Behind the digest it says how the host calls a Monday: by that it is known whether its language was in force.
"""

import time
from hashlib import sha256
from random import Random

from carillon.domain.explaining.explanation import preview
from carillon.domain.schedule import CronSchedule, encode
from carillon.domain.zones import zone_data_version
from tests.unit.domain.time.oracles import NASTY_ZONES, random_expression, random_instant_near_a_change


def digest(schedules: int = 300) -> str:
    """A digest of times, stored texts and explanations of random schedules at clock changes."""
    random, answers = Random(schedules), sha256(zone_data_version().encode())  # noqa: S311 - reproducible, not secret
    for _ in range(schedules):
        zone = random.choice(NASTY_ZONES)
        schedule = CronSchedule(random_expression(random, extended=True), zone)
        at_ms = random_instant_near_a_change(random, zone)
        facts = (encode(schedule), schedule.next_after(at_ms), schedule.previous_before(at_ms))
        answers.update(repr((*facts, preview(schedule, at_ms, 5))).encode())
    return answers.hexdigest()


if __name__ == "__main__":
    print(digest(), time.strftime("%A", time.gmtime(345_600)))  # noqa: T201 - the answer
