'use strict';
// What cannot be done, in a sentence without its full stop. kind: gone (nobody answers), locked (the link is no longer
// valid), refused (the sentence says why).
(() => {
  const own = (globalThis.promptpex ??= {});

  own.Problem = class extends Error {
    constructor(kind, message) {
      super(message.replace(/\.$/, ''));
      this.kind = kind;
    }
  };
})();
