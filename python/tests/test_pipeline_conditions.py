"""Conditions that are nodes: the graphs are those of DALI, and what cannot be one is an error."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
import pipeline_conditions
import pipeline_permutations
from bivouac import errors, fn, pipeline_def, types
from bivouac.pipeline import do_not_convert

RECORDED: dict[str, str] = json.loads(
    Path(__file__).with_name("pipeline_conditions.json").read_text()
)

Definition = Callable[[], Any]


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    return pipeline_conditions.graphs(bivouac)


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_bytes_of_dali(name: str, made: dict[str, bytes]) -> None:
    """The serialized pipeline is the one that DALI 2.4.0 writes, byte by byte."""
    assert sorted(RECORDED) == sorted(made)
    assert made[name] == zlib.decompress(base64.b64decode(RECORDED[name]))


PERMUTED: dict[str, Any] = json.loads(
    Path(__file__).with_name("pipeline_permutations.json").read_text()
)


@pytest.mark.usefixtures("sidecar")
@pytest.mark.parametrize("batch", [1, 2, 7])
@pytest.mark.parametrize("name", pipeline_permutations.GRAPHS)
def test_permutations_of_a_branch(name: str, batch: int) -> None:
    """The batches are those of DALI 2.4.0, also from each state on."""
    want = PERMUTED[f"{name} {batch}"]
    pipe = pipeline_permutations.define(bivouac, name, batch)
    states = []
    for i in range(len(want)):
        assert pipeline_permutations.batches(pipe, 1) == want[i : i + 1], i
        states.append(pipe.checkpoint())
    for i, state in enumerate(states):
        again = pipeline_permutations.define(bivouac, name, batch, state)
        assert pipeline_permutations.batches(again, len(want) - i - 1) == want[i + 1 :], i
    if (name, batch) == ("permutations", 7):
        assert states[2] == bytes.fromhex(PERMUTED["state"])


def define(function: Definition, **settings: Any) -> Any:
    settings = {"batch_size": 8, "num_threads": 2, "seed": 7, **settings}
    return pipeline_def(enable_conditionals=True, **settings)(function)()


def draw() -> Any:
    return fn.random.uniform(range=[0.0, 1.0])


def halved(a: Any, times: int) -> Any:
    if times == 0:
        return a
    if a > 0.5:
        return halved(a * 0.5, times - 1)
    else:
        return halved(a, times - 1)


@pytest.mark.usefixtures("sidecar")
def test_a_function_that_calls_itself() -> None:
    def three() -> Any:
        a = draw()
        return halved(a, 3), a

    for got, drawn in zip(*define(three).run()):
        want = np.float32(drawn)
        for _ in range(3):
            want = want * np.float32(0.5) if want > 0.5 else want
        assert np.float32(got) == want


def test_each_branch_needs_a_value() -> None:
    def missing() -> Any:
        a = draw()
        if a > 0.5:
            t = a
        return t

    with pytest.raises(RuntimeError, match="else of .*a value of t in both branches"):
        define(missing)

    def no_return() -> Any:
        a = draw()
        if a > 0.5:
            return a
        a = a + 1

    with pytest.raises(RuntimeError, match="else of .*a return in both branches"):
        define(no_return)


def test_both_branches_have_one_structure() -> None:
    def diverging() -> Any:
        a = draw()
        t: Any
        if a > 0.5:
            t = (a, {"k": a})
        else:
            t = a
        return t

    with pytest.raises(ValueError, match=r"\(\*, \{'k': \*\}\) and \*"):
        define(diverging)


def test_a_node_stays_in_its_branch() -> None:
    def appended() -> Any:
        a, many = draw(), []
        if a > 0.5:
            many.append(a + 1)
        else:
            many.append(a + 2)
        return many[0]

    with pytest.raises(ValueError, match="left in a variable by both"):
        define(appended)


def test_what_leaves_a_branch() -> None:
    def breaks() -> Any:
        a = draw()
        for _ in range(3):
            if a > 0.5:
                break
            a = a + 1
        return a

    def half_returns() -> Any:
        a = draw()
        if a > 0.5:
            if a > 0.7:
                return a + 1
            a = a + 2
        else:
            a = a - 1
        return a * 2

    with pytest.raises(TypeError, match="a branch with a break"):
        define(breaks)
    with pytest.raises(errors.Unsupported, match="a branch with a return"):
        define(half_returns)


def test_what_takes_no_nodes() -> None:
    def loop() -> Any:
        a = draw()
        while a > 0.5:
            a = a + 1
        return a

    def expression() -> Any:
        a = draw()
        return a if a > 0.5 else a + 1

    def gpu() -> Any:
        return fn.random.coin_flip(dtype=types.BOOL).gpu() and True

    for function in (loop, expression):
        with pytest.raises(TypeError, match="write an `if` statement"):
            define(function)
    with pytest.raises((RuntimeError, ValueError), match="on the GPU|on gpu"):
        define(gpu)


def test_without_conditions_a_node_is_none() -> None:
    def plain() -> Any:
        a = draw()
        if a > 0.5:
            a = a + 1
        return a

    with pytest.raises(TypeError, match="enable_conditionals=True"):
        pipeline_def(batch_size=2, num_threads=1)(plain)()
    assert pipeline_def(batch_size=2, num_threads=1)(plain)(enable_conditionals=True).serialize()


@do_not_convert
def kept(a: Any) -> Any:
    return a and 1


def test_do_not_convert() -> None:
    with pytest.raises(TypeError, match="as a condition"):
        define(lambda: kept(fn.random.coin_flip()))

    def calls() -> Any:
        return kept(fn.random.coin_flip())

    with pytest.raises(TypeError, match="as a condition"):
        define(calls)
    assert do_not_convert()(kept) is kept
    with pytest.raises(ValueError, match="do_not_convert"):
        pipeline_def(kept)


def test_errors_of_a_definition_have_their_lines() -> None:
    def fails() -> Any:
        a = draw()
        if a > 0.5:
            raise LookupError("mine")
        return a

    with pytest.raises(LookupError, match="mine") as caught:
        define(fails)
    place = caught.traceback[-1]
    assert str(place.path) == __file__
    assert "raise LookupError" in str(place.statement)


def test_an_error_that_the_definition_catches_ends_its_branches() -> None:
    def fails(x: Any) -> Any:
        if x > 0.5:
            if x > 0.7:
                raise KeyError("mine")
        return x

    def caught() -> Any:
        x = draw()
        try:
            fails(x)
        except KeyError:
            x = x + 1
        return x

    def plain() -> Any:
        x = draw()
        return x + 1

    (one, other) = (define(f) for f in (caught, plain))
    one.serialize()
    other.serialize()
    assert [op.schema.name for op in one._ops] == [op.schema.name for op in other._ops]


def test_the_function_itself_stays() -> None:
    def outer(scale: int = 2, *, shift: float = 1.0) -> Any:
        """Documented."""
        a = draw()
        if a > 0.5:
            a = a * scale
        return a + shift

    made = pipeline_def(enable_conditionals=True, batch_size=1, num_threads=1)(outer)
    assert made(3, shift=2.0).serialize() != made().serialize() == made().serialize()
    assert made.__doc__ == "Documented." and outer.__code__.co_freevars == ()


@pytest.mark.usefixtures("sidecar")
def test_each_sample_takes_its_branch() -> None:
    def graph() -> Any:
        x = draw()
        y, kind = x * 10, 0
        if x > 0.7 or x < 0.1:
            y, kind = y + 100, 1
        elif x > 0.4:
            if not (x > 0.5):
                y, kind = -x, 2
            else:
                y = y * 2
        else:
            kind = 3
        return y, x, kind

    pipe = define(graph)
    seen = set()
    for _ in range(8):
        y, x, kind = (out.as_array() for out in pipe.run())
        where = [(x > 0.7) | (x < 0.1), (x > 0.4) & (x <= 0.5), x > 0.4]
        expected = np.select(where, [x * 10 + 100, -x, x * 20], x * 10)
        np.testing.assert_allclose(y, expected, rtol=1e-6)
        assert (kind == np.select(where, [1, 2, 0], 3)).all()
        seen.update(kind.tolist())
    assert seen == {0, 1, 2, 3}


@pytest.mark.usefixtures("sidecar")
def test_returns_in_several_branches() -> None:
    def graph() -> Any:
        """Documented."""
        x = draw()
        if x > 0.9:
            return x, x
        elif x > 0.6:
            y = x * 2
            return y, x
        z = x * 4
        if z > 1:
            return z, x
        else:
            return -x, x

    pipe = define(graph)
    for _ in range(4):
        y, x = (out.as_array() for out in pipe.run())
        expected = np.select([x > 0.9, x > 0.6, x * 4 > 1], [x, x * 2, x * 4], -x)
        np.testing.assert_allclose(y, expected, rtol=1e-6)


class Hidden:
    def __init__(self) -> None:
        self.__factor = 3

    def scaled(self, x: Any) -> Any:
        if x > 0.5:
            return x * self.__factor
        else:
            return x


class Doubled(Hidden):
    def scaled(self, x: Any) -> Any:
        y = super().scaled(x)
        if y > 2:
            y = y * 2
        return y


@pytest.mark.usefixtures("sidecar")
def test_methods_of_classes() -> None:
    """Names that a class hides, and super(), are what they were."""

    def graph() -> Any:
        x = draw()
        return Doubled().scaled(x), x

    pipe = define(graph)
    for _ in range(4):
        y, x = (out.as_array() for out in pipe.run())
        scaled = np.where(x > 0.5, x * 3, x)
        np.testing.assert_allclose(y, np.where(scaled > 2, scaled * 2, scaled), rtol=1e-6)


@pytest.mark.usefixtures("sidecar")
def test_variables_of_an_outer_function() -> None:
    def graph() -> Any:
        x = draw()
        total = x

        def add(v: Any) -> None:
            nonlocal total
            if v > 0.5:
                total = total + v

        add(x)
        add(total)
        return total, x

    pipe = define(graph)
    for _ in range(4):
        total, x = (out.as_array() for out in pipe.run())
        once = np.where(x > 0.5, x * 2, x)
        np.testing.assert_allclose(total, np.where(once > 0.5, once * 2, once), rtol=1e-6)
