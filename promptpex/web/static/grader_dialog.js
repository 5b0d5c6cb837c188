'use strict';
// Who grades: asked once, kept in the browser, shown, changeable.
(() => {
  const own = globalThis.promptpex;
  const NAME = 'promptpex grader';
  const LONGEST = 200;

  const cleaned = (text) => [...text.normalize('NFC')].filter((sign) => !/\p{C}/u.test(sign)).join('').trim().slice(0, LONGEST);

  // Whom the command named, unless another name was given here since; without a command's name, who graded last.
  own.knownGrader = (named) => {
    const kept = own.storage.read(NAME);
    const last = typeof kept?.name === 'string' ? cleaned(kept.name) : '';
    return named && kept?.named !== named ? cleaned(named) : last;
  };

  // Asks for the name; `use` is called with it. Without a name yet the question cannot be put off.
  own.askGrader = ({ present, suggested, named }, use) => {
    const dialog = own.byId('grader-dialog');
    const field = own.byId('grader-name');
    field.value = present || suggested;
    own.byId('grader-cancel').hidden = !present;
    dialog.oncancel = (event) => {
      if (!present) event.preventDefault();
    };
    own.byId('grader-form').onsubmit = (event) => {
      event.preventDefault();
      const name = cleaned(field.value);
      own.byId('grader-problem').hidden = Boolean(name);
      if (!name) return;
      own.storage.write(NAME, { name, named });
      dialog.close();
      use(name);
    };
    if (!dialog.open) dialog.showModal();
    field.select();
  };

  own.offerGraders = (names) => {
    own.byId('grader-names').replaceChildren(...names.map((name) => own.make('option', { value: name })));
  };
})();
