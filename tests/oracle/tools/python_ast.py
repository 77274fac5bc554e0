#!/usr/bin/env python3
"""Python: cognitive complexity on the tree of Python's own parser, by the rules of SonarPython.

There is no program of SonarPython's to run, so its rules are written down here a second time. Prints "cognitive"
(operators in runs by the paper, parentheses or not) and, as a note, where a stop at parentheses would differ.
"""
import ast
import json
import sys
import warnings

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
LOOPS = (ast.For, ast.AsyncFor, ast.While)
TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))


def runs(node):
    """The operators of an expression in the order of the text."""
    if not isinstance(node, ast.BoolOp):
        return []
    operators = runs(node.values[0])
    for value in node.values[1:]:
        operators.append(type(node.op))
        operators += runs(value)
    return operators


def changes(operators):
    return sum(1 for i, op in enumerate(operators) if i == 0 or operators[i - 1] is not op)


def groups(node):
    """As runs, but each pair of parentheses is an expression of its own. Only an `or` inside an `and`, or one
    inside its like, must have been in parentheses; an `and` inside an `or` makes no difference."""
    total = 0

    def walk(inner, operator):
        nonlocal total
        if not isinstance(inner, ast.BoolOp):
            return []
        own = walk(inner.values[0], inner.op)
        for value in inner.values[1:]:
            own.append(type(inner.op))
            own += walk(value, inner.op)
        if operator is not None and (isinstance(inner.op, ast.Or) or type(operator) is type(inner.op)):
            total += changes(own)
            return []
        return own

    own = walk(node, None)
    return total + changes(own)


def returns_name(statement):
    return isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name)


class Counter:
    def __init__(self):
        self.paper = 0
        self.sonar = 0

    def add(self, n):
        self.paper += n
        self.sonar += n

    def body(self, statements, level, owner):
        for statement in statements:
            self.visit(statement, level, owner)

    def function(self, node, level, owner):
        if isinstance(owner, FUNCTIONS):
            wraps = node in owner.body and all(s is node or returns_name(s) for s in owner.body)
            level = level if wraps else level + 1
        else:
            level = 0
        for part in node.decorator_list + [node.args] + ([node.returns] if node.returns else []):
            self.visit(part, level, node)
        self.body(node.body, level, node)

    def conditional(self, node, level, owner):
        """if with its elifs; Python's tree has an elif as an if alone in the else."""
        self.add(1 + level)
        while True:
            self.visit(node.test, level, owner)
            self.body(node.body, level + 1, owner)
            if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If) and self.is_elif(node.orelse[0]):
                node = node.orelse[0]
                self.add(1)
                continue
            if node.orelse:
                self.add(1)
                self.body(node.orelse, level + 1, owner)
            return

    def is_elif(self, node):
        return self.lines[node.lineno - 1].encode()[node.col_offset:].startswith(b"elif")

    def expression(self, node, level, owner):
        self.paper += changes(runs(node))
        self.sonar += groups(node)
        leaves = [node]
        while leaves:
            leaf = leaves.pop()
            if isinstance(leaf, ast.BoolOp):
                leaves += leaf.values
            else:
                self.visit(leaf, level, owner)

    def visit(self, node, level, owner):
        if isinstance(node, FUNCTIONS):
            self.function(node, level, owner)
        elif isinstance(node, ast.ClassDef):
            for part in node.decorator_list + node.bases + node.keywords:
                self.visit(part, 0, node)
            self.body(node.body, 0, node)
        elif isinstance(node, ast.If):
            self.conditional(node, level, owner)
        elif isinstance(node, LOOPS):
            self.add(1 + level)
            for part in [node.test] if isinstance(node, ast.While) else [node.target, node.iter]:
                self.visit(part, level, owner)
            self.body(node.body, level + 1, owner)
            if node.orelse:
                self.add(1)
                self.body(node.orelse, level + 1, owner)
        elif isinstance(node, TRIES):
            self.body(node.body, level, owner)
            for handler in node.handlers:
                self.add(1 + level)
                if handler.type:
                    self.visit(handler.type, level, owner)
                self.body(handler.body, level + 1, owner)
            if node.orelse:
                self.add(1)
                self.body(node.orelse, level + 1, owner)
            self.body(node.finalbody, level, owner)
        elif isinstance(node, getattr(ast, "match_case", ())):
            for part in [node.pattern] + ([node.guard] if node.guard else []):
                self.visit(part, level, owner)
            self.body(node.body, level + 1, owner)
        elif isinstance(node, ast.IfExp):
            self.add(1 + level)
            for part in (node.test, node.body, node.orelse):
                self.visit(part, level + 1, owner)
        elif isinstance(node, ast.BoolOp):
            self.expression(node, level, owner)
        else:
            for child in ast.iter_child_nodes(node):
                self.visit(child, level, owner)


def rows(path):
    with open(path, "rb") as source:
        text = source.read()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        print(json.dumps({"file": path, "failed": str(error)}))
        return
    lines = text.decode("utf-8", "replace").splitlines()
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            counter = Counter()
            counter.lines = lines
            counter.function(node, 0, None)
            row = {"file": path, "line": node.lineno, "column": node.col_offset + 1, "name": node.name,
                   "metric": "cognitive", "value": counter.paper}
            if counter.sonar != counter.paper:
                row["note"] = f"{counter.sonar} with a stop at parentheses"
            print(json.dumps(row))


def main():
    sys.setrecursionlimit(20000)
    with open(sys.argv[1], encoding="utf-8") as names:
        for name in names.read().split("\n"):
            if name:
                rows(name)


main()
