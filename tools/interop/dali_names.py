"""dali_names.py: prints every name and argument of DALI's Pipeline, pipeline_def and DataNode, one a line, sorted.

Pipeline(batch_size) is an argument of the constructor, Pipeline.run a method or property, Pipeline.run(cuda_stream)
an argument of a method. Names that begin with one underscore are left out. The source is read and not imported, so
that no GPU is needed. The output is testdata/dali-pipeline-names.txt.
"""

import ast
import importlib.util
import os


def arguments(function):
    a = function.args
    for arg in a.posonlyargs + a.args + a.kwonlyargs:
        if arg.arg not in ("self", "cls"):
            yield arg.arg
    if a.vararg:
        yield "*" + a.vararg.arg
    if a.kwarg:
        yield "**" + a.kwarg.arg


def is_public(name):
    return not name.startswith("_") or name.startswith("__") and name not in ("__init__", "__del__", "__str__")


def of_function(path, function):
    yield path
    if not function.name.startswith("__"):
        yield from (f"{path}({a})" for a in arguments(function))


def of_class(cls):
    for member in cls.body:
        if not isinstance(member, ast.FunctionDef):
            continue
        if member.name == "__init__":
            yield from (f"{cls.name}({a})" for a in arguments(member))
        elif is_public(member.name):
            yield from of_function(f"{cls.name}.{member.name}", member)


def names(folder):
    for file in "pipeline.py", "data_node.py":
        with open(os.path.join(folder, file), encoding="utf-8") as source:
            tree = ast.parse(source.read())
        for d in tree.body:
            if isinstance(d, ast.ClassDef) and d.name in ("Pipeline", "DataNode"):
                yield from of_class(d)
            if isinstance(d, ast.FunctionDef) and d.name in ("pipeline_def", "do_not_convert") and not any(
                ast.unparse(o) == "overload" for o in d.decorator_list
            ):
                yield from of_function(d.name, d)
    yield "experimental.pipeline_def(debug)"  # it is taken from the keyword arguments
    yield "ops"  # the classes of operators


if __name__ == "__main__":
    package = importlib.util.find_spec("nvidia.dali").submodule_search_locations[0]
    print("\n".join(sorted(set(names(package)))))
