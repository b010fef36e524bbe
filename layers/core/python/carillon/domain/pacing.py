"""A plan in its slots: what may be sent within the look-ahead, and what is due again later."""

from dataclasses import dataclass, replace

from carillon.domain.job import JobState
from carillon.domain.planning import Occurrence, Plan


@dataclass(frozen=True, slots=True)
class Slots:
    """When the occurrences of an entry may start, in the order of its plan (epoch ms).

    The last one may lie beyond the look-ahead: there the first that cannot be sent yet is due again. `granted`: it then
    has its slot; else it has to ask for one, being due there only because it is late.
    """

    times_ms: tuple[int, ...]
    granted: bool

    def all_by(self, latest_ms: int, count: int) -> "Slots":
        """Slots for so many occurrences, of which none lies beyond an instant (epoch ms)."""
        brought_forward = tuple(min(slot_ms, latest_ms) for slot_ms in self.times_ms[:count])
        return Slots(brought_forward + (latest_ms,) * (count - len(brought_forward)), granted=self.granted)


def paced(plan: Plan, slots: Slots, horizon_ms: int) -> Plan:
    """The plan with each occurrence at its slot, up to the first one whose slot lies beyond the horizon.

    Nothing becomes of those from there on, nor of what would be skipped behind it: the next one is due at its slot, and
    its job is decided again then.
    """
    count = next((at for at, slot_ms in enumerate(slots.times_ms) if slot_ms > horizon_ms), len(slots.times_ms))
    sends = tuple(
        Occurrence(each.scheduled_for, max(each.due_ms, slot_ms))
        for each, slot_ms in zip(plan.sends[:count], slots.times_ms, strict=False)
    )
    if len(sends) == len(plan.sends):
        return replace(plan, sends=sends)
    held = plan.sends[count]
    has_slot = count < len(slots.times_ms)
    return replace(
        plan,
        sends=sends,
        skips=tuple(block for block in plan.skips if block.last < held.scheduled_for),
        upcoming=Occurrence(held.scheduled_for, slots.times_ms[count] if has_slot else held.due_ms),
        planned=plan.planned - len(plan.sends) + count,
        state=JobState.SCHEDULED,
        granted=has_slot and slots.granted,
    )
