'use strict';
// What the page does: it asks the server what to grade, gives it the grades, and goes back and forth through them.
(() => {
  const own = globalThis.promptpex;
  const settings = JSON.parse(own.byId('settings').dataset.settings);

  // trail: the outputs that this person graded, in their order; place: where in it we are, its end for a new output.
  // fresh: what the server gave last, while it is not graded; newest: its id, also then.
  const now = { grader: '', subjects: [], trail: [], place: 0, item: null, fresh: null, newest: '', picked: own.WHOLE, asking: null };
  let busy = false;

  // What the server answers; it writes every grade to disk before it does.
  const ask = (what, fields = {}) => own.ask(`/grade/${what}`, { grader: now.grader, ...fields });

  const count = own.counting(() => ask('progress'), settings.first);

  const hint = (text) => own.say(own.byId('hint'), text);

  // One thing at a time: a key that is pressed before the next output is there must not grade that one unseen.
  const alone = (work) => async (...given) => {
    if (busy) return;
    busy = true;
    document.body.setAttribute('aria-busy', 'true');
    try {
      await work(...given);
    } catch (problem) {
      if (!(problem instanceof own.Problem)) throw problem;
      explain(problem);
    } finally {
      busy = false;
      document.body.removeAttribute('aria-busy');
    }
  };

  const explain = (problem) => {
    if (problem.kind === 'refused') hint(`${problem.message}.`);
    else showTrouble(`${problem.message}. ${settings.again}.`);
  };

  const showTrouble = (text) => {
    own.byId('trouble').hidden = !text;
    own.say(own.byId('trouble'), text);
  };

  const notSaved = (count) => `\u2717 ${own.trN('{count} grade not saved', '{count} grades not saved', count)}`;

  const showSaved = (state, text) => {
    own.byId('saved').className = state;
    own.say(own.byId('saved'), text);
  };

  const subject = (id) => now.subjects.find((one) => one.id === id);
  const ownGrade = (id) => (now.item?.grades[id]?.derived ? undefined : now.item?.grades[id]);
  const isGraded = () => Object.values(now.item?.grades ?? {}).some((grade) => !grade.derived);

  const draw = () => {
    if (!now.item) return;
    const number = now.place < now.trail.length ? own.tr('Output {number} of the {count} you graded', { number: now.place + 1, count: now.trail.length }) : own.tr('A new output');
    own.say(own.byId('place'), number);
    own.showOrigin(now.item);
    own.showSubjects(now.subjects, now.item, now.picked, { pick, give: (id, value) => give(id, value) });
    drawBar();
    own.byId('opinions-toggle').disabled = !isGraded();
    own.byId('back').disabled = now.place === 0;
  };

  const drawBar = () => {
    const picked = subject(now.picked);
    const grade = ownGrade(now.picked);
    own.byId('picked').replaceChildren(...own.trParts('Grade {subject}', { subject: own.make('bdi', {}, ...own.plainText(own.nameOf(picked))) }));
    for (const value of own.VALUES) own.byId(`give-${value}`).setAttribute('aria-pressed', String(grade?.value === value));
    const about = { subject: own.nameOf(picked) };
    own.byId('note-label').textContent = now.asking ? own.tr('Why is {subject} bad?', about) : own.tr('Note on {subject}', about);
    own.byId('note-hint').textContent = now.asking ? own.tr('Enter saves the reason, Esc skips it.') : own.tr('Enter saves it, Shift+Enter begins a new line.');
    own.byId('note-save').textContent = now.asking ? own.tr('Save the reason') : own.tr('Save the note');
  };

  const show = (item, place) => {
    const another = now.item?.id !== item.id;
    now.item = item;
    now.place = place;
    if (!another) return draw();
    now.picked = own.WHOLE;
    now.asking = null;
    own.byId('note').value = ownGrade(own.WHOLE)?.note ?? '';
    own.byId('opinions').hidden = true;
    own.byId('opinions-toggle').setAttribute('aria-expanded', 'false');
    own.showItem(item, settings.variables);
    draw();
    globalThis.scrollTo(0, 0);
  };

  const showScreen = (name) => {
    for (const screen of ['item', 'finish']) own.byId(screen).hidden = screen !== name;
  };

  // Criteria come and go while people grade.
  const take = (reply) => {
    now.subjects = reply.subjects;
    if (!subject(now.picked)) now.picked = own.WHOLE;
    count();
    if (settings.criteria) showCandidates();
  };

  // What comes of the grades in the background; that it cannot be asked for just now is no trouble.
  const showCandidates = async () => {
    try {
      own.say(own.byId('candidates'), (await own.ask('/criteria/summary', {})).sentence);
    } catch (problem) {
      if (!(problem instanceof own.Problem)) throw problem;
    }
  };

  const pick = (id) => {
    if (!now.item || !subject(id)) return;
    now.picked = id;
    now.asking = null;
    own.byId('note').value = ownGrade(id)?.note ?? '';
    draw();
    own.byId('subjects').querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
  };

  const pickBeside = (step) => {
    const index = now.subjects.findIndex((one) => one.id === now.picked) + step;
    if (now.subjects[index]) pick(now.subjects[index].id);
  };

  const gradeOf = (id, value, note) => ({
    grader: now.grader,
    item: now.item.id,
    subject: id,
    wording: subject(id).wording,
    value,
    note,
    policy: now.item.policy,
    probability: now.item.probability,
  });

  // Has the server write the grades, says whether they are on disk, and gives whether all of them are.
  const keep = async (grades, leaving = false) => {
    const { id } = now.item;
    showSaved('saving', `${own.tr('saving')} \u2026`);
    const problems = await sent(grades);
    if (problems.length) showSaved('failed', notSaved(problems.length));
    else showSaved('saved', `\u2713 ${own.tr('saved')}`);
    showTrouble(problems.length ? own.tr('Not taken: {reasons}.', { reasons: problems.join('; ') }) : '');
    if (problems.length || !leaving) await reload(id);
    settle(id);
    return !problems.length;
  };

  // Why grades were not taken, each in a sentence.
  const sent = async (grades) => {
    try {
      const { results } = await ask('give', { grades });
      results.forEach((result, number) => {
        const { subject: id, value, note } = grades[number];
        if (!result.problem) now.item.grades[id] = { value, note };
      });
      return results.flatMap((result) => result.problem ?? []);
    } catch (problem) {
      showSaved('failed', notSaved(grades.length));
      throw problem;
    }
  };

  // The grades on this output are on disk: it is one of those that this person graded.
  const settle = (id) => {
    if (now.item?.id !== id || !isGraded()) return;
    if (!now.trail.includes(id)) now.trail.push(id);
    if (now.fresh?.id === id) now.fresh = null;
    draw();
  };

  const reload = async (id) => {
    const reply = await ask('item', { item: id });
    take(reply);
    if (now.item?.id === id) {
      now.item = { ...reply.item, policy: now.item.policy, probability: now.item.probability };
      draw();
    }
  };

  const give = alone(async (id, value) => {
    if (!now.item) return;
    hint('');
    if (id !== now.picked) pick(id);
    const note = noteFor(id, value);
    const goOn = id === own.WHOLE && now.item.id === now.newest;
    const why = value === 'bad' && !note;
    const saved = await keep([gradeOf(id, value, note)], goOn && !why);
    if (why) askWhy(goOn);
    else if (saved && goOn) await onward();
  });

  // A note that was written for another value goes with that value, unless it is changed as well.
  const noteFor = (id, value) => {
    const note = own.byId('note').value.trim();
    const before = ownGrade(id);
    if (!before || before.value === value || before.note !== note) return note;
    own.byId('note').value = '';
    return '';
  };

  const askWhy = (goOn) => {
    now.asking = { goOn };
    draw();
    own.byId('note').focus();
  };

  const saveNote = alone(async () => {
    const note = own.byId('note').value.trim();
    const grade = ownGrade(now.picked);
    const asked = now.asking;
    now.asking = null;
    leaveNote();
    if (!grade) return hint(note ? own.tr('The note is kept with the grade that you give next.') : '');
    const saved = note === (grade.note ?? '') || (await keep([gradeOf(now.picked, grade.value, note)], asked?.goOn));
    if (saved && asked?.goOn) await onward();
  });

  // The note is saved and becomes a criterion; the output stays, to be graded by it.
  const noteAsCriterion = alone(async () => {
    const note = own.byId('note').value.trim();
    const grade = ownGrade(now.picked);
    if (!grade || !note) return hint(own.tr('Grade it and write what is wrong: that becomes the criterion.'));
    now.asking = null;
    leaveNote();
    if (note !== (grade.note ?? '') && !(await keep([gradeOf(now.picked, grade.value, note)]))) return;
    const { sentence } = await own.ask('/criteria/from-note', { grader: now.grader, item: now.item.id, subject: now.picked });
    await reload(now.item.id);
    hint(sentence);
  });

  const leaveNote = () => {
    own.byId('note').blur();
    draw();
  };

  const othersGood = alone(async () => {
    if (!now.item) return;
    const others = now.subjects.filter((one) => one.id !== own.WHOLE && !ownGrade(one.id));
    if (!others.length) return hint(own.tr('Every rule has a grade of yours.'));
    await keep(others.map((one) => gradeOf(one.id, 'good', '')));
    hint(own.trN('{count} rule graded good. Enter goes on.', '{count} rules graded good. Enter goes on.', others.length));
  });

  const onward = async () => {
    showScreen('item');
    if (now.place + 1 < now.trail.length) {
      const place = now.place + 1;
      const reply = await ask('item', { item: now.trail[place] });
      take(reply);
      return show(reply.item, place);
    }
    if (now.fresh) return show(now.fresh, now.trail.length);
    const reply = await ask('next', { policy: own.byId('policy').value });
    take(reply);
    if (!reply.item) return finish(true);
    if (reply.item.id === now.item?.id) return hint(own.tr('Grade the output as a whole (0) as well, or all rules that are left (a).'));
    now.fresh = reply.item;
    now.newest = reply.item.id;
    show(reply.item, now.trail.length);
  };

  const forward = alone(async () => {
    hint('');
    if (own.byId('item').hidden) return resume();
    if (now.item && now.place >= now.trail.length && !isGraded()) return hint(own.tr('Grade it first; unsure is an answer, too.'));
    await onward();
  });

  const back = alone(async () => {
    hint('');
    if (own.byId('item').hidden) return resume();
    if (now.place === 0) return hint(own.tr('This is the first output that you graded.'));
    const place = Math.min(now.place, now.trail.length) - 1;
    const reply = await ask('item', { item: now.trail[place] });
    take(reply);
    show(reply.item, place);
  });

  const undo = alone(async () => {
    const reply = await ask('undo');
    hint(reply.sentence);
    if (!reply.item) return;
    now.trail = reply.trail;
    now.fresh = null;
    take(reply);
    showScreen('item');
    now.item = null;
    const place = now.trail.indexOf(reply.item.id);
    if (place < 0) Object.assign(now, { fresh: reply.item, newest: reply.item.id });
    show(reply.item, place < 0 ? now.trail.length : place);
  });

  const opinions = alone(async () => {
    const panel = own.byId('opinions');
    if (!now.item || !isGraded()) return hint(own.tr('What others and machines say is shown once you have graded the output.'));
    if (panel.hidden) own.showOpinions((await ask('opinions', { item: now.item.id })).opinions);
    panel.hidden = !panel.hidden;
    own.byId('opinions-toggle').setAttribute('aria-expanded', String(!panel.hidden));
    if (!panel.hidden) panel.scrollIntoView({ block: 'nearest' });
  });

  const finish = (all) => {
    own.byId('finish-title').textContent = all ? own.tr('Every output is graded') : own.tr('Finished for now');
    own.byId('resume').hidden = all === true;
    showScreen('finish');
    own.byId('finish-title').focus();
  };

  const resume = () => {
    showScreen('item');
    if (!now.item) return onward();
    draw();
  };

  const begin = alone(async (grader) => {
    now.grader = grader;
    own.byId('grader').replaceChildren(own.make('bdi', {}, grader));
    own.byId('grader').setAttribute('aria-label', own.tr('Graded by {grader}: change who grades', { grader }));
    const reply = await ask('state');
    Object.assign(now, { trail: reply.trail, item: null, fresh: null });
    now.place = now.trail.length;
    own.offerGraders(reply.graders);
    take(reply);
    await onward();
  });

  const change = () => own.askGrader({ present: now.grader, suggested: settings.suggested, named: settings.grader }, begin);

  const actions = {
    good: () => give(now.picked, 'good'),
    bad: () => give(now.picked, 'bad'),
    unsure: () => give(now.picked, 'unsure'),
    pickWhole: () => pick(own.WHOLE),
    pickNumber: (key) => pick(now.subjects[Number(key)]?.id),
    pickNext: () => pickBeside(1),
    pickPrevious: () => pickBeside(-1),
    note: () => own.byId('note').focus(),
    grader: change,
    finish: () => finish(false),
    help: () => own.byId('help').showModal(),
    othersGood,
    undo,
    back,
    forward,
    opinions,
  };

  const wire = () => {
    const clicks = { 'give-good': 'good', 'give-bad': 'bad', 'give-unsure': 'unsure', 'others-good': 'othersGood', undo: 'undo', back: 'back', forward: 'forward', 'to-finish': 'finish', resume: 'forward', 'opinions-toggle': 'opinions', 'help-open': 'help', grader: 'grader' };
    for (const [id, action] of Object.entries(clicks)) own.byId(id).addEventListener('click', () => actions[action]());
    own.byId('note-save').addEventListener('click', saveNote);
    own.byId('note-criterion')?.addEventListener('click', noteAsCriterion);
    own.byId('note').addEventListener('keydown', (event) => {
      if (event.isComposing) return;
      if (event.key === 'Escape') {
        now.asking = null;
        leaveNote();
      } else if (event.key === 'Enter' && !event.shiftKey) {
        event.preventDefault();
        saveNote();
      }
    });
    own.byId('help-close').addEventListener('click', () => own.byId('help').close());
    own.byId('grader-cancel').addEventListener('click', () => own.byId('grader-dialog').close());
    own.byId('policy').addEventListener('change', changePolicy);
    own.obeyKeys(actions);
  };

  const changePolicy = alone(async () => {
    own.byId('policy').blur();
    if (now.item && now.place < now.trail.length) return;
    now.fresh = null;
    now.place = now.trail.length;
    await onward();
  });

  // On a phone the prompt would push the output out of sight.
  if (globalThis.matchMedia('(max-width: 48rem)').matches) own.byId('sent-fold').open = false;
  own.fillHelp(own.byId('key-list'));
  wire();
  const known = own.knownGrader(settings.grader);
  if (known) begin(known);
  else change();
})();
