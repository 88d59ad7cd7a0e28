"""Which keys of ``additional_config`` a vllm-ascend knows, read from its source without running it.

Releases up to 0.26 take what they know with ``config.get("key")`` and ignore the rest, so that a
misspelled key does nothing; later ones declare fields and refuse the rest. Both are read here:
every place that takes something out of the mapping, followed through assignments, calls and
constructors, and the declared fields of the configuration classes.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

Path = tuple[str, ...]
"""Keys from the top: ``("ascend_compilation_config", "fuse_norm_quant")``."""

_ROOT = "additional_config"
_ROOT_CLASS = "AscendConfig"
_STRIPPED = "_NON_USER_INPUT_KEYS"
_DEFAULTS = "_defaults"
_READS = frozenset({"get", "setdefault", "pop"})
_COPIES = frozenset({"dict", "copy", "deepcopy"})
_DEPTH = 8


class KnownKeys(msgspec.Struct, frozen=True):
    """Every path that some part of a source takes from ``additional_config``."""

    paths: frozenset[Path]

    def unknown(self, config: Mapping[str, Any]) -> list[str]:
        """Return the keys of ``config`` that nothing reads, dotted, nested ones included."""
        return [".".join(path) for path in _walk(config) if self._judged(path) is False]

    def unchecked(self, config: Mapping[str, Any]) -> list[str]:
        """Return the keys inside settings whose own keys the source does not name."""
        return [".".join(path) for path in _walk(config) if self._judged(path) is None]

    def _judged(self, path: Path) -> bool | None:
        if path in self.paths:
            return True
        above = path[:-1]
        named = any(known[:-1] == above for known in self.paths)
        if named:
            return False
        # below a setting that is taken whole, or below one that is unknown and said to be already
        return None


def _walk(config: Mapping[str, Any], above: Path = ()) -> Iterator[Path]:
    for key, value in config.items():
        path = (*above, key)
        yield path
        if isinstance(value, Mapping):
            yield from _walk(value, path)


def known_keys(sources: Iterable[str]) -> KnownKeys:
    """Return what the modules with these texts take from ``additional_config``.

    Raises:
        SyntaxError: a text is not Python.
        ValueError: none of them has the class that reads the configuration.
    """
    trees = [ast.parse(text) for text in sources if _ROOT in text]
    source = _Source(trees)
    if _ROOT_CLASS not in source.classes:
        raise ValueError(f"no module defines {_ROOT_CLASS}")
    reader = _Reader(source)
    for tree in trees:
        reader.module(tree)
    reader.declared(source.classes[_ROOT_CLASS], (), skip=_stripped(trees))
    return KnownKeys(frozenset(reader.paths | _at_old_places(reader.paths)))


def _at_old_places(paths: set[Path]) -> set[Path]:
    """Return the paths of settings that may also be given where they were before they moved.

    Such a setting is read by name at the top and inside another one, its keys in one place only.
    """
    return {
        path[1:] for path in paths if len(path) > 2 and path[1:2] in paths and path[:2] in paths
    }


def _stripped(trees: Iterable[ast.Module]) -> frozenset[str]:
    """Return the names that a release takes out before the declared fields are matched."""
    return frozenset(
        element.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Set)
        and any(isinstance(to, ast.Name) and to.id == _STRIPPED for to in node.targets)
        for element in node.value.elts
        if isinstance(element, ast.Constant) and isinstance(element.value, str)
    )


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Value = Path | frozenset[str] | None
"""What an expression is known to be: a place in the mapping, one of some texts, or anything."""


class _Source:
    """The classes and functions of some modules, by name."""

    def __init__(self, trees: Iterable[ast.Module]) -> None:
        self.classes: dict[str, ast.ClassDef] = {}
        self.functions: dict[str, _Function] = {}
        for tree in trees:
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name] = node
                elif isinstance(node, _Function):
                    self.functions[node.name] = node


def _method(owner: ast.ClassDef | None, name: str) -> _Function | None:
    body = owner.body if owner else ()
    return next((n for n in body if isinstance(n, _Function) and n.name == name), None)


class _Reader:
    """Collects the paths that are read."""

    def __init__(self, source: _Source) -> None:
        self.paths: set[Path] = set()
        self.source = source
        self._seen: set[tuple[int, tuple[tuple[str, _Value], ...]]] = set()

    def module(self, tree: ast.Module) -> None:
        """Read every function and method, as called with nothing known of its arguments."""
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                own: dict[str, _Value] = {}
                methods = [n for n in node.body if isinstance(n, _Function)]
                for method in sorted(methods, key=lambda method: method.name != "__init__"):
                    _Scope(self, node, own).run(method.body)
            elif isinstance(node, _Function):
                _Scope(self, None, {}).run(node.body)

    def call(
        self,
        function: _Function,
        owner: ast.ClassDef | None,
        arguments: dict[str, _Value],
        depth: int,
    ) -> None:
        """Read a function as called with these arguments, once."""
        known: dict[str, _Value] = {n: value for n, value in arguments.items() if value is not None}
        key = (id(function), tuple(sorted(known.items(), key=lambda item: item[0])))
        if key in self._seen or depth > _DEPTH:
            return
        self._seen.add(key)
        _Scope(self, owner, known, depth).run(function.body)

    def declared(
        self, owner: ast.ClassDef, above: Path, skip: frozenset[str] = frozenset()
    ) -> None:
        """Take the fields of a configuration class, and of the classes they are of, as read."""
        if not _is_declared(owner):
            return
        for node in owner.body:
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
                continue
            name = node.target.id
            annotation = ast.unparse(node.annotation)
            if name.startswith("_") or "ClassVar" in annotation:
                continue
            if name not in skip:
                self.paths.add((*above, name))
            elif (*above, name) not in self.paths:
                continue
            of = self.source.classes.get(annotation.strip("'\""))
            if of is not None and len(above) < _DEPTH:
                self.declared(of, (*above, name))


def _is_declared(owner: ast.ClassDef) -> bool:
    """Whether a class is a validated record: decorated with ``@config`` or ``@dataclass``."""
    return any(
        ast.unparse(decorator).partition("(")[0].rpartition(".")[2] in ("config", "dataclass")
        for decorator in owner.decorator_list
    )


class _Scope:
    """One function body with what is known of its names.

    ``known`` holds names, and attributes of ``self`` as ``self.name``.
    """

    def __init__(
        self,
        reader: _Reader,
        owner: ast.ClassDef | None,
        known: dict[str, _Value],
        depth: int = 0,
    ) -> None:
        self._reader = reader
        self._owner = owner
        self._known = known
        self._depth = depth
        self._local: dict[str, _Function] = {}

    def run(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self._visit(statement)

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._local[node.name] = node
                self.run(node.body)
            case ast.Assign(targets=[target], value=value):
                self._bind(target, self._value(value))
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._bind(target, self._value(value))
            case ast.For(target=ast.Name(id=name), iter=ast.Tuple() | ast.List() as texts):
                self._known[name] = _texts(texts)
                self.run((*node.body, *node.orelse))
            case ast.expr():
                self._value(node)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._visit(child)

    def _bind(self, target: ast.expr, value: _Value) -> None:
        if value is not None and isinstance(target, ast.Name | ast.Attribute):
            self._known[ast.unparse(target)] = value
        elif isinstance(target, ast.Subscript):
            self._value(target)

    def _value(self, node: ast.expr) -> _Value:  # noqa: PLR0911 - one for each kind of node
        match node:
            case ast.Constant(value=str(text)):
                return frozenset({text})
            case ast.Name(id=name):
                return self._known.get(name, () if name == _ROOT else None)
            case ast.Attribute(value=base, attr=name):
                self._value(base)
                return self._known.get(ast.unparse(node), () if name == _ROOT else None)
            case ast.Subscript(value=base, slice=index):
                return self._take(self._value(base), self._value(index))
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[right]):
                self._take(self._value(right), self._value(left))
                return None
            case ast.BoolOp(values=values):
                return _first(self._value(value) for value in values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._value(test)
                return _first((self._value(body), self._value(orelse)))
            case ast.NamedExpr(target=target, value=value):
                found = self._value(value)
                self._bind(target, found)
                return found
            case ast.Call():
                return self._call(node)
        for child in ast.iter_child_nodes(node):
            self._visit(child)
        return None

    def _take(self, base: _Value, keys: _Value) -> _Value:
        """Note that keys are taken from a place; return the place of the key when it is one."""
        if not isinstance(base, tuple) or not isinstance(keys, frozenset):
            return None
        paths = [(*base, key) for key in sorted(keys)]
        self._reader.paths.update(paths)
        return paths[0] if len(paths) == 1 else None

    def _call(self, node: ast.Call) -> _Value:
        arguments = [self._value(argument) for argument in node.args]
        named = {keyword.arg: self._value(keyword.value) for keyword in node.keywords}
        first = arguments[0] if arguments else None
        match node.func:
            case ast.Attribute(value=base, attr=name) if name in _READS:
                return self._take(self._value(base), first)
            case ast.Attribute(value=base, attr="copy") if not arguments:
                return self._value(base)
            case ast.Name(id="getattr") if first is None and len(arguments) > 1:
                return () if arguments[1] == frozenset({_ROOT}) else None
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in _COPIES:
                return first
            case _:
                self._value(node.func)
                self._follow(node.func, arguments, named)
                return None

    def _follow(
        self, called: ast.expr, arguments: list[_Value], named: dict[str | None, _Value]
    ) -> None:
        """Read what is called, when its source is here, with the arguments as they are."""
        source = self._reader.source
        match called:
            case ast.Name(id="cls") if self._owner is not None:
                self._construct(self._owner, arguments, named)
            case ast.Name(id=name) if name in self._local:
                self._enter(self._local[name], self._owner, arguments, named, closure=True)
            case ast.Name(id=name) if name in source.functions:
                self._enter(source.functions[name], None, arguments, named)
            case ast.Name(id=name) if name in source.classes:
                self._construct(source.classes[name], arguments, named)
            case ast.Attribute(value=ast.Name(id=base), attr=name):
                owner = self._owner if base in ("self", "cls") else source.classes.get(base)
                method = _method(owner, name)
                if method is not None:
                    self._enter(method, owner, arguments, named)

    def _construct(
        self, owner: ast.ClassDef, arguments: list[_Value], named: dict[str | None, _Value]
    ) -> None:
        whole = next((v for v in (*arguments, named.get(None)) if isinstance(v, tuple)), None)
        if whole is not None:
            self._reader.declared(owner, whole)
            self._reader.paths.update((*whole, key) for key in _class_defaults(owner))
        init = _method(owner, "__init__")
        if init is not None:
            self._enter(init, owner, arguments, named)

    def _enter(
        self,
        function: _Function,
        owner: ast.ClassDef | None,
        arguments: list[_Value],
        named: dict[str | None, _Value],
        *,
        closure: bool = False,
    ) -> None:
        names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        bound: dict[str, _Value] = dict(self._known) if closure else {}
        bound |= dict(zip(names, arguments, strict=False))
        bound |= {name: value for name, value in named.items() if name is not None}
        spread = named.get(None)
        if isinstance(spread, tuple):
            keywords = [*names[len(arguments) :], *(a.arg for a in function.args.kwonlyargs)]
            self._reader.paths.update((*spread, name) for name in keywords)
            if function.args.kwarg:
                bound[function.args.kwarg.arg] = spread
        self._reader.call(function, owner, bound, self._depth + 1)


def _first(values: Iterable[_Value]) -> _Value:
    """Return the first place among values; every one of them has to be looked at."""
    return next((value for value in list(values) if isinstance(value, tuple)), None)


def _texts(node: ast.Tuple | ast.List) -> _Value:
    texts = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
    return frozenset(texts) if texts and len(texts) == len(node.elts) else None


def _class_defaults(owner: ast.ClassDef) -> list[str]:
    """Return the keys of a class's table of defaults, which some check a mapping against."""
    return [
        key.value
        for node in owner.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Dict)
        and any(isinstance(to, ast.Name) and to.id == _DEFAULTS for to in node.targets)
        for key in node.value.keys
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    ]
