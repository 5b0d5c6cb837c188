'use strict';
// Side by side: marks the words in which outputs that stand next to each other differ, for the cases in view: those of a
// case from its first one, or of two runs in pairs.
(() => {
  const own = globalThis.promptpexReport;
  const side = document.getElementById('side');
  const inPairs = 'pairs' in (own.list?.dataset ?? {});
  if (!own.list || !(side || inPairs)) return;
  const isOn = () => inPairs || side.checked;

  const MOST_WORDS = 3000; // of one text; the rest is compared with nothing
  const MOST_CELLS = 400000; // of the table of a comparison: some milliseconds

  const split = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
  const isBlank = (word) => /^\s/.test(word);

  // For each word of `ours` whether it is in a longest common subsequence of both (Hirschberg, CACM 18(6), 1975,
  // section 1); of texts too long for that table, whether it occurs in the other at all.
  const common = (ours, others) => {
    if (ours.length * others.length > MOST_CELLS) {
      const there = new Set(others);
      return ours.map((word) => there.has(word));
    }
    const width = others.length + 1;
    const longest = new Uint16Array((ours.length + 1) * width);
    for (let row = ours.length - 1; row >= 0; row -= 1) {
      for (let column = others.length - 1; column >= 0; column -= 1) {
        const at = row * width + column;
        longest[at] =
          ours[row] === others[column] ? longest[at + width + 1] + 1 : Math.max(longest[at + width], longest[at + 1]);
      }
    }
    const kept = ours.map(() => false);
    for (let row = 0, column = 0; row < ours.length && column < others.length; ) {
      const at = row * width + column;
      if (ours[row] === others[column]) {
        kept[row] = true;
        row += 1;
        column += 1;
      } else if (longest[at + width] >= longest[at + 1]) row += 1;
      else column += 1;
    }
    return kept;
  };

  // Equal beginnings and ends need no table.
  const keptWords = (ours, others) => {
    const least = Math.min(ours.length, others.length);
    let start = 0;
    while (start < least && ours[start] === others[start]) start += 1;
    let end = 0;
    while (end < least - start && ours[ours.length - 1 - end] === others[others.length - 1 - end]) end += 1;
    const middle = common(ours.slice(start, ours.length - end), others.slice(start, others.length - end));
    return [...Array(start).fill(true), ...middle, ...Array(end).fill(true)];
  };

  // A text as words, and in marks those that are not kept, neighbours together.
  const pieces = (words, kept) => {
    const made = [];
    let run = '';
    let marked = false;
    const flush = () => {
      if (!run) return;
      const mark = marked && document.createElement('mark');
      if (mark) {
        mark.className = 'differs';
        mark.textContent = run.trimEnd();
      }
      made.push(...(mark ? [mark, run.slice(mark.textContent.length)] : [run]));
      run = '';
    };
    words.forEach((word, at) => {
      const differs = !kept[at] && (!isBlank(word) || marked);
      if (differs !== marked) flush();
      marked = differs;
      run += word;
    });
    flush();
    return made;
  };

  const textOf = (output) => output.querySelector(':scope > .text, :scope > details > .text');

  const sets = (group) => (inPairs ? group.querySelectorAll('.pair') : [group.lastElementChild]);
  const compare = (group) => [...sets(group)].forEach(compareAll);

  const compareAll = (set) => {
    const texts = [...set.children].filter((output) => !output.hidden).map(textOf).filter(Boolean);
    const words = texts.map((text) => split(text.textContent));
    texts.forEach((text, at) => {
      if (text.parentElement.tagName === 'DETAILS') text.parentElement.open = true;
      const other = words[at === 0 && texts.length === 2 ? 1 : 0];
      const ours = words[at].slice(0, MOST_WORDS);
      if ((at === 0 && texts.length !== 2) || text.textContent === other.join('')) text.replaceChildren(text.textContent);
      else text.replaceChildren(...pieces(ours, keptWords(ours, other.slice(0, MOST_WORDS))), words[at].slice(MOST_WORDS).join(''));
    });
  };

  const seen = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting || !entry.target.open) continue;
        seen.unobserve(entry.target);
        compare(entry.target);
      }
    },
    { rootMargin: '300px' },
  );

  const renew = () => {
    if (inPairs) return; // what is next to each other stays so
    seen.disconnect();
    const marked = new Set([...own.list.querySelectorAll('mark.differs')].map((mark) => mark.parentElement));
    for (const text of marked) text.replaceChildren(text.textContent);
    if (side.checked) own.visible().forEach((group) => seen.observe(group));
  };
  own.changed = renew;
  own.list.addEventListener(
    'toggle',
    (event) => {
      if (isOn() && event.target.open && event.target.parentElement === own.list) compare(event.target);
    },
    true,
  );
  if (inPairs) [...own.list.children].forEach((group) => seen.observe(group));
  renew();
})();
