"""Virtual time: who acts when, and that a suspended actor is really out of the way."""

from simulation.kernel import Kernel, KilledError


def test_an_actor_is_suspended_in_the_middle_of_another() -> None:
    """Two actors interleave at their suspensions, neither of which has to end before the other goes on."""
    kernel, told = Kernel(0), list[str]()

    def actor(name: str, *pauses_ms: int) -> None:
        for pause_ms in pauses_ms:
            told.append(f"{name}{kernel.now}")
            kernel.suspend(pause_ms)
        told.append(f"{name}{kernel.now}")

    kernel.at(0, lambda: actor("a", 10, 30))
    kernel.at(5, lambda: actor("b", 10, 10))
    assert kernel.run()
    assert told == ["a0", "b5", "a10", "b15", "b25", "a40"]


def test_whoever_acts_is_known_after_a_suspension() -> None:
    """The current actor is that of the running code, whoever acted meanwhile."""
    kernel, told = Kernel(0), list[str]()

    def actor(name: str) -> None:
        kernel.current = name
        kernel.suspend(10)
        told.append(kernel.current)

    kernel.at(0, lambda: actor("a"))
    kernel.at(1, lambda: actor("b"))
    kernel.run()
    assert told == ["a", "b"]


def test_at_the_limit_the_suspended_are_gone() -> None:
    """A world that does not come to rest is ended; what was suspended does not go on."""
    kernel, told = Kernel(0, limit=100), list[str]()

    def sleepy() -> None:
        try:
            kernel.suspend(1_000)
            told.append("awake")
        except KilledError:
            told.append("killed")

    kernel.at(0, sleepy)
    kernel.at(1, lambda: None)
    assert not kernel.run()
    assert told == ["killed"]


def test_very_many_may_be_suspended_at_a_time() -> None:
    """However deep in its stack each of them is: no suspension counts upon another."""
    kernel, told = Kernel(0), list[int]()

    def actor(depth: int) -> None:
        if depth:
            actor(depth - 1)
        else:
            kernel.suspend(1_000)
            told.append(kernel.now)

    for at_ms in range(200):
        kernel.at(at_ms, lambda: actor(50))
    assert kernel.run()
    assert told == [1_000 + at_ms for at_ms in range(200)]
