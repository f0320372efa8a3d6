"""The scripts on the bare core, which every other engine must equal."""

from collections import Counter

import pytest

from .generate import generate
from .handwritten import SCRIPTS
from .language import BareCore, Script, parse, run_bare, unmet


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_core_meets_the_expectations_of_a_script(script: Script) -> None:
    result = run_bare(script)
    for number, (step, outcome) in enumerate(zip(script.steps, result.outcomes, strict=True), start=1):
        assert not unmet(step, outcome), f"step {number}, {step.line()}: {outcome}"


def test_every_step_of_a_written_script_has_an_expectation() -> None:
    assert [step.line() for script in SCRIPTS for step in script.steps if not step.expected] == []


def test_a_text_is_parsed_into_its_script() -> None:
    for script in (*SCRIPTS, generate(7)):
        again = parse(script.name, str(script))
        assert [step.line() for step in again.steps] == [step.line() for step in script.steps]
        assert run_bare(again) == run_bare(script)


@pytest.mark.parametrize(
    "text", ["0 A acquire x sharde", "0 A aquire x", "5 A acquire x\n0 A release x", "0 A acquire"]
)
def test_a_bad_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse("bad", text)


def test_an_unmet_expectation_is_reported() -> None:
    script = parse("wrong", "0 A acquire x -> lease_held token=2 lease_id=lse_1")
    assert unmet(script.steps[0], run_bare(script).outcomes[0]) == ["lease_held", "token=2"]


def test_the_same_seed_gives_the_same_script() -> None:
    assert generate(3) == generate(3) != generate(4)


@pytest.mark.parametrize("seed", range(50))
def test_grouping_is_invisible(seed: int) -> None:
    script = generate(seed)
    assert BareCore().run(script, batch=256) == BareCore().run(script, batch=1)


def test_the_generated_scripts_meet_every_kind_of_outcome() -> None:
    met: Counter[str] = Counter()
    for seed in range(200):
        result = run_bare(generate(seed))
        for outcome in result.outcomes:
            met[outcome.get("reason") or outcome["is"]] += 1
        met["deadlock pair"] += len(result.picture["deadlocks"])
        met["queue at the end"] += any(resource["queue"] for resource in result.picture["resources"].values())
    print(dict(met))
    assert set(met) >= {
        "Granted",
        "lease_held",
        "deadlock",
        "Released",
        "stale_lease",
        "not_held",
        "Withdrawn",
        "Ended",
    }
    assert all(count >= 10 for count in met.values())
