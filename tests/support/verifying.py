"""A world whose stage asks destinations whether they want to be called."""

from dataclasses import replace
from typing import Any

from carillon.adapters.memory.control import MemoryShardLedger
from carillon.application.create_job import ShardCount
from carillon.application.destinations import EditDestinations
from carillon.application.execute_run import ExecuteRun
from carillon.application.verified_destinations import VerifiedDestinations
from carillon.application.verify_destinations import AskDestination
from carillon.domain.destinations import Destination, DestinationKind
from carillon.domain.run import Run
from support.world import TENANT, World

URL = "https://hooks.example.net/verify"


class Asking(World):
    """A world whose stage asks for verification."""

    def worker(self, *parts: Any) -> ExecuteRun:
        """A worker that calls only verified destinations."""
        verified = VerifiedDestinations(self.destinations, self.verifications)
        return replace(super().worker(*parts), destinations=verified)

    def register(self, kind: DestinationKind = DestinationKind.HOST, name: str = "hooks.example.net") -> Destination:
        """Register a destination now."""
        registered, _ = EditDestinations(self.destinations).register(TENANT, kind, name, self.clock.now_ms())
        return registered

    def ask(self, destination: Destination, url: str = URL, host: str | None = None) -> Run:
        """Have it asked; `host`: of the URL, if that has a port."""
        shards = ShardCount(MemoryShardLedger(self.state), 1)
        asking = AskDestination(self.destinations, self.runs, shards, self.ids)
        return asking(TENANT, destination.id, url, host or url.split("/")[2], self.clock.now_ms())

    def is_verified(self, destination: Destination) -> bool:
        """Whether jobs may call it by now."""
        found = VerifiedDestinations(self.destinations, self.verifications).of(TENANT).find(destination.id)
        assert found is not None
        return not found.is_pending

    def asked(self, run: Run) -> Run:
        """The record of the run that asked."""
        found = self.runs.get(run.key)
        assert found is not None
        return found
