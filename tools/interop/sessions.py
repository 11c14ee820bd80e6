"""Sessions of partial saves that one side begins and another finalizes, and checkpoints that Bivouac adds to."""

import os

import numpy as np

import limits
import truth
import turns
import values

LOOSE = (("empty_tuple", "empty_list"),)

# who saves the parts, in turn, and who finalizes
SESSIONS = [(("ours",), "v1"), (("v1",), "ours"), (("ours", "v1", "ours"), "v1"), (("v1", "ours", "v1"), "ours")]


def random_parts(rng, count):
    """The leaves of a random tree, dealt out by the keys of its root; strings are all in the first part."""
    trees = values.Trees(rng, limits.ORBAX, values.random_array)
    tree = trees.tree()
    with_strings = [k for k, v in tree.items() if any(isinstance(x, str) for _, _, x in truth.flatten(v))]
    others = [k for k in tree if k not in with_strings]
    parts = [{k: tree[k] for k in others[i::count]} for i in range(count)]
    parts[0] |= {k: tree[k] for k in with_strings}
    return tree, [p for p in parts if p]


def files(path):
    """Every file below a directory, with its bytes."""
    out = {}
    for at, _, names in os.walk(path):
        for n in names:
            with open(os.path.join(at, n), "rb") as f:
                out[os.path.relpath(os.path.join(at, n), path)] = f.read()
    return out


class Sessions:
    """What is played, with both sides."""

    def __init__(self, root, rng, program):
        from orbax.checkpoint import v1

        self.v1, self.rng, self.root = v1, rng, root
        self.ours = turns.Bivouac(program)

    def part(self, who, path, tree):
        if who == "ours":
            self.ours.ask("part", path, leaves=truth.leaves(tree))
        else:
            self.v1.partial.save(path, tree)

    def finalize(self, who, path):
        if who == "ours":
            self.ours.ask("finalize", path)
        else:
            self.v1.partial.finalize(path)

    def loaded(self, path, want):
        """What both sides load, against what was saved."""
        wrong = [f"v1: {d}" for d in truth.differences(want, truth.leaves(self.v1.load(path)), LOOSE)]
        return wrong + [f"ours: {d}" for d in truth.differences(want, self.ours.ask("load", path), LOOSE)]

    def relay(self, row, who, last):
        path = os.path.join(self.root, f"session{row}")
        tree, parts = random_parts(self.rng, len(who))
        for side, part in zip(who, parts):
            self.part(side, path, part)
        self.finalize(last, path)
        return self.loaded(path, truth.leaves(tree))

    def guarded(self):
        """Strings in two parts, one of them ours: Orbax refuses before it moves a file, Bivouac finalizes."""
        path = os.path.join(self.root, "guarded")
        tree = {"a": "one", "w": np.arange(5000.0), "b": "two"}
        self.part("v1", path, {"a": tree["a"], "w": tree["w"]})
        self.part("ours", path, {"b": tree["b"]})
        before = files(path + ".partial_save")
        wrong = []
        try:
            self.v1.partial.finalize(path)
            wrong.append("Orbax finalized strings of two parts")
        except Exception:  # noqa: BLE001 - how it refuses is its affair
            pass
        if files(path + ".partial_save") != before or os.path.exists(path):
            wrong.append("Orbax refused, but moved files before")
        self.finalize("ours", path)
        return wrong + self.loaded(path, truth.leaves(tree))

    def update(self, first):
        """A finished checkpoint of one side to which Bivouac adds, twice; Orbax reads it after each time."""
        path = os.path.join(self.root, f"update-{first}")
        tree, parts = random_parts(self.rng, 3)
        if first == "ours":
            self.ours.ask("update", path, leaves=truth.leaves(parts[0]))
        else:
            self.v1.save(path, parts[0])
        have, wrong = dict(parts[0]), []
        for part in parts[1:]:
            self.ours.ask("update", path, leaves=truth.leaves(part))
            have |= part
            wrong += self.loaded(path, truth.leaves(have))
        return wrong


def play_all(root, seed, program):
    """Plays everything; prints a line for each and one for every difference, and returns how many there were."""
    os.makedirs(root, exist_ok=True)
    s = Sessions(root, np.random.default_rng([seed, 4000]), program)
    plays = [(" + ".join(who) + ", finalized by " + last, lambda r=row, w=who, l=last: s.relay(r, w, l)) for row, (who, last) in enumerate(SESSIONS)]
    plays.append(("strings in two parts", s.guarded))
    plays += [(f"added to a checkpoint of {who}", lambda w=who: s.update(w)) for who in ("ours", "v1")]
    total = 0
    for name, play in plays:
        try:
            wrong = play()
        except Exception as e:  # noqa: BLE001 - a refusal is a difference
            wrong = [f"{type(e).__name__}: {str(e)[:600]}"]
        for w in wrong:
            print(f"DIFFERENT {name}: {w}")
        print(f"session: {name:40}: {len(wrong)} differences")
        total += len(wrong)
    return total
