"""Graphs whose conditions are nodes. `graphs` builds them with a package: Bivouac, or DALI."""

from __future__ import annotations

import functools
from typing import Any, Protocol


class Scaled:
    """An object with methods that a graph calls."""

    def __init__(self) -> None:
        self.scale = 3

    def method(self, x: Any) -> Any:
        if x > 0.5:
            return x * self.scale
        else:
            return x

    def __call__(self, x: Any) -> Any:
        if x > 0.5:
            x = self.method(x)
        return x


class Fields:
    """An object with attributes that branches set."""

    x: Any
    y: Any
    z: Any


def raised(x: Any, most: float = 0.7) -> Any:
    if x > most:
        x = x + 1
    return x


BETWEEN: Any = lambda x: x > 0.3 and x < 0.9  # noqa: E731
ADDED: Any = lambda x: (  # noqa: E731
    raised(x)
    + raised(x * 2)
)
TIMES: Any = {2: lambda x: raised(x * 2), 3: lambda y: raised(y * 3)}


class Graph(Protocol):
    def __call__(self) -> Any: ...


def graphs(p: Any) -> dict[str, bytes]:
    """Return the serialized pipeline of each graph."""
    found = {}
    for name, function in functions(p).items():
        settings = {"batch_size": 4, "num_threads": 1, "seed": 7, "enable_conditionals": True}
        found[name] = p.pipeline_def(**settings)(function)().serialize()
    return found


