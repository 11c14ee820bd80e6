"""Random programs of DALI with conditionals, as text: what a user writes with enable_conditionals.

The counterpart is proof/interop/branches.go: branches in branches, random operators that
see only the samples of a branch, expressions that are written twice, what was made outside and
is used on both sides, and outputs that are delivered twice.
"""

import importlib.util


class Program:
    """The text of a function that returns outputs of a pipeline."""

    def __init__(self, r):
        self.r, self.lines, self.names, self.used = r, [], 0, {"conditions"}

    def name(self):
        self.names += 1
        return f"x{self.names}"

    def say(self, indent, text):
        self.lines.append("    " * indent + text)

    def call(self, operator, *args):
        self.used.add(operator)
        return f"fn.{operator}({', '.join(args)})"

    def condition(self, depth):
        r = self.r
        holds = lambda: f"({self.call('random.uniform', 'range=[0.0, 1.0]')} < {r.choice([0.25, 0.5, 0.75])})"
        if depth > 0:
            kind = r.randrange(6)
            if kind == 0:
                return f"{holds()} and {holds()}"
            if kind == 1:
                return f"{holds()} or {holds()}"
            if kind == 2:
                return f"not {holds()}"
            if kind == 3:
                return holds()
        return self.call("random.coin_flip", f"probability={r.randrange(5) / 4}")

    def fork(self, x, indent, depth, within):
        """Puts the variable x through a conditional."""
        for word in (f"if {self.condition(depth)}:", "else:"):
            self.say(indent, word)
            before = len(self.lines)
            for _ in range(self.r.randrange(4)):
                within(x, indent + 1, depth - 1)
            if len(self.lines) == before:
                self.say(indent + 1, f"{x} = {x}")

    def numbers(self, x, indent, depth):
        kind = self.r.randrange(9)
        if kind == 7 and depth > 0:
            return self.fork(x, indent, depth, self.numbers)
        new = {
            0: lambda: f"{x} * 2 + 3",
            1: lambda: f"{x} * 2 + {x} * 2",
            2: lambda: self.call("noise.salt_and_pepper", x, "prob=0.25"),
            3: lambda: self.call("random.uniform", x, "range=[-1.0, 1.0]") + f" + {x}",
            4: lambda: f"fn.cast({self.call('random.coin_flip', x, 'probability=0.5')}, dtype=types.FLOAT) * {x}",
            5: lambda: f"{x} + " + self.call("random.uniform", "range=[0.0, 1.0]"),
            6: lambda: f"{self.call('copy', x)} + {self.call('copy', x)}",
        }.get(kind, lambda: self.call("pad", x, "fill_value=2.5", "align=[4]", "axes=[0]"))()
        self.say(indent, f"{x} = {new}")

    def image(self, x, indent, depth):
        kind = self.r.randrange(7)
        if kind == 5 and depth > 0:
            return self.fork(x, indent, depth, self.image)
        new = {
            0: lambda: self.call("noise.salt_and_pepper", x, "prob=0.25"),
            1: lambda: self.call("random_resized_crop", x, "size=[5, 7]", "interp_type=types.INTERP_NN", "antialias=False"),
            2: lambda: self.call("flip", x, "horizontal=" + self.call("random.coin_flip")),
            3: lambda: self.call("brightness_contrast", x, "brightness=" + self.call("random.uniform", "range=[0.5, 1.5]")),
            4: lambda: self.call("flip", self.call("flip", x)),
        }.get(kind, lambda: self.call("crop", x, "crop=[2, 3]", "crop_pos_x=" + self.call("random.uniform", "range=[0.0, 1.0]")))()
        self.say(indent, f"{x} = {new}")

    def output(self):
        """A variable that holds what a conditional gives."""
        x = self.name()
        if self.r.random() < 0.5:
            self.say(1, f"{x} = " + self.call("random.uniform", f"range=[-4.0, {float(self.r.randrange(100))}]", "shape=[4, 6]"))
            within = self.numbers
        else:
            self.say(1, f"{x} = " + self.call("reshape", self.call("random.uniform", "range=[0.0, 255.0]", "shape=[20, 30, 3]", "dtype=types.UINT8"), "layout='HWC'"))
            within = self.image
        for _ in range(self.r.randint(1, 2)):
            self.fork(x, 1, 2, within)
        return x

    def text(self):
        outputs = [self.output() for _ in range(self.r.randint(1, 3))]
        if self.r.randrange(4) == 0:
            outputs.append(self.r.choice(outputs))
        head = ["import nvidia.dali.fn as fn", "import nvidia.dali.types as types", "from nvidia.dali import pipeline_def", "", "",
                "@pipeline_def(enable_conditionals=True)", "def program():"]
        return "\n".join([*head, *self.lines, f"    return {', '.join(outputs)}", ""])


def pipeline(r, **options):
    """A random pipeline and the operators in it. Its text is written to program.py, where DALI reads it."""
    p = Program(r)
    with open("program.py", "w") as f:
        f.write(p.text())
    spec = importlib.util.spec_from_file_location("program", "program.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program(**options), p.used
