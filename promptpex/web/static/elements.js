'use strict';
// Elements of the page, made without ever reading text as HTML: texts of models and people go in as text nodes.
(() => {
  const own = (globalThis.promptpex ??= {});

  own.byId = (id) => document.getElementById(id);

  // make('p', {class: 'quiet', title: '...'}, 'text or elements', ...)
  own.make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
    }
    element.append(...children);
    return element;
  };

  own.say = (element, text) => {
    if (element.textContent !== text) element.textContent = text;
  };

  // What a browser that keeps nothing answers: reading and writing never throw.
  own.storage = {
    read(name) {
      try {
        return JSON.parse(globalThis.localStorage.getItem(name));
      } catch {
        return null;
      }
    },
    write(name, value) {
      try {
        globalThis.localStorage.setItem(name, JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
  };
})();
