'use strict';
// The desk of the live page: it asks the server, which writes every grade to disk before it answers.
(() => {
  const own = globalThis.promptpex;
  const RETRY_MS = 2000;

  own.ServerDesk = class {
    constructor(project) {
      this.unsent = new own.Unsent(project);
      this.tell = () => {};
      this.policy = '';
    }

    start(grader) {
      this.grader = grader;
      return own.ask('/grade/state', { grader });
    }

    next(policy) {
      this.policy = policy ?? '';
      return own.ask('/grade/next', { grader: this.grader, policy });
    }

    at(item) {
      return own.ask('/grade/item', { grader: this.grader, item });
    }

    opinions(item) {
      return own.ask('/grade/opinions', { grader: this.grader, item });
    }

    // Makes a criterion of what this person noted.
    criterion(item, subject) {
      return own.ask('/criteria/from-note', { grader: this.grader, item, subject });
    }

    // What is being done about criteria, in a sentence.
    candidates() {
      return own.ask('/criteria/summary', {});
    }

    progress() {
      return own.ask('/grade/progress', { grader: this.grader, policy: this.policy });
    }

    undo() {
      if (this.unsent.all().length) throw new own.Problem('refused', own.tr('Undo has to wait until what is not saved yet is saved'));
      return own.ask('/grade/undo', { grader: this.grader });
    }

    // Keeps the grades in the browser, sends them, and gives whether all of them are on the server's disk.
    async give(grades) {
      this.unsent.add(grades);
      return this.send();
    }

    async send(late = false) {
      clearTimeout(this.timer);
      const waiting = this.unsent.all();
      if (!waiting.length) {
        if (late) this.tell({ state: 'saved', count: 0, refused: [], late }); // another tab has sent them
        return { saved: true, refused: [] };
      }
      this.tell({ state: 'saving', count: waiting.length, safe: this.unsent.safe });
      try {
        const { results } = await own.ask('/grade/give', { grades: waiting });
        this.unsent.drop(waiting);
        const refused = results.filter((result) => result.problem).map((result) => result.problem);
        this.tell({ state: 'saved', count: waiting.length - refused.length, refused, late });
        return { saved: true, refused };
      } catch (problem) {
        if (!(problem instanceof own.Problem)) throw problem;
        this.tell({ state: 'waiting', count: waiting.length, problem, safe: this.unsent.safe });
        this.timer = setTimeout(() => this.send(true), RETRY_MS);
        return { saved: false, refused: [] };
      }
    }
  };
})();
