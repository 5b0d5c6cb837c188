// Matches for the kind regex and for patterns in schemas. No user code runs in this context.
(() => {
  const made = new Map();
  let results = [];
  const pattern = (source, flags) => {
    const key = flags + '/' + source;
    if (!made.has(key)) {
      if (made.size > 2000) made.clear();
      made.set(key, new RegExp(source, flags));
    }
    return made.get(key);
  };
  // For each match where it stands, in UTF-16 units, null where there is none, or why there is no such pattern.
  globalThis.match = (packed) => {
    const [patterns, texts, jobs] = JSON.parse(packed);
    results = [];
    for (const [source, text] of jobs) {
      try {
        const found = pattern(patterns[source][0], patterns[source][1]).exec(texts[text]);
        results.push(found && [found.index, found.index + found[0].length]);
      } catch (error) {
        results.push(String(error.message));
      }
    }
    return JSON.stringify(results);
  };
  // After a call that ran out of time: what was done until then.
  globalThis.matched = () => JSON.stringify(results);
})()
