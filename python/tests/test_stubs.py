"""The stub of the extension module names what the module has, with the same arguments."""

import ast
import inspect
import pathlib

from onebasin import _lib

STUB = ast.parse((pathlib.Path(_lib.__file__).parent / "_lib.pyi").read_text())
FUNCTIONS = {node.name: node for node in STUB.body if isinstance(node, ast.FunctionDef)}
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def arguments(node):
    return [argument.arg for argument in node.args.args if argument.arg != "self"]


def test_every_function_has_its_stub_with_the_same_arguments():
    functions = {name: value for name, value in vars(_lib).items() if inspect.isbuiltin(value)}
    assert sorted(functions) == sorted(FUNCTIONS)
    for name, function in functions.items():
        assert list(inspect.signature(function).parameters) == arguments(FUNCTIONS[name]), name


def test_every_class_has_its_stub_with_the_same_methods():
    classes = {name: value for name, value in vars(_lib).items() if inspect.isclass(value)}
    assert sorted(classes) == sorted(CLASSES)
    for name, own in classes.items():
        methods = {node.name: arguments(node) for node in CLASSES[name].body if isinstance(node, ast.FunctionDef)}
        assert sorted(methods) == sorted(method for method in vars(own) if not method.startswith("__"))
        for method, expected in methods.items():
            assert [n for n in inspect.signature(getattr(own, method)).parameters if n != "self"] == expected, method