def functions(p: Any) -> dict[str, Graph]:
    """Return the functions that define the graphs."""
    fn, types = p.fn, p.types

    def draw() -> Any:
        return fn.random.uniform(range=[0.0, 1.0])

    def flag() -> Any:
        return fn.random.coin_flip(dtype=types.BOOL)

    def simple() -> Any:
        x, y = draw(), fn.random.uniform(range=[10.0, 20.0])
        if x > 0.5:
            y = y + 1
        else:
            y = y * 2
        return y, x

    def without_else() -> Any:
        x = draw()
        y, z = x * 3, 5
        if x > 0.5:
            y = y + x
            z = 7
        return y, z

    def nested() -> Any:
        a, b = draw(), draw()
        r = a
        if a > 0.5:
            if b > 0.3:
                r = a + b
            else:
                r = a - b
            r = r * 2
        elif b < 0.1:
            r = b
        else:
            r = draw()
        return r

    def logical() -> Any:
        a, b, c = flag(), flag(), flag()
        x = a and b or not c
        y = a and b and c
        if a or b:
            z = fn.cast(a, dtype=types.INT32)
        else:
            z = 0
        return x, y, z

    def returns() -> Any:
        a = draw()
        if a > 0.5:
            return a + 1
        else:
            return a - 1

    def early_return() -> Any:
        a = draw()
        if a > 0.5:
            return a + 1
        b = a * 3
        return b - 1

    def many_returns() -> Any:
        def second(v: Any, plain: bool) -> Any:
            if plain:
                return v + 1
            if v > 0.3:
                return v
            return v * 3

        a = draw()
        return second(a, True), second(a, False)

    def structures() -> Any:
        a = draw()
        found: Any = None
        if a > 0.5:
            found, many = (a, {"y": a + 1, "x": 2}), [a, 1]
        else:
            found, many = (a + 2, {"x": 3, "y": a}), [a, 3]
        return found[0], found[1]["x"], found[1]["y"], many[0], many[1]

    def helpers() -> Any:
        def inner(v: Any, w: int = 3) -> Any:
            if v > 0.5:
                v = v * w
            return v

        def any_arguments(*v: Any, k: int = 2, **more: Any) -> Any:
            if v[0] > 0.5:
                r = v[0] * k
            else:
                r = v[0] + more["q"]
            return r

        a = draw()
        return (inner(a), *[inner(a + i) for i in range(2)], any_arguments(a, k=3, q=a * 2))

    def loops() -> Any:
        a = draw()
        s = a
        for i in range(3):
            if i == 1:
                continue
            if a > 0.2 * i:
                s += a * i
        n = 0
        while n < 2:
            if s > n:
                s = s + n
            n += 1
        return s

    def python_values() -> Any:
        a, plain, none = draw(), True, []  # type: ignore[var-annotated]
        if plain and len(none) == 0:
            a = a + 1
        if none or None:
            a = a * 100
        if not none:
            a = a + 2
        if 1 < len("abc") < 3:
            a = a * 100
        return a

    def unused_variables() -> Any:
        a = draw()
        t = a
        if a > 0.5:
            t = a + 1
            q = t * 2
            a = q
        else:
            q = 3
        return a

    def order() -> Any:
        a, b, c = draw(), draw(), draw()
        if a > 0.5:
            z = fn.stack(b, fn.cast(c, dtype=types.FLOAT) + 1)
            y = fn.cat(b, fn.stack(c, b))
            m = b
        else:
            m = c
            y = b
            z = c
        return z, y, m, a

    def chains() -> Any:
        a = draw()
        if 0.2 < a < 0.7:
            a = a + 1
        return a

    def inputs_and_arguments() -> Any:
        a = draw()
        image = fn.zeros(shape=[4, 4, 3], dtype=types.UINT8)
        if a > 0.5:
            image = fn.rotate(image, angle=a * 10, fill_value=0)
        else:
            image = fn.flip(image, horizontal=fn.random.coin_flip())
        return image

    def indices() -> Any:
        a = fn.random.uniform(range=[0.0, 1.0], shape=[3])
        if a[0] > 0.5:
            b = a[1:]
        else:
            b = a[:2]
        return b, fn.random.coin_flip()

    def external() -> Any:
        x = fn.external_source(source=lambda: 3, batch=False)
        y = fn.external_source(name="y")
        if x > 0:
            y = y + x
        return y

    def lambdas() -> Any:
        a = draw()
        both: Any = lambda v: v and True  # noqa: E731
        return both(flag()), a

    def lambdas_of_the_module() -> Any:
        a = draw()
        return BETWEEN(a), ADDED(a), TIMES[2](a), TIMES[3](a)

    def partials() -> Any:
        a = draw()
        return functools.partial(raised)(a), functools.partial(raised, most=0.2)(a)

    def on_gpu() -> Any:
        a = draw()
        b = a.gpu()
        if a > 0.5:
            c = b + 1
        else:
            c = a.gpu()
        return c

    def methods() -> Any:
        a, scaled = draw(), Scaled()
        return scaled.method(a), scaled(a)

    def elements() -> Any:
        a, found = draw(), {}
        if a > 0.5:
            found["a"] = a + 1
        else:
            found["a"] = a + 2
        return found["a"]

    def attributes() -> Any:
        o = Fields()
        o.x = draw()
        o.y = 1
        if o.x > 0.5:
            o.y = o.x + 1
            o.z = o.y * 2
        else:
            o.z = o.x
        return o.y, o.z

    def deep() -> Any:
        a = draw()
        o = a
        for i in range(2):
            if a > 0.5:
                if o > 0.2 * i:
                    o = o + a
                else:
                    o = o - 1
            elif not (a < 0.2):
                pass
            else:
                o = draw()
                o = o * a
        return o

    def other_statements() -> Any:
        a = draw()
        b = a
        try:
            if a > 0.5:
                b = a + 1
            else:
                b = a + 2
        except KeyError:
            b = 3
        finally:
            c = b
        with open("/dev/null"):
            if a > 0.2:
                c = c * 2
        if (n := len([1, 2, 3])) > 2:
            a = a * n
        many, found = [x * 2 for x in [a, a + 1]], {"q": a}
        a += 1
        found["q"] += a
        return (b, c, a, *many, found["q"])

    def constants() -> Any:
        a = draw()
        if a > 0.5:
            x, y, z = 1, True, [2.5, 3]
        else:
            x, y, z = 2, False, [1.5, 4]
        return (x, y, *z)

    def permutations() -> Any:
        a, i = flag(), fn.constant(idata=[-1], shape=[])
        x = draw()
        if a:
            i = fn.batch_permutation()
            x = fn.permute_batch(x, indices=fn.batch_permutation(seed=3, allow_repetitions=True))
        else:
            if x > 0.5:
                i = fn.batch_permutation(no_fixed_points=True) + 10
        return a, x, i

    def permutation_of_condition() -> Any:
        x = draw()
        return flag() and (fn.batch_permutation() < 2), x

    local = {k: v for k, v in locals().items() if k not in ("p", "fn", "types", "draw", "flag")}
    return local
