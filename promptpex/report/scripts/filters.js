'use strict';
// The outputs of a report: which are shown, in which order, and the address that says so (see addresses.py).
(() => {
  const own = (globalThis.promptpexReport = {});
  const list = document.getElementById('cases');
  if (!list) return;

  const MOST_OPENED = 200; // outputs: so many are unfolded when a filter leaves no more
  const [MODEL, RULE, VERDICT, ONLY, TEXT] = [1, 2, 4, 8, 16];
  const bar = document.querySelector('.filters');
  // Texts in the reader's language, which the page brings along; {names} stand for values.
  const texts = JSON.parse(bar.dataset.texts);
  own.text = (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (place, value) => values[value] ?? place);
  const radios = [...bar.querySelectorAll('input[type=radio]')];
  const KIND = radios[0].name; // what the page is about: verdicts, or changes
  const LETTER = Object.fromEntries(radios.slice(1).map((radio) => [radio.value, radio.value[0]]));
  const NAMES = ['rule', 'model', KIND, 'only', 'text', 'sort', 'side', 'case'];
  const control = (name) => document.getElementById(`filter-${name}`);
  const values = (name) => [...(control(name)?.options ?? [])].map((option) => option.value).slice(1);
  const side = document.getElementById('side');
  const state = Object.fromEntries(NAMES.map((name) => [name, '']));

  // What filters look at, read once from the page: a filter is one pass over these arrays.
  const cases = [];
  const outputs = [];
  for (const element of list.children) {
    const group = { element, place: Number(element.dataset.place), first: outputs.length, text: null };
    const differ = 'differ' in element.dataset;
    for (const output of element.lastElementChild.children) {
      const [, model, verdict, ...marks] = output.className.split(' ');
      if (differ) marks.push('differ');
      const facts = { model: Number(model.slice(1)), verdict: verdict.slice(2), rules: output.dataset.rules, marks };
      outputs.push({ element: output, group, text: null, ...facts });
    }
    group.end = outputs.length;
    cases.push(group);
  }

  // By these ids the browser itself follows links where no script does (see addresses.py).
  for (const element of list.querySelectorAll('[id*="="]')) element.removeAttribute('id');

  const plain = (text) => text.normalize('NFC').toLowerCase();
  const textOf = (output) => {
    output.group.text ??= plain(`${output.group.element.children[0].textContent} ${output.group.element.children[1].textContent}`);
    output.text ??= plain(output.element.textContent);
    return [output.group.text, output.text];
  };
  const says = (output, words) => {
    const texts = textOf(output);
    return words.every((word) => texts.some((text) => text.includes(word)));
  };

  // The filters that an output does not pass, as bits.
  const refusal = (output, wanted) => {
    const letter = wanted.rule < 0 ? null : output.rules[wanted.rule];
    const ofVerdict = letter === null ? output.verdict === state[KIND] : letter === LETTER[state[KIND]];
    return (
      (wanted.model >= 0 && output.model !== wanted.model ? MODEL : 0) |
      (letter === '-' ? RULE : 0) |
      (state[KIND] && !ofVerdict ? VERDICT : 0) |
      (state.only && !output.marks.includes(state.only) ? ONLY : 0) |
      (wanted.words.length && !says(output, wanted.words) ? TEXT : 0)
    );
  };

  const tally = (counts, key) => counts.set(key, (counts.get(key) ?? 0) + 1);

  // How many outputs each choice of a filter would show, all others staying as they are.
  const count = (counts, output, refused, rule) => {
    if (!(refused & ~VERDICT)) tally(counts.verdict, rule < 0 ? LETTER[output.verdict] : output.rules[rule]);
    if (!(refused & ~MODEL)) tally(counts.model, output.model);
    if (!(refused & ~ONLY)) output.marks.forEach((mark) => tally(counts.only, mark));
    if (refused & ~(RULE | VERDICT)) return;
    const letter = LETTER[state[KIND]];
    for (let place = 0; place < output.rules.length; place += 1) {
      if (letter ? output.rules[place] === letter : output.rules[place] !== '-') tally(counts.rule, place);
    }
  };

  const say = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  const showCounts = (counts) => {
    const all = [...counts.verdict.entries()].reduce((sum, [letter, number]) => (letter === '-' ? sum : sum + number), 0);
    for (const radio of radios) {
      say(radio.parentElement.querySelector('.n'), String(radio.value ? (counts.verdict.get(LETTER[radio.value]) ?? 0) : all));
    }
    for (const name of ['model', 'rule', 'only']) {
      const options = [...(control(name)?.options ?? [])].slice(1);
      options.forEach((option, place) => {
        option.dataset.words ??= option.textContent;
        say(option, `${option.dataset.words} (${counts[name].get(name === 'only' ? option.value : place) ?? 0})`);
      });
    }
  };

  const hide = (element, hidden) => {
    if (element.hidden !== hidden) element.hidden = hidden;
  };

  own.apply = () => {
    const wanted = {
      model: values('model').indexOf(state.model),
      rule: state.rule ? values('rule').indexOf(state.rule) : -1,
      words: plain(state.text).split(/\s+/).filter(Boolean),
    };
    const counts = { verdict: new Map(), model: new Map(), rule: new Map(), only: new Map() };
    let shown = 0;
    let shownCases = 0;
    for (const group of cases) {
      let inside = 0;
      for (let at = group.first; at < group.end; at += 1) {
        const refused = refusal(outputs[at], wanted);
        count(counts, outputs[at], refused, wanted.rule);
        hide(outputs[at].element, refused !== 0);
        inside += refused === 0;
      }
      hide(group.element, inside === 0);
      shown += inside;
      shownCases += inside > 0;
    }
    showCounts(counts);
    const ofAll = (some, all) => (some === all ? `${some}` : own.text('of', { some, all }));
    const counted = { shown: ofAll(shown, outputs.length), cases: ofAll(shownCases, cases.length) };
    say(document.getElementById('count'), own.text('outputs', counted));
    document.querySelector('.nothing').hidden = shown > 0;
    const filtered = shown < outputs.length;
    document.getElementById('filter-clear').hidden = !filtered;
    if (filtered && shown <= MOST_OPENED) own.visible().forEach((element) => (element.open = true));
    own.changed?.();
  };

  own.list = list;
  own.visible = () => [...list.children].filter((element) => !element.hidden);

  const inOrder = () => {
    const ordered = state.sort === 'suite' ? [...cases].sort((one, other) => one.place - other.place) : cases;
    if (ordered.some((group, place) => list.children[place] !== group.element)) {
      list.replaceChildren(...ordered.map((group) => group.element));
    }
  };

  const readControls = () => {
    for (const name of ['rule', 'model', 'only', 'text', 'sort']) state[name] = control(name)?.value ?? '';
    state[KIND] = radios.find((radio) => radio.checked)?.value ?? '';
    state.side = side?.checked ? '1' : '';
  };

  // What the controls cannot take, such as a rule of another run, is left out.
  const setControls = () => {
    for (const name of ['rule', 'model', 'only', 'text', 'sort']) {
      const one = control(name);
      if (one) one.value = state[name];
      if (one && one.value !== state[name]) one.value = '';
    }
    radios.forEach((radio) => (radio.checked = radio.value === state[KIND]));
    if (!radios.some((radio) => radio.checked)) radios[0].checked = true;
    if (side) side.checked = state.side === '1';
    readControls();
  };

  const write = () => {
    const pairs = NAMES.filter((name) => state[name]).map((name) => `${name}=${encodeURIComponent(state[name].toWellFormed?.() ?? state[name])}`);
    const whole = location.href.split('#')[0] + (pairs.length ? `#${pairs.join('&')}` : '');
    try {
      if (whole !== location.href) history.replaceState(null, '', whole);
    } catch {
      // a page inside another, or too many changes a second: the filters work without an address
    }
  };
  let timer = 0;
  own.writeSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(write, 200);
  };

  const decoded = (text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      return text;
    }
  };

  const chosen = (fragment) => {
    const pairs = fragment.split('&').map((pair) => pair.split(/=(.*)/s));
    const known = pairs.filter(([name, value]) => NAMES.includes(name) && value !== undefined);
    return known.length ? Object.fromEntries(known.map(([name, value]) => [name, decoded(value)])) : null;
  };

  const caseElement = (id) => {
    const rest = encodeURIComponent(id).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
    return document.getElementById(`case-${rest}`);
  };
  own.choose = (some) => {
    Object.assign(state, some);
    setControls();
    inOrder();
    own.apply();
    own.writeSoon();
  };
  own.clear = () => own.choose({ rule: '', model: '', [KIND]: '', only: '', text: '', case: '' });
  own.first = { [KIND]: radios[1].value };
  own.state = state;

  own.go = (element, options = {}) => {
    list.querySelector('.current')?.classList.remove('current');
    element.classList.add('current');
    element.firstElementChild.focus({ preventScroll: true });
    element.scrollIntoView({ block: 'start', ...options });
  };

  const follow = (isFirst) => {
    const fragment = location.hash.slice(1);
    const target = document.getElementById(fragment);
    if (target && target.parentElement === list) {
      if (target.hidden) own.clear();
      target.open = true;
      own.go(target);
      return;
    }
    const address = chosen(fragment);
    if (address === null && (fragment || isFirst)) return;
    Object.assign(state, Object.fromEntries(NAMES.map((name) => [name, ''])), address);
    setControls();
    inOrder();
    own.apply();
    const one = state.case && caseElement(state.case);
    if (one && !one.hidden) {
      one.open = true;
      own.go(one);
    } else if (address) {
      document.getElementById('outputs').scrollIntoView();
      own.visible()[0]?.firstElementChild.focus({ preventScroll: true });
    }
  };

  // Whoever has scrolled into the outputs would otherwise see only the last of those that are left.
  const showFirst = () => {
    if (list.getBoundingClientRect().top < bar.getBoundingClientRect().bottom) document.getElementById('outputs').scrollIntoView();
  };

  bar.addEventListener('input', (event) => {
    readControls();
    state.case = '';
    inOrder();
    own.apply();
    own.writeSoon();
    if (event.target !== side) showFirst();
  });
  document.getElementById('filter-clear').addEventListener('click', own.clear);
  addEventListener('hashchange', () => follow(false));
  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[href^="#"]');
    if (link && link.hash === location.hash) follow(false);
  });

  bar.classList.add('fixed');
  for (const element of bar.querySelectorAll('.scripted')) element.hidden = element.id === 'filter-clear';
  if (matchMedia('(max-width: 44rem)').matches) bar.open = false;
  const margins = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, margins];
  const belowBar = () => margins.replaceSync(`.case, .output, .output li { scroll-margin-top: ${bar.offsetHeight + 8}px; }`);
  new ResizeObserver(belowBar).observe(bar);

  // Texts are read while nothing else is to do, so that the first search does not wait for it.
  let next = 0;
  const prepare = () => {
    for (const end = Math.min(next + 200, outputs.length); next < end; next += 1) textOf(outputs[next]);
    if (next < outputs.length) later(prepare);
  };
  const later = (work) => (globalThis.requestIdleCallback ? requestIdleCallback(work) : setTimeout(work, 20));

  setControls();
  own.apply();
  follow(true);
  later(prepare);
})();
