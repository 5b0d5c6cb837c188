'use strict';
// The desk of the offline page: outputs and rules stand in the page, grades stay in the browser until they are downloaded.
(() => {
  const own = globalThis.promptpex;

  own.KeptDesk = class {
    constructor({ items, subjects, project, file }) {
      Object.assign(this, { items, subjects, file });
      this.name = `promptpex grades ${project}`;
      this.byId = new Map(items.map((item) => [item.id, item]));
      const kept = own.storage.read(this.name);
      this.grades = Array.isArray(kept?.grades) ? kept.grades : [];
      this.downloaded = kept?.downloaded ?? 0;
      this.tell = () => {};
      own.wireDownload(this);
    }

    start(grader) {
      this.grader = grader;
      return { subjects: this.subjects, trail: this._trail(), graders: [] };
    }

    // The outputs stand in the page in the order in which chance chose them, each with its probability.
    next() {
      const graded = new Set(this._trail());
      const left = this.items.filter((item) => !graded.has(item.id));
      return { item: left.length ? this._view(left[0]) : null, subjects: this.subjects };
    }

    at(id) {
      return { item: this._view(this.byId.get(id)), subjects: this.subjects };
    }

    opinions() {
      throw new own.Problem('refused', own.tr('What machines say is shown on the live page alone'));
    }

    give(given) {
      const safe = this._keep([...this.grades, ...given.map((grade) => this._made(grade))]);
      const state = safe ? 'saved' : 'unsafe';
      this.tell({ state, count: given.length, refused: [] });
      return { saved: true, refused: [] };
    }

    undo() {
      const mine = this._mine();
      const last = mine.at(-1);
      if (!last) return { sentence: own.tr('There is nothing to undo.'), item: null };
      if (this.grades.indexOf(last) < this.downloaded) return { sentence: own.tr('It was downloaded, so it stays; grade the output again.'), item: null };
      this._keep(this.grades.filter((grade) => grade !== last));
      const name = last.subject === own.WHOLE ? own.tr('the output') : last.subject;
      return { sentence: own.tr('Taken back: {subject} is {grade}.', { subject: name, grade: own.tr(last.value) }), trail: this._trail(), ...this.at(last.key) };
    }

    lines() {
      return this.grades.map((grade) => `${grade.line}\n`).join('');
    }

    markDownloaded() {
      this.downloaded = this.grades.length;
      this._keep(this.grades);
    }

    // Whether nothing is lost when the page is closed.
    isSafe() {
      return this.kept !== false || this.downloaded === this.grades.length;
    }

    _keep(grades) {
      this.grades = grades;
      this.kept = own.storage.write(this.name, { grades, downloaded: this.downloaded });
      return this.kept;
    }

    _mine() {
      return this.grades.filter((grade) => grade.grader === this.grader);
    }

    _trail() {
      return [...new Set(this._mine().map((grade) => grade.key))].filter((key) => this.byId.has(key));
    }

    _made(given) {
      const item = this.byId.get(given.item);
      const before = this._latest(item.id, given.subject);
      return own.gradeLine({
        time: given.time,
        grader: given.grader,
        key: item.id,
        output_digest: item.output_digest,
        case: item.case,
        model: item.model,
        repeat: item.repeat,
        subject: given.subject,
        subject_digest: given.wording,
        value: given.value,
        note: given.note,
        policy: given.policy,
        probability: given.probability,
        replaces: before?.id ?? null,
      });
    }

    _latest(key, subject) {
      return this._mine().findLast((grade) => grade.key === key && grade.subject === subject && this._isCurrent(grade));
    }

    _isCurrent(grade) {
      return this.subjects.some((subject) => subject.id === grade.subject && subject.wording === (grade.subject_digest ?? null));
    }

    // A rule about the output alone is graded once for all outputs with the same text.
    _gradeOn(item, subject) {
      const whole = this._latest(item.id, own.WHOLE);
      const across = (grade) => grade.subject === subject.id && (grade.key === item.id || (subject.needs === 'output' && grade.output_digest === item.output_digest));
      const grade = this._mine().findLast((one) => across(one) && this._isCurrent(one));
      if (grade) return { value: grade.value, note: grade.note };
      if (subject.id !== own.WHOLE && whole?.value === 'good') return { value: 'good', note: '', derived: 'output' };
      return null;
    }

    _view(item) {
      const given = this.subjects.map((subject) => [subject.id, this._gradeOn(item, subject)]);
      const policyName = this._trail().includes(item.id) ? item.policy_name : '';
      return { ...item, policy_name: policyName, grades: Object.fromEntries(given.filter(([, grade]) => grade)), stale: item.stale ?? {} };
    }

    progress() {
      const mine = this._trail().length;
      const left = this.grades.length - this.downloaded;
      const kept = own.trN('{count} grade in this browser, {left} of them not downloaded yet', '{count} grades in this browser, {left} of them not downloaded yet', this.grades.length, { left });
      const progress = {
        items: this.items.length,
        mine,
        sentences: [kept],
        forecasts: [],
        finish: [`${kept}.`, own.tr('Download them and send the file to whoever gave you this page.')],
      };
      return { progress };
    }
  };
})();
