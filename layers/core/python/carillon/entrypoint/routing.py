"""Which route a request takes. What is documented and not built yet has routes too, to be refused as such."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from carillon.domain.idempotency import KeptAnswer
from carillon.entrypoint.http_request import MOST_BODY_BYTES, Request
from carillon.entrypoint.problems import Refusal

Handle = TypeVar("Handle")


@dataclass(frozen=True, slots=True)
class Route(Generic[Handle]):
    """A method and a path, whose segments in braces stand for any value.

    Attributes:
        method: in capitals.
        template: for example `/v1/jobs/{job_id}`.
        scope: what the key has to allow; None where no key is asked for.
        handle: what answers.
        parameters: the names that the query may hold.
        takes_token: whether the token of an attempt does instead of a key.
        shows_secret: whether the answer holds what must not be kept.
        recheck: gives an answer that was kept as it is still true, or raises what is to be answered instead.
        spans: whether the last value may hold slashes: gateways may decode those that were sent encoded.
        most_bytes: of a body.
    """

    method: str
    template: str
    scope: str | None
    handle: Handle
    parameters: frozenset[str] = frozenset()
    takes_token: bool = False
    shows_secret: bool = False
    recheck: Callable[[Request, KeptAnswer], KeptAnswer] | None = None
    spans: bool = False
    most_bytes: int = MOST_BODY_BYTES

    @property
    def named(self) -> tuple[bool, ...]:
        """Of each segment, whether it stands for any value: what is named more, and earlier, sorts first."""
        return tuple(segment.startswith("{") for segment in self.template.split("/"))

    def match(self, segments: tuple[str, ...]) -> Mapping[str, str] | None:
        """The values in a path, or None when the path is another."""
        names = self.template.split("/")[1:]
        if self.spans and len(segments) > len(names):
            segments = (*segments[: len(names) - 1], "/".join(segments[len(names) - 1 :]))
        if len(names) != len(segments):
            return None
        values: dict[str, str] = {}
        for name, segment in zip(names, segments, strict=True):
            if name.startswith("{") and segment:
                values[name[1:-1]] = segment
            elif name != segment:
                return None
        return values


def find_route(routes: Iterable[Route[Handle]], request: Request) -> tuple[Route[Handle], Mapping[str, str]]:
    """The route of a request, and the values in its path.

    A path that is there by its own name is no id: `/v1/jobs/batch` is nobody's job.

    Raises:
        Refusal: no route has this path, or none with this path has this method.
    """
    matching = [(route, values) for route in routes if (values := route.match(request.segments)) is not None]
    if not matching:
        raise Refusal("not_found", "there is no such path")
    named = min(route.named for route, _ in matching)
    on_path = [(route, values) for route, values in matching if route.named == named]
    for route, values in on_path:
        if route.method == request.method:
            return route, values
    allowed = ", ".join(sorted({route.method for route, _ in on_path}))
    raise Refusal("method_not_allowed", f"allowed here: {allowed}", headers={"Allow": allowed})
