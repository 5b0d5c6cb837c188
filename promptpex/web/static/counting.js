'use strict';
// Counting how far grading is, which takes a second with 10,000 outputs: nobody waits for it to grade the next one.
(() => {
  const own = globalThis.promptpex;

  // Gives what has the server count, once at a time, and shows what it says.
  own.counting = (ask, first) => {
    let running = null;
    let again = false;

    const count = async () => {
      const line = own.byId('progress');
      line.setAttribute('aria-busy', 'true');
      try {
        do {
          again = false;
          const { progress } = await ask();
          own.showProgress(progress, first);
          own.showFinish(progress);
        } while (again);
      } catch (problem) {
        if (!(problem instanceof own.Problem)) throw problem; // what asks next says that the server is gone
      } finally {
        running = null;
        line.removeAttribute('aria-busy');
      }
    };

    return () => {
      again = true;
      running ??= count();
    };
  };
})();
