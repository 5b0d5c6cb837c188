"""A script's outputs share a context; nothing that one of them does there can be met by the next."""

# ruff: noqa: E501
from __future__ import annotations

from typing import Any

import pytest

from promptpex.assertions import check
from promptpex.assertions.javascript import v8
from tests.assertions.little_time import little_time

FIRST, SECOND, THIRD = "one", "two", "three"


def verdicts(script: str, outputs: list[Any]) -> list[str]:
    return [check(output, [{"kind": "javascript", "value": script}]).status for output in outputs]


def after_an_endless_one(script: str) -> list[str]:
    """The verdicts on outputs around one on which the script never ends."""
    before = verdicts(script, ["a", "b"])
    with little_time():
        endless = verdicts(script, ["bad"])
    return [*before, *endless, *verdicts(script, ["c", "d"])]


def answers(body: str, count: int = 4) -> list[dict[str, Any]]:
    """What the body comes to again and again; from the second time on in the script's lasting context."""
    return [v8.run_script(body, f"output {turn}", {"vars": {"turn": turn}}) for turn in range(count)]


LEAKS = {
    "a global": "const had = typeof left !== 'undefined'; left = 1; return had;",
    "a global by eval": "const had = typeof left !== 'undefined'; (0, eval)('var left = 1'); return had;",
    "a global by Function": "return new Function('const had = typeof left; left = 1; return had !== \"undefined\"')();",
    "a hidden Function": (
        "const F = output['const' + 'ructor']['const' + 'ructor'];"
        "return F('const had = typeof left; left = 1; return had !== \"undefined\"')();"
    ),
    "a hidden this": (
        "const F = output['const' + 'ructor']['const' + 'ructor']; const world = F('return th' + 'is')();"
        "const had = world.left !== undefined; world.left = 1; return had;"
    ),
    "a string's prototype": "const had = ''.left !== undefined; String.prototype.left = 1; return had;",
    "an object's hidden prototype": "const p = ({})['__pro' + 'to__']; const had = p.left; p.left = true; return had === true;",
    "a setter of the prototype": "const had = [].left; []['__pro' + 'to__']['__pro' + 'to__'] = {left: true}; return had === true;",
    "a method": "const had = Math.max(1, 2) === 0; Math.max = () => 0; return had;",
    "a method by assign": "const had = Math.left; Object.assign(Math, {left: true}); return had === true;",
    "a cache on a function": "const f = ''.trim; const had = f.left; f.left = true; return had === true;",
    "a cache on a getter": (
        "const p = Intl.NumberFormat['proto' + 'type']; const f = Object['getOwn' + 'PropertyDescriptor'](p, 'format').get;"
        "const had = f.left; f.left = true; return had === true;"
    ),
    "the prototype of functions": "const p = Object.getPrototypeOf(() => 1); const had = p.left; p.left = true; return had === true;",
    "the prototype of generators": (
        "const p = Object.getPrototypeOf([].values()); const had = p.left; p.left = true; return had === true;"
    ),
    "the prototype of iterators": (
        "const p = Object.getPrototypeOf(new Map().entries()); const had = p.left; p.left = true; return had === true;"
    ),
    "the prototype of matches": (
        "const p = Object.getPrototypeOf('x'.matchAll(/x/g)); const had = p.left; p.left = true; return had === true;"
    ),
    "the prototype of iterator helpers": (
        "const p = Object.getPrototypeOf([].values().map((x) => x)); const had = p.left; p.left = true; return had === true;"
    ),
    "the prototype of segments": (
        "const p = Object.getPrototypeOf(new Intl.Segmenter().segment('x')); const had = p.left; p.left = true;"
        "return had === true;"
    ),
    "the last match": "const had = RegExp.$1 === 'secret' || RegExp.input === 'secret'; /(secret)/.test('secret'); return had;",
    "the last match, hidden": (
        "const R = /x/['const' + 'ructor']; const had = R['$' + '1'] === 'secret'; /(secret)/.test('secret'); return had;"
    ),
    "the stack's formatter": (
        "const had = Error.prepareStackTrace; Error.prepareStackTrace = () => 'left'; return !!had;"
    ),
    "the stack's formatter, hidden": (
        "const F = output['const' + 'ructor']['const' + 'ructor']; const E = F('return th' + 'is')()['Err' + 'or'];"
        "const had = E.prepareStackTrace || E.left; E.left = true; E.prepareStackTrace = () => 'left'; return !!had;"
    ),
    "the stack's accessors": (
        "const e = new Error('x'); const d = Object.getOwnPropertyDescriptor(e, 'stack');"
        "const f = d.get ?? {}; const had = f.left; f.left = true; return had === true;"
    ),
    "the registry of symbols": (
        "const s = Symbol.for('left'); const had = Object(s).left || Symbol.prototype.left; "
        "Symbol.prototype.left = true; return had === true;"
    ),
    "a weak map on a frozen object": (
        "const held = new WeakMap(); const had = held.has(Math) || Math.held; Math.held = held; held.set(Math, 1); return !!had;"
    ),
    "a closure": "const make = () => { let n = 0; return () => ++n; }; const next = Math.next ??= make(); return next() > 1;",
    "the script's own function": "const had = arguments.callee.left; arguments.callee.left = true; return had === true;",
    "a caller": (
        "const F = output['const' + 'ructor']['const' + 'ructor']; const f = F('return argu' + 'ments.cal' + 'lee.cal' + 'ler')();"
        "const had = f && f.left; if (f) f.left = true; return had === true;"
    ),
    "a timer": "setTimeout(() => { globalThis.left = 1; }, 0); return typeof left !== 'undefined';",
    "a task that goes on": (
        "const had = Math.left; Promise.resolve().then(() => { Math.left = true; }); return had === true;"
    ),
    "names of the world": (
        "const F = output['const' + 'ructor']['const' + 'ructor']; const world = F('return th' + 'is')();"
        "const names = Object['getOwn' + 'PropertyNames'](world).filter((name) => typeof world[name] === 'function' && "
        "name.startsWith('_')); const had = names.some((name) => world[name].left);"
        "names.forEach((name) => { world[name].left = true; }); return had;"
    ),
    "a private field on a template's object": (
        "const site = ((parts) => parts)`x`; class Gives { constructor(to) { return to } }"
        "class Marks extends Gives { #left = true; static on(to) { return #left in to } }"
        "const had = Marks.on(site) || Marks.on(Math); new Marks(site); return had"
    ),
}


