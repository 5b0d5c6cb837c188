// What a script's value says, as JSON text. Works in a context whose prototypes the script has changed as it liked.
(() => {
  'use strict';
  const { stringify } = JSON;
  const { ownKeys } = Reflect;
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
  const named = (scores) => {
    const made = create(null);
    if (typeof scores !== 'object' || scores === null) return made;
    for (const name of ownKeys(scores)) {
      if (typeof name === 'string' && typeof scores[name] === 'number' && isFinite(scores[name])) made[name] = scores[name];
    }
    return made;
  };
  const judge = (value) => {
    if (typeof value === 'boolean') return written('boolean', { pass: value });
    if (typeof value === 'number') return written('number', { score: number(value) });
    if (typeof value === 'object' && value !== null) {
      const { pass, score, reason } = value;
      if (typeof pass === 'boolean' && typeof score === 'number' && typeof reason === 'string') {
        return written('object', { pass, score: number(score), reason, named: named(value.namedScores) });
      }
    }
    return written('other', { message: value === null ? 'null' : typeof value });
  };
  const keep = (value) => {
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') return written('other', { message: typeof value });
    return written('value', { json: stringify(value) });
  };


  const threw = (error) => {
    let message = 'it threw';
    try {
      message = typeof error === 'object' && error !== null ? toText(error.name) + ': ' + toText(error.message) : toText(error);
    } catch {}
    return written('threw', { message });
  };
  return { of: (value, mode) => (mode === 'transform' ? keep(value) : judge(value)), threw };
})()
