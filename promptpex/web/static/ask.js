'use strict';
// Asking the server: data, or a problem.
(() => {
  const own = globalThis.promptpex;

  own.ask = async (path, fields) => {
    let reply;
    try {
      reply = await fetch(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(fields),
        credentials: 'same-origin',
        redirect: 'error',
      });
    } catch {
      throw new own.Problem('gone', own.tr('The server does not answer'));
    }
    if (reply.status === 403) throw new own.Problem('locked', own.tr('This link is no longer valid'));
    let data;
    try {
      data = await reply.json();
    } catch {
      throw new own.Problem('gone', own.tr('The server stopped in the middle of an answer'));
    }
    if (!reply.ok) throw new own.Problem(reply.status >= 500 ? 'gone' : 'refused', data.error ?? own.tr('The server refused this'));
    return data;
  };
})();
