'use strict';
// The desk of the live page: it asks the server, which writes every grade to disk before it answers.
(() => {
  const own = globalThis.promptpex;
  const RETRY_MS = 2000;

  // kind: gone (no answer), locked (the link is no longer valid), refused (a sentence says why)
  class DeskProblem extends Error {
    constructor(kind, message) {
      super(message);
      this.kind = kind;
    }
  }

  const ask = async (path, body) => {
    let reply;
    try {
      reply = await fetch(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
        credentials: 'same-origin',
        redirect: 'error',
      });
    } catch {
      throw new DeskProblem('gone', 'The server does not answer');
    }
    if (reply.status === 401 || reply.status === 403) throw new DeskProblem('locked', 'This link is no longer valid');
    let data;
    try {
      data = await reply.json();
    } catch {
      throw new DeskProblem('gone', 'The server stopped in the middle of an answer');
    }
    if (!reply.ok) throw new DeskProblem(reply.status >= 500 ? 'gone' : 'refused', data.error ?? 'The server refused this');
    return data;
  };

  own.ServerDesk = class {
    constructor(project) {
      this.unsent = new own.Unsent(project);
      this.tell = () => {};
    }

    start(grader) {
      this.grader = grader;
      return ask('/grade/state', { grader });
    }

    next(policy) {
      return ask('/grade/next', { grader: this.grader, policy });
    }

    at(item) {
      return ask('/grade/item', { grader: this.grader, item });
    }

    opinions(item) {
      return ask('/grade/opinions', { grader: this.grader, item });
    }

    // Makes a criterion of what this person noted.
    criterion(item, subject) {
      return ask('/criteria/from-note', { grader: this.grader, item, subject });
    }

    // What is being done about criteria, in a sentence.
    candidates() {
      return ask('/criteria/summary', {});
    }

    progress() {
      return ask('/grade/progress', { grader: this.grader });
    }

    undo() {
      if (this.unsent.all().length) throw new DeskProblem('refused', 'Undo has to wait until what is not saved yet is saved');
      return ask('/grade/undo', { grader: this.grader });
    }

    // Keeps the grades in the browser, sends them, and gives whether all of them are on the server's disk.
    async give(grades) {
      this.unsent.add(grades);
      return this.send();
    }

    async send(late = false) {
      clearTimeout(this.timer);
      const waiting = this.unsent.all();
      if (!waiting.length) return { saved: true, refused: [] };
      this.tell({ state: 'saving', count: waiting.length, safe: this.unsent.safe });
      try {
        const { results } = await ask('/grade/give', { grades: waiting });
        this.unsent.drop(waiting);
        const refused = results.filter((result) => result.problem).map((result) => result.problem);
        this.tell({ state: 'saved', count: waiting.length - refused.length, refused, late });
        return { saved: true, refused };
      } catch (problem) {
        if (!(problem instanceof DeskProblem)) throw problem;
        this.tell({ state: 'waiting', count: waiting.length, problem, safe: this.unsent.safe });
        this.timer = setTimeout(() => this.send(true), RETRY_MS);
        return { saved: false, refused: [] };
      }
    }
  };
  own.DeskProblem = DeskProblem;
})();
