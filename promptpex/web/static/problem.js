'use strict';
// What scripts say, in the reader's language; and what cannot be done, in a sentence without its full stop. kind: gone (nobody answers), locked (the link is no longer
// valid), refused (the sentence says why).
(() => {
  const own = (globalThis.promptpex ??= {});

  // Texts in the reader's language, by the English ones; the page brings those that differ. {names} stand for values.
  let texts = null;
  const translated = (key) => {
    texts ??= JSON.parse(globalThis.document?.querySelector('[data-texts]')?.dataset.texts ?? '{}');
    return Object.hasOwn(texts, key) ? texts[key] : key;
  };
  const PLACE = /\{(\w+)\}/g;
  own.tr = (key, values = {}) => translated(key).replace(PLACE, (place, name) => values[name] ?? place);
  own.trN = (one, many, count, values = {}) => own.tr(count === 1 ? one : many, { count, ...values });

  // The same with elements as values: strings and elements, in their order.
  own.trParts = (key, values) => translated(key).split(PLACE).map((part, number) => (number % 2 ? values[part] : part));

  own.Problem = class extends Error {
    constructor(kind, message) {
      super(message.replace(/\.$/, ''));
      this.kind = kind;
    }
  };
})();