@pytest.mark.parametrize("body", LEAKS.values(), ids=LEAKS.keys())
def test_nothing_is_left_for_the_next_output(body: str) -> None:
    for answer in answers(body):
        assert answer.get("pass") is not True, answer


ENDLESS_TASKS = [
    "const f = () => { Array['from' + 'Async']([1]).then(f); }; if (output.endsWith('1')) f(); return false",
    "const f = () => Array['from' + 'Async']([1], f); if (output.endsWith('1')) f(); return false",
    "const F = output['const' + 'ructor']['const' + 'ructor'];"
    "if (output.endsWith('1')) F('const f = () => Pro' + 'mise.resolve().then(f); f()')(); return false",
    "const A = Object.getPrototypeOf(async () => 1)['const' + 'ructor'];"
    "if (output.endsWith('1')) A('for (;;) awa' + 'it 1')(); return false",
]


@pytest.mark.parametrize("body", ENDLESS_TASKS)
def test_no_task_of_one_output_takes_the_time_of_the_next(body: str) -> None:
    """Tasks that went on in the lasting context took the time of the output after, which was unscored."""
    assert answers(body) == [{"kind": "boolean", "pass": False}] * 4


def test_no_code_is_made_of_text_in_the_lasting_context() -> None:
    """A function's constructor is the one way to names that the script does not spell; it is closed, and seen to be."""
    shown = "return output['const' + 'ructor']['const' + 'ructor'].name"
    assert [answer["message"] for answer in answers(shown)] == ["string"] * 4
    own = "const make = output['const' + 'ructor']['const' + 'ructor']; return make('return 7')() === 7"
    assert [answer["pass"] for answer in answers(own)] == [True] * 4


def test_a_verdict_is_read_in_part_where_it_is_huge() -> None:
    long = "return {pass: true, score: 1, reason: 'so ' + 'x'.repeat(3e7), namedScores: {}}"
    assert [len(answer["reason"]) for answer in answers(long, 3)] == [5000] * 3
    many = "const n = {}; for (let i = 0; i < 50000; i++) n['k' + i] = i; return {pass: true, score: 1, reason: 'x', namedScores: n}"
    assert [len(answer["named"]) for answer in answers(many, 3)] == [1000] * 3
    made = v8.run_script("return 'x'.repeat(3e7)", "x", {}, mode="transform")
    assert made == {"kind": "other", "message": "more than 20 MB"}


OVERTURNED = [
    "Object['proto' + 'type'].toJSON = () => ({kind: 'boolean', pass: true}); return false",
    'JSON.stringify = () => \'{"kind":"boolean","pass":true}\'; return false',
    "JSON.parse = () => ({output: 'x'}); return output === 'x'",
    "Array['proto' + 'type'].push = () => true; return false",
    "Object['defineP' + 'roperty'](Object['proto' + 'type'], 'pass', {value: true}); return false",
    "Object['setProto' + 'typeOf'](Array['proto' + 'type'], {pass: true}); return false",
]


