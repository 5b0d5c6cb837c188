'use strict';
// Whether everything is on disk: said in the bar, and above the page where it is not.
(() => {
  const own = globalThis.promptpex;

  own.showTrouble = (text) => {
    own.byId('trouble').hidden = !text;
    own.say(own.byId('trouble'), text);
  };

  const waiting = ({ count, problem, safe }, again) => {
    const them = count === 1 ? 'it' : 'them';
    const kept = safe === false ? `Keep this page open: this browser cannot keep ${them}` : `This browser keeps ${them} and sends ${them} when the server is back`;
    return `${problem.message}: ${own.plural(count, 'grade')} not saved. ${kept}. ${again}.`;
  };

  // news: what a desk tells: {state: saving | saved | waiting | unsafe, count, problem, refused, safe}
  own.showSaved = (news, settings) => {
    const line = own.byId('saved');
    line.className = news.state;
    if (news.state === 'saved') {
      own.say(line, settings.offline ? '\u2713 kept here' : '\u2713 saved');
      own.showTrouble(news.refused?.length ? `Not taken: ${news.refused.join('; ')}.` : '');
    } else if (news.state === 'unsafe') {
      own.say(line, '\u2717 not kept');
      own.showTrouble('This browser cannot keep grades: download them before you close the page.');
    } else if (news.state === 'waiting') {
      own.say(line, `\u2717 ${own.plural(news.count, 'grade')} not saved`);
      own.showTrouble(waiting(news, settings.again));
    } else own.say(line, 'saving \u2026');
  };
})();
