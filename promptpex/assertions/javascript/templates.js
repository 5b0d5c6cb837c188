// Renders the templates of checks with nunjucks. A template sees the variables' own values, indexes and lengths, and no
// property of the language: so that none gets at functions by which the next could be rendered otherwise.
(() => {
  'use strict';
  const { nunjucks } = globalThis;
  const { nodes, parser, runtime } = nunjucks;
  const { hasOwn, setPrototypeOf } = Object;
  const { parse } = JSON;
  const LONGEST = 10_000_000;
  const KEPT = 500;

  const env = new nunjucks.Environment([], { autoescape: false });
  for (const name of ['filters', 'tests', 'globals', 'extensions']) setPrototypeOf(env[name], null);

  let parsedText = null;
  let parsedObject = null;
  // A text that is a JSON object has its keys, so that {{ order.status }} works where the input is a JSON text.
  const objectIn = (text) => {
    if (text === parsedText) return parsedObject;
    let value = null;
    if (text.trimStart()[0] === '{') { try { value = parse(text); } catch {} }
    parsedText = text;
    parsedObject = value;
    return value;
  };
  runtime.memberLookup = (object, key) => {
    if (object === undefined || object === null || typeof object === 'function') return undefined;
    if (typeof object === 'string') {
      if (key === 'length' || Number.isInteger(key)) return object[key];
      const parsed = objectIn(object);
      return parsed !== null && hasOwn(parsed, key) ? parsed[key] : undefined;
    }
    if (!hasOwn(Object(object), key)) return undefined;
    const value = object[key];
    return typeof value === 'function' ? (...given) => value.apply(object, given) : value;
  };
  runtime.contextOrFrameLookup = (context, frame, name) => {
    const value = frame.lookup(name);
    if (value !== undefined) return value;
    return hasOwn(context.ctx, name) ? context.ctx[name] : env.globals[name];
  };

  const compiled = new Map();
  const template = (source) => {
    if (!compiled.has(source)) {
      if (compiled.size >= KEPT) compiled.clear();
      compiled.set(source, new nunjucks.Template(source, env, undefined, true));
    }
    return compiled.get(source);
  };
  const symbols = (root, type, field) => root.findAll(type)
    .flatMap((node) => (Array.isArray(node[field]) ? node[field] : node[field].children || [node[field]]))
    .filter((each) => each instanceof nodes.Symbol);
  const names = (source) => {
    const root = parser.parse(source);
    const own = [
      ...symbols(root, nodes.Set, 'targets'), ...symbols(root, nodes.For, 'name'), ...symbols(root, nodes.Macro, 'name'),
      ...symbols(root, nodes.Macro, 'args'), ...symbols(root, nodes.Filter, 'name'), ...symbols(root, nodes.Is, 'right'),
      ...symbols(root, nodes.Pair, 'key'),
    ];
    const set = new Set(['loop', 'caller', ...own.map((each) => each.value)]);
    return root.findAll(nodes.Symbol).map((each) => each.value).filter((name) => !set.has(name) && !(name in env.globals));
  };
  const asked = {
    names,
    check: (source) => {
      template(source);
      const unknown = symbols(parser.parse(source), nodes.Filter, 'name').find(({ value }) => !(value in env.filters));
      if (unknown) throw new Error(`filter not found: ${unknown.value}`);
      return null;
    },
    render: (source, variables) => {
      const text = template(source).render(variables);
      if (text.length > LONGEST) throw new Error('it grows too large');
      return text;
    },
  };
  globalThis.answer = (what, source, packed) => {
    try {
      return JSON.stringify({ kind: 'made', value: asked[what](source, parse(packed)) });
    } catch (error) {
      return JSON.stringify({ kind: 'bad', message: String(error.message || error) });
    }
  };
})();
