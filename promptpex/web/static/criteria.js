'use strict';
// The page of criteria: what people do is sent, and the parts that have changed are taken over from a page made anew.
(() => {
  const own = globalThis.promptpex;
  const QUICK_MS = 1000;
  const SLOW_MS = 2000;
  // How the sentence of a problem ends, by its kind.
  const ENDINGS = { gone: `; ${own.tr('what you wrote is still here')}.`, locked: `; ${own.tr('open the one that the terminal shows')}.`, refused: '.' };
  const statusLine = document.getElementById('said');
  let timer;

  const say = (sentence, isWrong = false) => {
    statusLine.textContent = sentence;
    statusLine.className = isWrong ? 'warn' : 'quiet';
  };

  // The page as it is now. The browser parses it; no text becomes HTML here.
  const fresh = () =>
    new Promise((resolve) => {
      const request = new XMLHttpRequest();
      request.open('GET', '/criteria');
      request.responseType = 'document';
      request.setRequestHeader('Accept', 'text/html');
      request.onload = () => resolve(request.status === 200 ? request.responseXML : null);
      request.onerror = () => resolve(null);
      request.send();
    });

  const isChanged = (field) =>
    field.matches('select') ? [...field.options].some((one) => one.selected !== one.defaultSelected)
      : field.type === 'checkbox' ? field.checked !== field.defaultChecked
      : field.value !== field.defaultValue;

  // Whether somebody is writing there.
  const isInUse = (part) =>
    [...part.querySelectorAll('textarea, input:not([type=checkbox])')].some(isChanged) ||
    (part.contains(document.activeElement) && document.activeElement.matches('select, textarea, input'));

  const replace = (old, made) => {
    const open = new Set([...old.querySelectorAll('details[open]')].map((one) => one.dataset.name));
    const focused = old.contains(document.activeElement) ? document.activeElement : null;
    const button = focused ? [...old.querySelectorAll('button, summary, input')].indexOf(focused) : -1;
    const part = document.importNode(made, true);
    for (const one of part.querySelectorAll('details')) one.open = open.has(one.dataset.name);
    old.replaceWith(part);
    if (button >= 0) [...part.querySelectorAll('button, summary, input')][button]?.focus({ preventScroll: true });
  };

  const takeOver = (old, made) => {
    if (old.dataset.version === made.dataset.version) return;
    if (isInUse(old)) old.classList.add('older');
    else replace(old, made);
  };

  const refresh = async () => {
    clearTimeout(timer);
    const page = document.hidden ? null : await fresh();
    const whole = document.getElementById('whole');
    if (page?.getElementById('whole')) {
      takeOver(whole, page.getElementById('whole'));
      const list = document.getElementById('list');
      const made = [...page.querySelectorAll('#list > article')];
      const ids = new Set(made.map((one) => one.id));
      for (const old of [...list.children]) if (!ids.has(old.id)) old.remove();
      made.forEach((one, place) => {
        const old = document.getElementById(one.id);
        if (old) takeOver(old, one);
        else list.insertBefore(document.importNode(one, true), list.children[place] ?? null);
      });
      document.getElementById('none').hidden = page.getElementById('none').hidden;
    }
    const isWorking = document.getElementById('whole').dataset.working === 'yes';
    clearTimeout(timer);
    timer = setTimeout(refresh, isWorking ? QUICK_MS : SLOW_MS);
  };

  const act = async (action, fields) => {
    say('…');
    try {
      say((await own.ask(`/criteria/${action}`, fields)).sentence);
      return true;
    } catch (problem) {
      if (!(problem instanceof own.Problem)) throw problem;
      say(problem.message + ENDINGS[problem.kind], true);
      return false;
    }
  };

  const fieldsOf = (element) => {
    const fields = {};
    const criterion = element.closest('article[data-id]');
    if (criterion) fields.id = criterion.dataset.id;
    for (const name of ['candidate', 'form', 'choice', 'wish']) {
      if (element.dataset[name] !== undefined) fields[name] = element.dataset[name];
    }
    return fields;
  };

  const settle = async (form) => {
    const fields = fieldsOf(form);
    for (const field of form.elements) {
      if (field.name) fields[field.name] = field.type === 'checkbox' ? field.checked : field.value;
    }
    if (!(await act(form.dataset.do, fields))) return;
    for (const field of form.querySelectorAll('textarea, input:not([type=checkbox])')) {
      if (['add', 'add-candidate', 'make'].includes(form.dataset.do)) field.value = '';
      field.defaultValue = field.value;
    }
    if (form.contains(document.activeElement)) document.activeElement.blur();
    await refresh();
  };

  document.addEventListener('submit', (event) => {
    event.preventDefault();
    settle(event.target);
  });

  document.addEventListener('change', async (event) => {
    const field = event.target;
    if (field.matches('input[data-do]')) {
      await act(field.dataset.do, { [field.dataset.as]: field.checked });
      await refresh();
    } else if (field.form?.matches('[data-at-once]')) settle(field.form);
  });

  document.addEventListener('click', async (event) => {
    const button = event.target.closest('button[data-do]');
    if (!button || button.disabled) return;
    if (button.dataset.sure && button.dataset.asked === undefined) {
      button.dataset.asked = '';
      say(button.dataset.sure);
      return;
    }
    await act(button.dataset.do, fieldsOf(button));
    await refresh();
  });

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) refresh();
  });
  timer = setTimeout(refresh, QUICK_MS);
})();
