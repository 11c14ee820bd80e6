"""Types, constants, functions and stubs: the names of DALI, and one source for all of them."""

from __future__ import annotations

import ast
import inspect
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bivouac
from bivouac import Pipeline, fn, math, ops, types
from bivouac._pipeline import schemas

PACKAGE = Path(bivouac.__file__).parent

DATA_TYPES = (
    "UINT8 UINT16 UINT32 UINT64 INT8 INT16 INT32 INT64 FLOAT16 FLOAT FLOAT64 BOOL STRING _BOOL_VEC "
    "_INT32_VEC _STRING_VEC _FLOAT_VEC FEATURE _FEATURE_VEC _FEATURE_DICT IMAGE_TYPE DATA_TYPE "
    "INTERP_TYPE TENSOR_LAYOUT PYTHON_OBJECT _TENSOR_LAYOUT_VEC _DATA_TYPE_VEC _INT64_VEC"
)


def test_enumerations() -> None:
    """Names and numbers are those of DALI 2.4.0."""
    members = {name: int(member) for name, member in types.DALIDataType.__members__.items()}
    assert members == {"NO_TYPE": -1} | {name: i for i, name in enumerate(DATA_TYPES.split())}
    names = [m.name for m in types.DALIImageType]
    assert names == ["RGB", "BGR", "GRAY", "YCbCr", "ANY_DATA"]
    names = [m.name.removeprefix("INTERP_") for m in types.DALIInterpType]
    assert names == ["NN", "LINEAR", "CUBIC", "LANCZOS3", "TRIANGULAR", "GAUSSIAN"]
    for kind in (types.DALIDataType, types.DALIImageType, types.DALIInterpType):
        for member in kind:
            assert kind(int(member)) is member and str(member) == f"{kind.__name__}.{member.name}"
            assert member.name.startswith("_") or getattr(types, member.name) is member
            assert pickle.loads(pickle.dumps(member)) is member
    number: object = 9
    assert types.FLOAT != number and repr(types.FLOAT) == "<DALIDataType.FLOAT: 9>"
    for name in types.__all__:
        assert hasattr(types, name)


def test_types_of_numpy() -> None:
    for name in "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float64".split():
        found = types.to_dali_type(np.dtype(name))
        assert found.name == name.upper() and types.to_dali_type(getattr(np, name)) is found
        assert np.dtype(types.to_numpy_type(found)) == np.dtype(name)
    assert types.to_dali_type("torch.float32") is types.FLOAT is types.to_dali_type("float")
    assert types.to_dali_type("torch.half") is types.FLOAT16
    assert types.to_numpy_type(types.FLOAT) is np.float32
    with pytest.raises(TypeError):
        types.to_dali_type(np.dtype("complex64"))
    with pytest.raises(KeyError):
        types.to_numpy_type(types.STRING)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (True, None, "True:DALIDataType.BOOL"),
        (3, None, "3:DALIDataType.INT32"),
        (2.5, None, "2.5:DALIDataType.FLOAT"),
        (3, types.FLOAT16, "3.0:DALIDataType.FLOAT16"),
        (2.5, types.INT8, "2:DALIDataType.INT8"),
        (np.float64(3), None, "3.0:DALIDataType.FLOAT64"),
        (np.array(3), None, "3:DALIDataType.INT64"),
        (np.uint8(3), types.BOOL, "True:DALIDataType.BOOL"),
    ],
)
def test_numbers(value: Any, dtype: Any, expected: str) -> None:
    constant = types.Constant(value, dtype)
    assert isinstance(constant, types.ScalarConstant) and str(constant) == expected
    assert constant == types.Constant(value, dtype) and not constant != types.Constant(value, dtype)


def test_conversions_of_numbers() -> None:
    constant = types.Constant(3)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        assert getattr(constant, name)() == types.Constant(3, types.DALIDataType[name.upper()])
    assert constant.float32().dtype is types.FLOAT and constant.bool().value is True
    assert constant.float16().value == constant.float64().value == 3.0
    assert int(constant) == 3 and bool(constant) and float(constant.float32()) == 3.0
    assert constant != types.Constant(3, types.INT8) and constant != types.Constant(4)
    with Pipeline(1, 1):
        node = fn.constant(fdata=[1.0])
        assert (constant == node).source is not None  # an operator, as `node == constant`


