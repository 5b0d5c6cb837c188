// One context for all outputs of a script. Whatever the language brings along is frozen, so that nothing which a call
// leaves behind can be met by the next; the script runs in strict mode, where it is told when it changes what is frozen.
// Such a script, one that throws, and one that gives a promise, is run again in a context of its own.
((verdict) => {
  'use strict';
  const { parse } = JSON;
  const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor, getPrototypeOf, ownKeys } = Reflect;
  const { freeze } = Object;
  const NativeFunction = Function;

  // What a context of its own lacks as well; timers, and what can tell when something was freed.
  for (const name of [
    'console', 'setTimeout', 'clearTimeout', '__timer_manager', 'WebAssembly', 'SharedArrayBuffer', 'Atomics',
    'ArrayBuffer', 'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array',
    'Int32Array', 'Uint32Array', 'BigInt64Array', 'BigUint64Array', 'Float16Array', 'Float32Array', 'Float64Array',
    'WeakRef', 'FinalizationRegistry',
  ]) {
    if (!deleteProperty(globalThis, name)) globalThis[name] = undefined;
  }
  // No code is made of text here, and no task outlives a call: whoever wants that gets a context of its own.
  const refused = () => { throw new TypeError('not in a lasting context'); };
  for (const made of [() => {}, async () => {}, function* () {}, async function* () {}]) {
    defineProperty(getPrototypeOf(made), 'constructor', { value: refused });
  }
  for (const name of ['eval', 'Function', 'Promise', 'AsyncDisposableStack']) globalThis[name] = refused;
  deleteProperty(Array, 'fromAsync');
  // The last match of any pattern is remembered by the constructor itself.
  const remembered = ['input', '$_', 'lastMatch', '$&', 'lastParen', '$+', 'leftContext', '$`', 'rightContext', "$'"];
  for (const name of [...remembered, '$1', '$2', '$3', '$4', '$5', '$6', '$7', '$8', '$9']) {
    if (!deleteProperty(RegExp, name)) throw new Error('the patterns keep their last match');
  }

  // Objects that no property of the global object leads to.
  const broken = () => { try { null.x; } catch (error) { return error; } };
  const argumentsOf = function () { return arguments; };
  const hidden = [
    function () {}, () => {}, async () => {}, async function () {}, function* () {}, async function* () {},
    (function* () {})(), (async function* () {})(), class {}, argumentsOf(), broken(), new Error('x'),
    [][Symbol.iterator](), ''[Symbol.iterator](), new Map()[Symbol.iterator](), new Set()[Symbol.iterator](),
    ''.matchAll(/x/g), [][Symbol.unscopables], (() => { 'x'.raw; return ((site) => site)`x`; })(),
  ];
  const also = [
    () => Iterator.from({ next() {} }), () => [].values().map((x) => x), () => Iterator.concat([]),
    () => Iterator.zip([[]]), () => new Intl.Segmenter().segment('x'),
    () => new Intl.Segmenter().segment('x')[Symbol.iterator](), () => ({ get: new Intl.NumberFormat().format }),
    () => { const held = {}; Error.captureStackTrace(held); return held; }, () => new AggregateError([]),
    () => (async () => {})(), () => new Proxy({}, {}), () => Object.getOwnPropertyDescriptor(new Error('x'), 'stack'),
    () => new SuppressedError(1, 2), () => new DisposableStack(), () => (async function* () {})().next(),
    () => Temporal.Now,
  ];
  for (const made of also) { try { hidden[hidden.length] = made(); } catch {} }

  const seen = new Set();
  const waiting = [globalThis, ...hidden];
  const follow = (value) => {
    if (((typeof value === 'object' && value !== null) || typeof value === 'function') && !seen.has(value)) {
      seen.add(value);
      waiting[waiting.length] = value;
    }
  };
  while (waiting.length > 0) {
    const found = waiting[waiting.length - 1];
    waiting.length -= 1;
    seen.add(found);
    follow(getPrototypeOf(found));
    for (const name of ownKeys(found)) {
      const property = getOwnPropertyDescriptor(found, name);
      if (property === undefined) continue;
      if ('value' in property) follow(property.value);
      else { follow(property.get); follow(property.set); }
    }
  }

  const quiet = freeze(() => {});
  globalThis.console = freeze({ log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet });
  return (body, mode, name) => {
    const run = new NativeFunction('output', 'context', 'process', '"use strict";\n' + body);
    globalThis[name] = freeze((packed) => {
      const { output, context } = parse(packed);
      try {
        const value = apply(run, undefined, [output, context, undefined]);
        if (typeof value === 'object' && value !== null && value.then !== undefined) return 'again';
        return verdict.of(value, mode);
      } catch {
        return 'again';
      }
    });
    freeze(run);
    freeze(run.prototype);
    for (const found of seen) freeze(found);
    freeze(globalThis);
    return Object.isFrozen(globalThis);
  };
})
