'use strict';
// Grades that the server has not confirmed yet. They stay in the browser until it has, also when either of them dies.
(() => {
  const own = globalThis.promptpex;

  own.Unsent = class {
    constructor(project) {
      this.name = `promptpex unsent ${project}`;
      this.memory = own.storage.read(this.name) ?? [];
    }

    // Another tab may have sent some of them, or added others.
    all() {
      if (this.safe === false) return this.memory;
      const stored = own.storage.read(this.name);
      return Array.isArray(stored) ? stored : this.memory;
    }

    _keep(grades) {
      this.memory = grades;
      this.safe = own.storage.write(this.name, grades);
    }

    add(grades) {
      this._keep([...this.all(), ...grades]);
    }

    drop(grades) {
      const times = new Set(grades.map((grade) => `${grade.grader} ${grade.time}`));
      this._keep(this.all().filter((grade) => !times.has(`${grade.grader} ${grade.time}`)));
    }
  };
})();
