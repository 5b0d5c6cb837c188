"""Formulas over the scores of graders (``calculate_output`` of a multi grader) as what checks can say of weights.

A sum with weights, ``0.8 * a + 0.2 * b``, reaches a threshold where the weighted mean of the scores reaches its share
of it; the least of several sums, ``min(...)``, where each of them does. Of scores that are 0 or 1 the greatest,
``max(a, b)``, is 1 where any is, and the product where all are. Nothing of a formula is run.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeGuard

from promptpex.core.translation import stored
from promptpex.interchange.reading.chats import Unfit

_LONGEST = 2_000
"""Characters of a formula."""
_DEEPEST = 50
_NO_SUM = stored(
    "its formula is not a weighted sum, a minimum, or a maximum or product of graders that say yes or no, and checks "
    "can express nothing else"
)


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """Scores by the names of their graders, each times a weight, and a constant."""

    weights: dict[str, Fraction] = field(default_factory=dict)
    constant: Fraction = Fraction(0)

    def times(self, factor: Fraction) -> WeightedSum:
        """It with all of it multiplied."""
        return WeightedSum({name: weight * factor for name, weight in self.weights.items()}, self.constant * factor)

    def plus(self, other: WeightedSum) -> WeightedSum:
        """The sum of both."""
        weights = Counter(self.weights)
        for name, weight in other.weights.items():
            weights[name] += weight  # type: ignore[assignment]
        return WeightedSum(dict(weights), self.constant + other.constant)  # type: ignore[arg-type]

    def shares(self, threshold: float) -> tuple[dict[str, float], float]:
        """The weights, and the least weighted mean of the scores with which the sum reaches the threshold.

        Raises:
            Unfit: a weight is not above 0, there is none, or a number is too large or too small for a double.
        """
        total = sum(self.weights.values(), Fraction(0))
        try:
            weights = {name: float(weight) for name, weight in self.weights.items()}
            share = float((Fraction(str(threshold)) - self.constant) / total) if total else 0.0
        except OverflowError:
            raise Unfit(_NO_SUM) from None
        if not weights or min(weights.values()) <= 0:
            raise Unfit(_NO_SUM)
        return weights, share


def sums_of(formula: object) -> list[WeightedSum]:
    """The sums each of which has to reach the threshold of the whole.

    Raises:
        Unfit: the formula says something else.
    """
    if not _is_formula(formula):
        raise Unfit(stored("it has no formula (calculate_output)"))
    tree = _parsed(formula)
    arguments = _arguments(tree, "min")
    return [_sum(each, 0) for each in arguments] if arguments else [_sum(tree, 0)]


def greatest_of(formula: object) -> tuple[str, ...]:
    """The names of the scores of which the formula is the greatest; none where it is something else."""
    return _names(_arguments(_parsed(formula), "max")) if _is_formula(formula) else ()


def product_of(formula: object) -> tuple[str, ...]:
    """The names of the scores of which the formula is the product; none where it is something else."""
    if not _is_formula(formula):
        return ()
    factors, node = list[ast.expr](), _parsed(formula)
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and len(factors) < _DEEPEST:
        factors.append(node.right)
        node = node.left
    return _names([node, *reversed(factors)]) if factors else ()


def _is_formula(formula: object) -> TypeGuard[str]:
    return isinstance(formula, str) and 0 < len(formula.strip()) <= len(formula) <= _LONGEST


def _parsed(formula: str) -> ast.expr:
    try:
        return ast.parse(formula.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unfit(_NO_SUM) from None


def _arguments(node: ast.expr, function: str) -> list[ast.expr]:
    """What stands between the brackets of a function; nothing where it is not a call of it."""
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function
    return list(node.args) if is_call and isinstance(node, ast.Call) and not node.keywords else []


def _names(nodes: Sequence[ast.expr]) -> tuple[str, ...]:
    names = tuple(node.id for node in nodes if isinstance(node, ast.Name))
    return names if len(names) == len(nodes) else ()


def _sum(node: ast.expr, depth: int) -> WeightedSum:
    if depth > _DEEPEST:
        raise Unfit(_NO_SUM)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return WeightedSum(constant=_exact(node.value))
    if isinstance(node, ast.Name):
        return WeightedSum({node.id: Fraction(1)})
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        sign = Fraction(-1 if isinstance(node.op, ast.USub) else 1)
        return _sum(node.operand, depth + 1).times(sign)
    if isinstance(node, ast.BinOp):
        return _of_two(node.op, _sum(node.left, depth + 1), _sum(node.right, depth + 1))
    raise Unfit(_NO_SUM)


def _exact(value: float) -> Fraction:
    try:
        return Fraction(str(value))
    except (ValueError, OverflowError):
        raise Unfit(_NO_SUM) from None


def _of_two(operator: ast.operator, left: WeightedSum, right: WeightedSum) -> WeightedSum:
    if isinstance(operator, ast.Add):
        return left.plus(right)
    if isinstance(operator, ast.Sub):
        return left.plus(right.times(Fraction(-1)))
    if isinstance(operator, ast.Mult) and not right.weights:
        return left.times(right.constant)
    if isinstance(operator, ast.Mult) and not left.weights:
        return right.times(left.constant)
    if isinstance(operator, ast.Div) and not right.weights and right.constant:
        return left.times(1 / right.constant)
    raise Unfit(_NO_SUM)
