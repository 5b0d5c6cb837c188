'use strict';
// What is graded: the output as a whole, then each rule and criterion, with the grade that it has.
(() => {
  const own = globalThis.promptpex;
  own.WHOLE = 'output';
  own.VALUES = ['good', 'bad', 'unsure'];
  const MARKS = { good: '\u2713', bad: '\u2717', unsure: '?' };

  own.nameOf = (subject) => (subject.id === own.WHOLE ? own.tr('the output as a whole') : subject.id);

  const day = (time) => (time ? `, ${time.slice(0, 10)}` : '');

  const older = (grade) => {
    const values = { who: grade.grader || own.tr('You'), grade: own.tr(grade.value), day: day(grade.time) };
    const line = own.make('p', { class: 'older' }, own.tr('{who} said {grade} under an older wording{day}; it no longer counts.', values));
    if (grade.note) line.append(' ', ...own.trParts('The note: {note}', { note: own.make('q', { dir: 'auto' }, ...own.plainText(grade.note)) }));
    return line;
  };

  const buttons = (subject, grade, onGive) =>
    own.VALUES.map((value) => {
      const pressed = grade?.value === value && !grade.derived;
      const button = own.make(
        'button',
        { type: 'button', class: `give ${value}`, 'aria-pressed': String(pressed), 'aria-label': `${own.nameOf(subject)}: ${own.tr(value)}` },
        own.make('span', { 'aria-hidden': 'true' }, MARKS[value]),
        ` ${own.tr(value)}`,
      );
      button.addEventListener('click', () => onGive(subject.id, value));
      return button;
    });

  const remarks = (grade, stale) => {
    const made = [];
    if (grade?.derived) {
      const since = grade.derived === 'rules' ? own.tr('by your grades on the rules') : own.tr('since the output is good as a whole');
      made.push(own.make('p', { class: 'quiet' }, `${MARKS[grade.value]} ${own.tr(grade.value)}, ${since}`));
    }
    if (grade?.note) made.push(own.make('p', { class: 'noted', dir: 'auto' }, ...own.plainText(grade.note)));
    if (stale && (!grade || grade.derived)) made.push(older(stale));
    return made;
  };

  const row = (subject, number, item, picked, on) => {
    const grade = item.grades[subject.id];
    const whole = subject.id === own.WHOLE;
    const badge = own.make('button', { type: 'button', class: 'badge', 'aria-label': own.tr('Pick {subject}', { subject: own.nameOf(subject) }) }, String(number));
    badge.addEventListener('click', () => on.pick(subject.id));
    const text = own.make('div', { class: 'wording', dir: 'auto' });
    if (whole) text.append(own.tr('The output as a whole'));
    else text.append(own.make('code', {}, own.make('bdi', {}, ...own.plainText(subject.id))), ' ', ...own.plainText(subject.text));
    return own.make(
      'li',
      { class: `subject${grade ? ` has-${grade.value}` : ''}`, 'aria-current': picked ? 'true' : null, 'data-subject': subject.id },
      badge,
      own.make('div', { class: 'said' }, text, ...remarks(grade, item.stale[subject.id])),
      own.make('div', { class: 'gives', role: 'group', 'aria-label': own.tr('Grade {subject}', { subject: own.nameOf(subject) }) }, ...buttons(subject, grade, on.give)),
    );
  };

  // Draws the rows anew and keeps the keyboard where it was. on: {pick(id), give(id, value)}
  own.showSubjects = (subjects, item, picked, on) => {
    const list = own.byId('subjects');
    const label = list.contains(document.activeElement) ? document.activeElement.getAttribute('aria-label') : null;
    list.replaceChildren(...subjects.map((subject, number) => row(subject, number, item, subject.id === picked, on)));
    if (label) [...list.querySelectorAll('button')].find((button) => button.getAttribute('aria-label') === label)?.focus();
  };
})();
