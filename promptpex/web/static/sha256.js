'use strict';
// SHA-256 (FIPS 180-4) of a text in UTF-8. The browser's own is there on secure origins alone, and a saved file need not be one.
(() => {
  const own = globalThis.promptpex;
  const firstPrimes = [];
  for (let number = 2; firstPrimes.length < 64; number += 1) {
    if (firstPrimes.every((prime) => number % prime)) firstPrimes.push(number);
  }
  const fraction = (value) => Math.floor((value % 1) * 2 ** 32) | 0;
  const ROUND = firstPrimes.map((prime) => fraction(Math.cbrt(prime)));
  const START = firstPrimes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));

  const turned = (word, by) => (word >>> by) | (word << (32 - by));

  const padded = (bytes) => {
    const view = new DataView(new ArrayBuffer(Math.ceil((bytes.length + 9) / 64) * 64));
    bytes.forEach((byte, place) => view.setUint8(place, byte));
    view.setUint8(bytes.length, 0x80);
    view.setUint32(view.byteLength - 8, Math.floor(bytes.length / 2 ** 29));
    view.setUint32(view.byteLength - 4, bytes.length << 3);
    return view;
  };

  const schedule = (view, start) => {
    const words = new Int32Array(64);
    for (let i = 0; i < 16; i += 1) words[i] = view.getInt32(start + 4 * i);
    for (let i = 16; i < 64; i += 1) {
      const [a, b] = [words[i - 15], words[i - 2]];
      const low = turned(a, 7) ^ turned(a, 18) ^ (a >>> 3);
      const high = turned(b, 17) ^ turned(b, 19) ^ (b >>> 10);
      words[i] = words[i - 16] + low + words[i - 7] + high;
    }
    return words;
  };

  const compressed = (state, words) => {
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i += 1) {
      const one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + words[i];
      const two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    return [a, b, c, d, e, f, g, h].map((word, i) => (word + state[i]) | 0);
  };

  own.sha256 = (text) => {
    const view = padded(new TextEncoder().encode(text));
    let state = START;
    for (let start = 0; start < view.byteLength; start += 64) state = compressed(state, schedule(view, start));
    return state.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  };
})();
