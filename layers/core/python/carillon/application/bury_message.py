"""What becomes of a message that no worker could finish: it landed in a dead-letter queue.

The rules of a worker come first: a stale or ended one is dropped, one whose attempt is alive is looked at again later.
Only what would still have to start becomes a dead-lettered run.
"""

import logging
from dataclasses import dataclass

from carillon.application.run_records import DONE, MOST_RACES, NOT_DONE, RACE_PAUSE_MS, RunRecords
from carillon.domain.admission import Contested, Drop, End, Expire, Judgement, Superseded, Tell, judge
from carillon.domain.job import Definition
from carillon.domain.messages import MessageKind, NewerMessageError, UnreadableMessageError, WorkMessage
from carillon.domain.run import Run, RunState
from carillon.ports.execution import Delivery, Quarantine
from carillon.ports.runs import Refused, Saved

logger = logging.getLogger("carillon")

UNDELIVERABLE = "undeliverable"
LONGEST_WAIT = 1.0


@dataclass(frozen=True, slots=True)
class BuryMessage:
    """The use case of the dead-letter handler."""

    records: RunRecords
    quarantine: Quarantine

    def __call__(self, delivery: Delivery) -> bool:
        """Handle one dead letter; returns whether it may be deleted."""
        try:
            message = WorkMessage.decode(delivery.body)
        except (UnreadableMessageError, NewerMessageError) as error:
            self.records.meter.count("unparsable_message")
            now_ms = self.records.clock.now_ms()
            self.quarantine.set_aside(delivery.message_id, delivery.body, str(error), now_ms)
            logger.error(  # noqa: TRY400 - the trace says nothing about the message
                "message set aside", extra={"action": "message_set_aside", "message_id": delivery.message_id}
            )
            return DONE
        return self._bury(message, delivery)

    def _bury(self, message: WorkMessage, delivery: Delivery) -> bool:
        definition, run = self.records.read(message)
        for _ in range(MOST_RACES):
            now_ms = self.records.clock.now_ms()
            judgement = judge(message, definition, run, now_ms)
            if isinstance(judgement, (Drop, Tell)):
                return DONE
            if isinstance(judgement, Superseded):
                return self.records.superseded(message, definition, delivery)
            subject = run or self.records.blank(message, definition, now_ms)
            written = self._write(subject, judgement, definition)
            result = DONE if isinstance(written, Saved) else self.records.settle(written, definition, delivery)
            if not isinstance(result, Run):
                return result
            if message.kind is MessageKind.FIRST or result.wait != message.wait:
                return DONE
            run = result
        delivery.come_again_after(RACE_PAUSE_MS)
        return NOT_DONE

    def _write(self, run: Run, judgement: Judgement, definition: Definition | None) -> Saved | Refused:
        match judgement:
            case Contested():
                return Refused(run)
            case Expire():  # a deadline holds, however it is delivered; its next attempt is in no hurry
                return self.records.expire(run, definition, unit=LONGEST_WAIT)
            case End() as end:
                return self.records.end(run, definition, end)
        return self.records.end(run, definition, End(RunState.DEAD_LETTERED, UNDELIVERABLE))
