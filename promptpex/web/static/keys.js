'use strict';
// The keys: one table that both obeys them and explains them.
(() => {
  const own = globalThis.promptpex;

  const rows = () => [
    { keys: ['g'], does: 'good', says: own.tr('good') },
    { keys: ['b'], does: 'bad', says: own.tr('bad; a reason is asked for: Enter saves it, Esc skips it') },
    { keys: ['u'], does: 'unsure', says: own.tr('unsure: it counts neither as good nor as bad') },
    { keys: ['0'], does: 'pickWhole', says: own.tr('pick the output as a whole') },
    { keys: ['1', '2', '3', '4', '5', '6', '7', '8', '9'], shown: own.tr('1 to 9'), does: 'pickNumber', says: own.tr('pick that rule or criterion') },
    { keys: ['ArrowDown', 'j'], shown: '\u2193 j', does: 'pickNext', says: own.tr('pick the next one') },
    { keys: ['ArrowUp', 'k'], shown: '\u2191 k', does: 'pickPrevious', says: own.tr('pick the one before') },
    { keys: ['a'], does: 'othersGood', says: own.tr('all other rules are good') },
    { keys: ['n'], does: 'note', says: own.tr('write a note on what is picked') },
    { keys: ['z'], does: 'undo', says: own.tr('undo') },
    { keys: ['ArrowLeft', 'p'], shown: '\u2190 p', does: 'back', says: own.tr('back to the output before') },
    { keys: ['ArrowRight', 'Enter'], shown: '\u2192 Enter', does: 'forward', says: own.tr('on to the next output') },
    { keys: ['o'], does: 'opinions', says: own.tr('what machines say of it, once you have graded it') },
    { keys: ['w'], does: 'grader', says: own.tr('who grades') },
    { keys: ['f', 'q'], shown: 'f q', does: 'finish', says: own.tr('finish') },
    { keys: ['?', 'h'], shown: '? h', does: 'help', says: own.tr('these keys') },
  ];

  const ACTIONS = new Map(rows().flatMap((row) => row.keys.map((key) => [key, row.does])));
  const PRESSED_BY_THEMSELVES = 'button, a, summary, select, input';

  // On a keyboard of another script the letter keys are known by their place.
  const nameOf = (event) => {
    if (event.key.length !== 1 || event.key.charCodeAt(0) < 0x80) return event.key.length === 1 ? event.key.toLowerCase() : event.key;
    return /^Key[A-Z]$/.test(event.code) ? event.code[3].toLowerCase() : event.key;
  };

  const isTyping = (target) => target.closest?.('textarea, input, select, dialog[open]');

  own.obeyKeys = (actions) => {
    document.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || isTyping(event.target)) return;
      const key = nameOf(event);
      const does = ACTIONS.get(key);
      if (!does || (key === 'Enter' && event.target.closest?.(PRESSED_BY_THEMSELVES))) return;
      event.preventDefault();
      if (!event.repeat) actions[does](key);
    });
  };

  own.fillHelp = (list) => {
    for (const row of rows()) {
      const shown = (row.shown ?? row.keys[0]).split(' ').map((word) => (word.length > 1 && word === word.toLowerCase() ? ` ${word} ` : own.make('kbd', {}, word)));
      list.append(own.make('dt', {}, ...shown), own.make('dd', {}, row.says));
    }
  };
})();
