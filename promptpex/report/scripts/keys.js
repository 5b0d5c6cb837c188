'use strict';
// The keys of a report: one table that is both obeyed and explained.
(() => {
  const own = globalThis.promptpexReport;
  if (!own.list) return;

  const move = (step) => {
    const shown = own.visible();
    const at = shown.indexOf(document.activeElement?.closest('.case') ?? own.list.querySelector('.case.current'));
    const next = shown[at < 0 ? 0 : Math.min(Math.max(at + step, 0), shown.length - 1)];
    if (!next) return;
    own.state.case = decodeURIComponent(next.id.slice('case-'.length));
    own.go(next);
    own.writeSoon();
  };
  const toggle = (name, value) => own.choose({ [name]: own.state[name] === value ? '' : value });
  const keys = document.querySelector('.keys');

  const every = [
    { key: 'j', text: 'next', does: () => move(1) },
    { key: 'k', text: 'before', does: () => move(-1) },
    { key: 'Enter', text: 'open', does: null },
    { key: 'f', text: 'failures', does: () => toggle(...Object.entries(own.first)[0]) },
    { key: 's', text: 'side', does: () => toggle('side', '1') },
    { key: '/', text: 'search', does: () => openBar().focus() },
    { key: '0', text: 'all', does: () => own.clear() },
    { key: '?', text: 'keys', does: () => openBar() && (keys.open = !keys.open) },
  ];
  const KEYS = every.filter(({ key }) => key !== 's' || document.getElementById('side'));
  const openBar = () => {
    document.querySelector('.filters').open = true;
    return document.getElementById('filter-text');
  };

  for (const { key, text } of KEYS) {
    const [name, meaning] = ['dt', 'dd'].map((tag) => document.createElement(tag));
    const cap = document.createElement('kbd');
    cap.textContent = key;
    name.append(cap);
    meaning.textContent = own.text(text);
    document.getElementById('keys').append(name, meaning);
  }

  // On a keyboard of another script the letter keys are known by their place.
  const nameOf = (event) => (event.key.charCodeAt(0) > 0x7f && /^Key[A-Z]$/.test(event.code) ? event.code[3] : event.key).toLowerCase();

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (event.target.closest?.('input:not([type=radio], [type=checkbox]), select, textarea')) {
      if (event.key === 'Escape') event.target.blur();
      return;
    }
    const does = KEYS.find(({ key }) => key === nameOf(event))?.does;
    if (!does) return;
    event.preventDefault();
    does();
  });
})();
