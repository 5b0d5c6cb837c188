'use strict';
// One output with what led to it: variables, what the model was sent, where it comes from and why it was chosen.
(() => {
  const own = globalThis.promptpex;

  const quiet = (...text) => own.make('p', { class: 'quiet' }, ...text);

  const notRecorded = (names) => {
    const value = { names: own.make('bdi', {}, ...own.plainText(names.join(', '))) };
    if (names.length === 1) return quiet(...own.trParts("The prompt's variable {names} is not recorded with this output.", value));
    return quiet(...own.trParts("The prompt's variables {names} are not recorded with this output.", value));
  };

  const variables = (inputs, missing) => {
    if (!inputs.length && !missing.length) return [quiet(own.tr('The prompt has no variables.'))];
    const shown = inputs.flatMap((input) => {
      const value = own.make('dd');
      own.showText(value, input, own.tr('(this variable is empty)'));
      return [own.make('dt', {}, own.make('bdi', {}, ...own.plainText(input.name))), value];
    });
    return missing.length ? [...shown, notRecorded(missing)] : shown;
  };

  const chance = (probability) => {
    if (!probability) return '';
    if (probability > 0.995) return `, ${own.tr('with certainty')}`;
    if (probability < 0.001) return `, ${own.tr('with a probability of less than 0.1%')}`;
    return `, ${own.tr('with a probability of {share}%', { share: Number((100 * probability).toPrecision(2)) })}`;
  };

  const origin = (item) => {
    const parts = [];
    if (item.case) parts.push(...own.trParts('case {case}', { case: own.make('bdi', {}, ...own.plainText(item.case)) }));
    if (item.model_name) parts.push(parts.length ? ', ' : '', own.make('bdi', {}, ...own.plainText(item.model_name)));
    if (item.repeat) parts.push(`, ${own.tr('repeat {number}', { number: item.repeat })}`);
    if (item.times > 1) parts.push(`, ${own.tr('the same text {count} times', { count: item.times })}`);
    if (item.policy_name) parts.push(parts.length ? '; ' : '', ...own.trParts('chosen by {policy}', { policy: own.make('b', {}, item.policy_name) }), chance(item.probability));
    return parts;
  };

  // Written anew only where it has changed: a screen reader reads it out each time.
  own.showOrigin = (item) => {
    const place = own.byId('origin');
    const made = own.make('span', {}, ...origin(item));
    if (made.textContent !== place.textContent) place.replaceChildren(made);
  };

  // names: the variables of the prompt; a log of production may lack them.
  own.showItem = (item, names) => {
    const missing = names.filter((name) => !item.inputs.some((input) => input.name === name));
    own.byId('inputs').replaceChildren(...variables(item.inputs, missing));
    if (missing.length && !item.sent.text) own.byId('sent').replaceChildren(quiet(own.tr('What the model was sent is not recorded with this output.')));
    else own.showText(own.byId('sent'), item.sent, own.tr('(the prompt is empty)'));
    own.showText(own.byId('output'), item.output, own.tr('(the output is empty)'));
  };

  const marks = () => ({ pass: `\u2713 ${own.tr('pass')}`, fail: `\u2717 ${own.tr('fail')}`, none: `\u25cb ${own.tr('no verdict')}` });

  const opinionRow = (opinion) => {
    const who = own.make('bdi', {}, ...own.plainText(opinion.who));
    const subject = own.make('bdi', {}, ...own.plainText(opinion.subject));
    const mark = own.make('span', { class: `mark ${opinion.status}` }, marks()[opinion.status] ?? opinion.status);
    const row = own.make('li', {}, mark, ' ', ...own.trParts('{who} on {subject}', { who, subject }));
    if (opinion.reason) {
      const reason = own.make('div', { class: 'reason' });
      own.showText(reason, { text: opinion.reason, more: 0 }, own.tr('(the reason is empty)'));
      row.append(reason);
    }
    return row;
  };

  own.showOpinions = (opinions) => {
    const list = own.byId('opinion-list');
    if (!opinions.length) list.replaceChildren(own.make('li', { class: 'quiet' }, own.tr('Nobody else, and no machine, has said anything of this output.')));
    else list.replaceChildren(...opinions.map(opinionRow));
  };
})();