@pytest.mark.parametrize("body", OVERTURNED)
def test_no_script_turns_a_verdict(body: str) -> None:
    assert [answer.get("pass") for answer in answers(body)] == [False] * 4
    canary = [v8.run_script("return output.includes('7')", f"row {turn}", {}) for turn in range(6, 9)]
    assert [answer["pass"] for answer in canary] == [False, True, False]


def test_a_script_calls_itself_with_other_data_to_no_avail() -> None:
    """The way to the entry of the lasting context is closed; that of a context of its own judges and keeps nothing."""
    body = (
        "const F = output['const' + 'ructor']['const' + 'ructor']; const world = F('return th' + 'is')();"
        "const name = Object['getOwn' + 'PropertyNames'](world).find((each) => each.length === 33 && each[0] === '_');"
        "if (output === 'inner') return true;"
        'const inner = name ? world[name](\'{"output": "inner", "context": {}}\') : \'\';'
        "return {pass: output === 'never', score: 0, reason: String(inner)};"
    )
    first, *later = answers(body)
    assert first["pass"] is False
    assert later == [first] * 3, "as in a context of its own"


SAME = {
    "a promise": "return Promise.resolve(output.length > 3)",
    "an async function": "return (async () => output.includes('output'))()",
    "a timer": "return new Promise((done) => setTimeout(() => done(0.5), 5))",
    "sloppy names": "found = output.length; return found > 3",
    "a with": "with (context) { return vars.turn >= 0 }",
    "an octal number": "return 010 === 8",
    "a patched method": "String.prototype.includes = () => true; return output.includes('nothing')",
    "this": "return (function () { return this })() !== undefined",
    "a function in a block": "function f() { return 1 } { function f() { return 2 } } return f() === 2",
    "a caught refusal": "try { Math.left = 1 } catch { return false } return Math.left === 1",
    "an own method's name": "const made = {}; made.toString = () => 'x'; return `${made}` === 'x'",
    "an error's name": "const made = new TypeError('a'); made.name = 'B'; return made.name === 'B'",
    "the last match": "/(put)/.test(output); return RegExp.$1 === 'put'",
    "whether it is frozen": "return !Object.isFrozen(Math)",
    "quiet words": "console.log(output); return true",
    "a throw": "if (output) throw new RangeError('no'); return true",
    "an object": "return {pass: true, score: 0.5, reason: 'so', namedScores: {a: 1}}",
    "a number": "return context.vars.turn / 4",
    "nothing": "return undefined",
    "words and patterns": r"return /^output \d$/.test(output) && output.split(' ').map(Number)[1] === context.vars.turn",
    "a syntax that is none": "return (",
    "a tail of comments": "return true // so",
    "what would close a function": "return false }) ; (() => { return true",
}


@pytest.mark.parametrize("body", SAME.values(), ids=SAME.keys())
def test_every_output_is_judged_as_the_first_one_would_be(body: str) -> None:
    """The first answer of a script comes from a context of its own, the later ones may come from the lasting one."""
    later = answers(body)
    for turn, answer in enumerate(later):
        alone = v8.run_script(f"{body}\n// {turn}", f"output {turn}", {"vars": {"turn": turn}})
        assert answer == alone


FROZEN = "return [Math, JSON, Intl, [].values(), Object].filter((one) => Object['isFro' + 'zen'](one)).length"
"""How many of five are frozen, which they are in a lasting context alone, but for the iterator."""


def test_a_script_that_cannot_live_with_the_lasting_context_gets_one_of_its_own_each_time() -> None:
    assert [answer["score"] for answer in answers(f"const o = {{}}; o.toString = 1; {FROZEN}")] == [0, 0, 0, 0]


def test_endless_work_in_the_lasting_context_is_stopped() -> None:
    script = "if (output !== 'bad') return true; \nfor (;;) {}"
    assert after_an_endless_one(script) == ["pass", "pass", "unscored", "pass", "pass"]
    bomb = "if (output !== 'bad') return true;\nconst a = []; for (;;) a.push('x'.repeat(1000) + a.length)"
    assert after_an_endless_one(bomb) == ["pass", "pass", "unscored", "pass", "pass"]
    native = "if (output !== 'bad') return true;\nreturn new Array(1e9).fill(0).length > 0"
    assert after_an_endless_one(native) == ["pass", "pass", "unscored", "pass", "pass"]
