'use strict';
// One output with what led to it: variables, what the model was sent, where it comes from and why it was chosen.
(() => {
  const own = globalThis.promptpex;

  const quiet = (...text) => own.make('p', { class: 'quiet' }, ...text);

  const notRecorded = (names) => {
    const one = names.length === 1;
    return quiet(`The prompt's variable${one ? '' : 's'} `, own.make('bdi', {}, ...own.plainText(names.join(', '))), ` ${one ? 'is' : 'are'} not recorded with this output.`);
  };

  const variables = (inputs, missing) => {
    if (!inputs.length && !missing.length) return [quiet('The prompt has no variables.')];
    const shown = inputs.flatMap((input) => {
      const value = own.make('dd');
      own.showText(value, input, 'this variable');
      return [own.make('dt', {}, own.make('bdi', {}, ...own.plainText(input.name))), value];
    });
    return missing.length ? [...shown, notRecorded(missing)] : shown;
  };

  const chance = (probability) => {
    if (!probability) return '';
    if (probability > 0.995) return ', with certainty';
    return `, with a probability of ${probability < 0.001 ? 'less than 0.1' : Number((100 * probability).toPrecision(2))}%`;
  };

  const origin = (item) => {
    const parts = [];
    if (item.case) parts.push('case ', own.make('bdi', {}, ...own.plainText(item.case)));
    if (item.model_name) parts.push(parts.length ? ', ' : '', own.make('bdi', {}, ...own.plainText(item.model_name)));
    if (item.repeat) parts.push(`, repeat ${item.repeat}`);
    if (item.times > 1) parts.push(`, the same text ${item.times} times`);
    if (item.policy_name) parts.push(`${parts.length ? '; ' : ''}chosen by `, own.make('b', {}, item.policy_name), chance(item.probability));
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
    if (missing.length && !item.sent.text) own.byId('sent').replaceChildren(quiet('What the model was sent is not recorded with this output.'));
    else own.showText(own.byId('sent'), item.sent, 'the prompt');
    own.showText(own.byId('output'), item.output, 'the output');
  };

  const MARKS = { pass: '\u2713 pass', fail: '\u2717 fail', none: '\u25cb no verdict' };

  const opinionRow = (opinion) => {
    const who = own.make('bdi', {}, ...own.plainText(opinion.who));
    const row = own.make('li', {}, own.make('span', { class: `mark ${opinion.status}` }, MARKS[opinion.status] ?? opinion.status), ' ', who, ' on ', own.make('bdi', {}, ...own.plainText(opinion.subject)));
    if (opinion.reason) {
      const reason = own.make('div', { class: 'reason' });
      own.showText(reason, { text: opinion.reason, more: 0 }, 'the reason');
      row.append(reason);
    }
    return row;
  };

  own.showOpinions = (opinions) => {
    const list = own.byId('opinion-list');
    if (!opinions.length) list.replaceChildren(own.make('li', { class: 'quiet' }, 'Nobody else, and no machine, has said anything of this output.'));
    else list.replaceChildren(...opinions.map(opinionRow));
  };
})();
