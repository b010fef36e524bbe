"""Which jobs are wanted."""

from dataclasses import dataclass

from carillon.domain.job import Definition, JobState


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs of a list are wanted: all conditions must hold."""

    state: JobState | None = None
    labels: tuple[tuple[str, str], ...] = ()
    name_prefix: str = ""

    def admits(self, definition: Definition) -> bool:
        """Whether a job is wanted."""
        spec = definition.spec
        return (
            self.state in (None, definition.job.state)
            and all(spec.labels.get(key) == value for key, value in self.labels)
            and (spec.name or "").startswith(self.name_prefix)
        )

    @property
    def admits_all(self) -> bool:
        """Whether nothing is filtered."""
        return self == JobFilter()
