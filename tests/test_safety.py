"""What the package must not contain: ways to run what a file says."""

from __future__ import annotations

import ast
from collections.abc import Iterable

import pytest
from sources import nodes, sources

FILES = sources("calprobe", "kernels", "templates")
MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve", "yaml", "tarfile", "zipfile"}
CALLS = {"eval", "exec", "os.system", "os.popen", "torch.load", "pd.read_pickle", "pandas.read_pickle", "yaml.load"}
CALLS |= {"shutil.unpack_archive", "np.loadtxt"}
SWITCHES = {"shell", "allow_pickle"}  # as arguments that are True


def dangers(tree: Iterable[ast.AST]) -> list[str]:
    found = []
    for node in tree:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            found += [name for name in names if name.split(".")[0] in MODULES]
        elif isinstance(node, ast.Call):
            found += [ast.unparse(node.func)] if ast.unparse(node.func) in CALLS else []
            found += [
                f"{keyword.arg}=True"
                for keyword in node.keywords
                if keyword.arg in SWITCHES and getattr(keyword.value, "value", None) is True
            ]
    return found


@pytest.mark.parametrize(
    "source",
    [
        *("import pickle", "from yaml import load", "eval('1')", "torch.load(f)", "run('x', shell=True)"),
        "import tarfile",
    ],
)
def test_dangers_are_seen(source: str) -> None:
    assert dangers(ast.walk(ast.parse(source)))


def test_there_are_none() -> None:
    assert FILES
    assert {file.name: found for file in FILES if (found := dangers(nodes(file)))} == {}
