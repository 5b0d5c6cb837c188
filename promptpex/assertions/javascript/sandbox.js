// Runs one assertion's script in a context of its own. The verdict is read through a function under a secret name.
((verdict) => {
  'use strict';
  const { parse } = JSON;
  const { apply } = Reflect;
  const { defineProperty } = Object;
  const NativePromise = Promise;
  const NativeFunction = Function;
  const then = Promise.prototype.then;

  // What the engine brings along that a script needs not: threads, raw memory, machine code, the host's timers.
  for (const name of [
    'console', 'setTimeout', 'clearTimeout', '__timer_manager', 'WebAssembly', 'SharedArrayBuffer', 'Atomics',
    'ArrayBuffer', 'DataView', 'Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Uint16Array',
    'Int32Array', 'Uint32Array', 'BigInt64Array', 'BigUint64Array', 'Float16Array', 'Float32Array', 'Float64Array',
  ]) {
    if (!Reflect.deleteProperty(globalThis, name)) globalThis[name] = undefined;
  }

  // Timers without waiting: what is due next runs next.
  const timers = [];
  let clock = 0;
  let lastTimer = 0;
  const addTimer = (action, delay, repeats, given) => {
    const wait = +delay > 0 ? +delay : 0;
    lastTimer += 1;
    timers[timers.length] = { id: lastTimer, at: clock + wait, wait, repeats, action, given };
    return lastTimer;
  };
  const dropTimer = (id) => {
    for (let index = 0; index < timers.length; index += 1) {
      if (timers[index].id === id) return takeTimer(index);
    }
    return undefined;
  };
  const takeTimer = (index) => {
    const taken = timers[index];
    for (let next = index; next < timers.length - 1; next += 1) timers[next] = timers[next + 1];
    timers.length -= 1;
    return taken;
  };
  const nextTimer = () => {
    let first = 0;
    for (let index = 1; index < timers.length; index += 1) {
      if (timers[index].at < timers[first].at) first = index;
    }
    return takeTimer(first);
  };
  const give = (name, value) => { globalThis[name] = value; };
  give('setTimeout', (action, delay, ...given) => addTimer(action, delay, false, given));
  give('setInterval', (action, delay, ...given) => addTimer(action, delay, true, given));
  give('clearTimeout', (id) => { dropTimer(id); });
  give('clearInterval', (id) => { dropTimer(id); });
  give('queueMicrotask', (action) => { apply(then, NativePromise.resolve(), [() => action()]); });
  const quiet = () => {};
  give('console', { log: quiet, info: quiet, warn: quiet, error: quiet, debug: quiet });

  let state = 'pending';
  let answer = null;
  const settle = (text) => {
    if (state !== 'pending') return;
    answer = text;
    state = 'settled';
  };
  const threw = (error) => settle(verdict.threw(error));

  const start = (body, mode, packed, name) => {
    defineProperty(globalThis, name, { value: read, enumerable: false });
    const { output, context } = parse(packed);
    const guarded = (value) => { try { settle(verdict.of(value, mode)); } catch (error) { threw(error); } };
    try {
      const run = new NativeFunction('output', 'context', 'process', body);
      const value = apply(run, undefined, [output, context, undefined]);
      if (typeof value === 'object' && value !== null) {
        apply(then, new NativePromise((resolve) => resolve(value)), [guarded, threw]);
      } else guarded(value);
    } catch (error) {
      threw(error);
    }
    return state === 'settled' ? answer : 'pending';
  };
  // Called again and again until there is a verdict, so that promises get their turn in between.
  const read = () => {
    if (state === 'settled') return answer;
    if (timers.length === 0) return 'stuck';
    const due = nextTimer();
    clock = due.at;
    if (due.repeats) addTimer(due.action, due.wait, true, due.given);
    try {
      apply(due.action, undefined, due.given);
    } catch (error) {
      threw(error);
    }
    return state === 'settled' ? answer : 'pending';
  };
  return start;
})
