'use strict';
// Foreign text for reading: every control character is made visible, and a very long text is folded.
(() => {
  const own = globalThis.promptpex;
  const FOLD = 4000; // characters: some 50 lines
  const BEGINNING = 1500;
  // C0 and C1 without tab and line feed, marks without width, signs that turn the writing direction around, halves of
  // characters. The joiners of emoji and of Persian, and the direction marks of Hebrew and Arabic, stay as they are.
  const UNSEEN =
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

  // By its number: fonts lack the pictures of control characters.
  const nameOf = (sign) => `[U+${sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`;

  const pieces = (text) => {
    const made = [];
    let end = 0;
    for (const match of text.matchAll(UNSEEN)) {
      made.push(text.slice(end, match.index));
      made.push(own.make('span', { class: 'sign' }, nameOf(match[0])));
      end = match.index + match[0].length;
    }
    made.push(text.slice(end));
    return made;
  };

  const beginningOf = (text) => {
    const last = text.charCodeAt(BEGINNING - 1);
    return text.slice(0, last >= 0xd800 && last <= 0xdbff ? BEGINNING - 1 : BEGINNING);
  };

  own.counted = (count) => count.toLocaleString(document.documentElement.lang || 'en');

  // Fills the place with {text, more}: `more` characters of it were not sent. empty: what stands there without a text.
  own.showText = (place, shown, empty) => {
    const text = shown.text.replaceAll('\r\n', '\n');
    const body = own.make('div', { class: 'text', dir: 'auto' });
    place.replaceChildren(body);
    if (!text) {
      body.append(own.make('span', { class: 'quiet' }, empty));
      return;
    }
    const folded = text.length > FOLD;
    body.append(...pieces(folded ? beginningOf(text) : text));
    if (folded) {
      const button = own.make('button', { type: 'button', class: 'unfold' }, own.tr('Show all {count} characters', { count: own.counted(text.length) }));
      button.addEventListener('click', () => {
        body.replaceChildren(...pieces(text));
        button.remove();
        body.tabIndex = -1;
        body.focus();
      });
      place.append(button);
    }
    if (shown.more) place.append(own.make('p', { class: 'quiet' }, own.tr('Cut: {count} more characters.', { count: own.counted(shown.more) })));
  };

  own.plainText = pieces;
})();