def test_nodes() -> None:
    with Pipeline(1, 1) as pipe:
        node = fn.constant(fdata=[1.0], name="c")
        assert str(node).startswith('DataNode(name="c", device="cpu", source="bivouac.fn.constant"')
        assert (node.ndim, node.dtype, node.layout, node.index) == (None, None, None, 0)
        assert node.source is not None and node.source.pipeline is pipe
        assert len({node, node, fn.constant(fdata=[1.0])}) == 2
        assert node.gpu().device == "gpu" and node.gpu().gpu().name == "c" and node.cpu() is node
        assert +node is node


def test_functions_are_like_the_schemas() -> None:
    for name in schemas.names():
        if name.startswith("_"):
            continue
        schema = schemas.lookup(name)
        function: Any = fn
        made: Any = ops
        for part in schema.module:
            function, made = getattr(function, part), getattr(made, part)
        function, made = getattr(function, schema.function), getattr(made, schema.class_name)
        assert function.__name__ == schema.function and schema.doc in function.__doc__
        assert function.__module__ == ".".join(("bivouac.fn", *schema.module))
        assert pickle.loads(pickle.dumps(function)) is function
        assert pickle.loads(pickle.dumps(made)) is made and made.schema is schema
        given = inspect.signature(function).parameters
        named = {p.name for p in given.values() if p.kind is p.KEYWORD_ONLY}
        assert named == {"device", "name", *schema.params}
        assert dir(sys.modules[function.__module__]).count(schema.function) == 1


def stubs(root: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Return the functions or classes of stubs by their full names."""
    found = {}
    for path in sorted((PACKAGE / root).rglob("*.pyi")):
        parts = path.relative_to(PACKAGE / root).with_suffix("").parts
        module = [part for part in parts if part != "__init__"]
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[".".join([*module, node.name])] = node
    return found


def test_stubs_are_like_the_functions() -> None:
    public = {name for name in schemas.names() if not name.startswith("_")}
    functions, classes = stubs("fn"), stubs("ops")
    assert set(functions) == public
    for name in public:
        schema = schemas.lookup(name)
        function, made = functions[name], classes[".".join((*schema.module, schema.class_name))]
        assert isinstance(function, ast.FunctionDef) and isinstance(made, ast.ClassDef)
        assert ast.get_docstring(function) and ast.get_docstring(made)
        named = {arg.arg for arg in function.args.kwonlyargs}
        assert named == {"device", "name", *schema.params}
        count = len(function.args.args) + len(function.args.posonlyargs)
        assert count + bool(function.args.vararg) == len(schema.inputs)
        init = made.body[1]
        assert isinstance(init, ast.FunctionDef) and init.name == "__init__"
        assert {arg.arg for arg in init.args.kwonlyargs} == named
    assert len(classes) == len(public)


def test_functions_of_math() -> None:
    with Pipeline(1, 1):
        node = fn.constant(fdata=[1.0])
        for name in math.__all__:
            function = getattr(math, name)
            made = function(*[node] * len(inspect.signature(function).parameters))
            text = next(a for a in made.source.args if a.name == "expression_desc").values[0]
            assert text.startswith(f"{name}(&0")


def test_modules_can_be_imported() -> None:
    """Modules of operators are modules, although they have no files."""
    code = (
        "import bivouac.fn.readers; from bivouac.fn.experimental import readers; "
        "from bivouac.ops.decoders import Image; import bivouac.fn as fn; "
        "assert readers is fn.experimental.readers; "
        "from bivouac.pipeline import Pipeline, pipeline_def; from bivouac import types"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE.parent)


def test_importing_bivouac_loads_no_operators() -> None:
    code = (
        "import sys, bivouac; assert not [m for m in sys.modules if '_pipeline' in m]; "
        "bivouac.fn.resize"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=PACKAGE.parent)
