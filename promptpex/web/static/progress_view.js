'use strict';
// How far the grading is, and the screen at the end.
(() => {
  const own = globalThis.promptpex;

  const lines = (list, sentences) => list.replaceChildren(...sentences.map((sentence) => own.make('li', { dir: 'auto' }, ...own.plainText(sentence))));

  own.showProgress = (progress, first) => {
    own.byId('progress').hidden = false;
    const bar = own.byId('graded-bar');
    bar.max = Math.max(1, progress.items);
    bar.value = progress.mine;
    const graded = own.trN('{mine} of {count} output graded by you', '{mine} of {count} outputs graded by you', progress.items, { mine: progress.mine });
    own.byId('graded-count').textContent = progress.begun ? own.tr('{graded}, {count} more begun', { graded, count: progress.begun }) : graded;
    lines(own.byId('progress-lines'), progress.sentences);
    if (first) showCountdown(progress.mine, first);
  };

  const showCountdown = (mine, first) => {
    const left = Math.max(0, first - mine);
    own.byId('countdown').hidden = false;
    own.byId('countdown-bar').value = Math.min(mine, first);
    own.byId('countdown-left').textContent = left
      ? own.trN(
          '{count} more output to grade before you write down what you look for. Give a reason for each bad one.',
          '{count} more outputs to grade before you write down what you look for. Give a reason for each bad one.',
          left,
        )
      : own.tr('That is enough to begin with.');
    const onward = own.byId('to-criteria');
    if (onward) onward.hidden = left > 0;
  };

  own.showFinish = (progress) => {
    own.byId('finish-count').textContent = own.trN('You have graded {count} output of {all}.', 'You have graded {count} outputs of {all}.', progress.mine, { all: progress.items });
    lines(own.byId('finish-lines'), progress.finish);
  };
})();
