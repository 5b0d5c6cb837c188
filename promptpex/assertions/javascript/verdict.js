// What a script's value says, as JSON text. Works in a context whose prototypes the script has changed as it liked.
(() => {
  'use strict';
  const { stringify } = JSON;
  const { apply, ownKeys } = Reflect;
  const { slice } = String.prototype;
  const { create } = Object;
  const isFinite = Number.isFinite;
  const toText = String;

  const written = (kind, fields) => {
    const made = create(null);
    made.kind = kind;
    for (const name of ownKeys(fields)) made[name] = fields[name];
    return stringify(made);
  };
  const number = (value) => (isFinite(value) ? value : toText(value));
  // What is read of a verdict: a line of its reason is shown, and so many scores are of no use.
  const MAX_REASON = 5000;
  const MAX_NAMES = 1000;
  const MAX_VALUE = 20000000;
  const cut = (text) => (text.length > MAX_REASON ? apply(slice, text, [0, MAX_REASON]) : text);
  const named = (scores) => {
    const made = create(null);
    if (typeof scores !== 'object' || scores === null) return made;
    const names = ownKeys(scores);
    for (let index = 0; index < names.length && index < MAX_NAMES; index += 1) {
      const name = names[index];
      if (typeof name !== 'string' || name.length > MAX_NAMES) continue;
      const score = scores[name];
      if (typeof score === 'number' && isFinite(score)) made[name] = score;
    }
    return made;
  };
  const verdict = (value) => {
    if (typeof value === 'boolean') return written('boolean', { pass: value });
    if (typeof value === 'number') return written('number', { score: number(value) });
    if (typeof value === 'object' && value !== null) {
      const { pass, score, reason } = value;
      if (typeof pass === 'boolean' && typeof score === 'number' && typeof reason === 'string') {
        return written('object', { pass, score: number(score), reason: cut(reason), named: named(value.namedScores) });
      }
    }
    return written('other', { message: value === null ? 'null' : typeof value });
  };
  const keep = (value) => {
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return written('other', { message: typeof value });
    const json = stringify(value);
    if (typeof json === 'string' && json.length > MAX_VALUE) return written('other', { message: 'more than 20 MB' });
    return written('value', { json });
  };

  const threw = (error) => {
    let message = 'it threw';
    try {
      message = typeof error === 'object' && error !== null ? toText(error.name) + ': ' + toText(error.message) : toText(error);
    } catch {}
    return written('threw', { message: cut(message) });
  };
  return { of: (value, mode) => (mode === 'transform' ? keep(value) : verdict(value)), threw };
})()
