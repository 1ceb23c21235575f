"""The state update alone: prior state, tail and turn in, new state out. No store, no key, no network."""

from acc.step.update import update_state
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn


def main() -> None:
    """Two turns of an incident; the second one lifts a rule of the first."""
    first = Turn.said(
        "502s on checkout since the HTTP/2 rollout. Don't restart nginx during business hours. "
        "Find out why."
    )
    step = update_state(None, first)
    print(step.text(), "\n")

    log = Observation(
        channel=Channel.TOOL,
        name="logs",
        text="upstream closed early: node-7, keepalive_timeout=5s",
    )
    second = Turn(
        observations=(*Turn.said("You can restart nginx now, traffic is gone.").observations, log)
    )
    step = update_state(step.state, second, tail=step.tail)
    print(step.text(), "\n")
    print(step.explain())


if __name__ == "__main__":
    main()
