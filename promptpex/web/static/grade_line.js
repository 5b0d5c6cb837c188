'use strict';
// A grade as a line of PROMPT.grades.jsonl, with the id that promptpex gives it: docs/grades.md says how both are made.
(() => {
  const own = globalThis.promptpex;
  const KEY_LENGTH = 32;
  const DEFAULTS = { repeat: 0, subject: 'output', subject_digest: null, note: '', policy: '', probability: null };
  const FIELDS = ['time', 'grader', 'key', 'output_digest', 'case', 'model', 'repeat', 'subject', 'subject_digest', 'value', 'note', 'policy', 'probability'];
  const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

  // Numbers as Python writes them: a whole probability is 1.0, and below 0.0001 there is an exponent of two digits.
  const number = (name, value) => {
    if (name === 'repeat') return String(value);
    if (Number.isInteger(value)) return `${value}.0`;
    if (value >= 1e-4) return String(value);
    return value.toExponential().replace(/e-(\d)$/, 'e-0$1');
  };

  const json = (name, value) => (typeof value === 'number' ? number(name, value) : JSON.stringify(value));

  const object = (fields, names) => `{${names.map((name) => `${JSON.stringify(name)}:${json(name, fields[name])}`).join(',')}}`;

  // The same JSON, with what ends a line for some readers, or turns the writing direction around, as escapes.
  const SIGNS = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
  const escaped = (text) => text.replace(SIGNS, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);

  // The fields that are not at their defaults, and the line: {fields, id, line}.
  own.gradeLine = (given) => {
    const fields = { ...given, note: given.note.replace(HALF, '\ufffd') };
    const names = FIELDS.filter((name) => !(name in DEFAULTS && (fields[name] ?? null) === DEFAULTS[name]));
    const digested = { ...fields, replaces: given.replaces ?? null };
    const id = own.sha256(object(digested, [...names, 'replaces'].sort())).slice(0, KEY_LENGTH);
    const written = given.replaces ? [...names, 'replaces'] : names;
    return { ...fields, id, line: escaped(object({ id, ...fields }, ['id', ...written])) };
  };
})();
