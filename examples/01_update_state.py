"""The state update alone: prior state and turn in, new state out. No store, no key, no network."""

from acc import Channel, Observation, Turn, update_state


def main() -> None:
    """Two turns of an incident; the second one lifts a rule of the first."""
    first = Turn.said(
        "502s on checkout since the HTTP/2 rollout. Don't restart nginx during business hours. "
        "Find out why."
    )
    done = update_state(None, first)
    print(done.state.render(), "\n")

    log = Observation(
        channel=Channel.TOOL,
        name="logs",
        text="upstream closed early: node-7, keepalive_timeout=5s",
    )
    second = Turn(
        observations=(*Turn.said("You can restart nginx now, traffic is gone.").observations, log)
    )
    done = update_state(done.state, second)
    print(done.state.render(), "\n")
    print(done.explain())


if __name__ == "__main__":
    main()
