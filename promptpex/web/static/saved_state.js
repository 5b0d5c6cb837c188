'use strict';
// Whether everything is on disk: said in the bar, and above the page where it is not.
(() => {
  const own = globalThis.promptpex;

  own.showTrouble = (text) => {
    own.byId('trouble').hidden = !text;
    own.say(own.byId('trouble'), text);
  };

  const notSaved = (count) => own.trN('{count} grade not saved', '{count} grades not saved', count);

  const waiting = ({ count, problem, safe }, again) => {
    const kept =
      safe === false
        ? own.trN('Keep this page open: this browser cannot keep it', 'Keep this page open: this browser cannot keep them', count)
        : own.trN('This browser keeps it and sends it when the server is back', 'This browser keeps them and sends them when the server is back', count);
    return `${problem.message}: ${notSaved(count)}. ${kept}. ${again}.`;
  };

  // news: what a desk tells: {state: saving | saved | waiting | unsafe, count, problem, refused, safe}
  own.showSaved = (news, settings) => {
    const line = own.byId('saved');
    line.className = news.state;
    if (news.state === 'saved') {
      own.say(line, `\u2713 ${settings.offline ? own.tr('kept here') : own.tr('saved')}`);
      own.showTrouble(news.refused?.length ? own.tr('Not taken: {reasons}.', { reasons: news.refused.join('; ') }) : '');
    } else if (news.state === 'unsafe') {
      own.say(line, `\u2717 ${own.tr('not kept')}`);
      own.showTrouble(own.tr('This browser cannot keep grades: download them before you close the page.'));
    } else if (news.state === 'waiting') {
      own.say(line, `\u2717 ${notSaved(news.count)}`);
      own.showTrouble(waiting(news, settings.again));
    } else own.say(line, `${own.tr('saving')} \u2026`);
  };
})();
