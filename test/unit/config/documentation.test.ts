import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseJson } from '../../../local/config/json-text.ts';
import { parseAnyConfig } from '../../../local/config/parse.ts';
import { faultsOf } from './faults-of.ts';

/** The examples of the section "Entities from a file". */

const PAGE = fileURLToPath(new URL('../../../docs/local-server.md', import.meta.url));
const SECTION = readFileSync(PAGE, 'utf8')
  .split('\n## Entities from a file\n')[1]
  ?.split('\n## ')[0];
const blocks = (language: string) =>
  [...(SECTION ?? '').matchAll(new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, text = '']) => text,
  );
const [FILE = '', SHORT = '', WRONG = ''] = blocks('json');

test("the examples of the vendor's format and of the short form say the same", () => {
  const [file, short] = [FILE, SHORT].map((text) =>
    parseAnyConfig(parseJson(text)).entities.map(({ name, settings, rules }) => ({
      name,
      settings,
      rules: rules?.map(({ rule }) => rule),
    })),
  );
  assert.equal(file?.length, 4);
  assert.deepEqual(short, file);
});

test('the example of a wrong file is refused with the lines of the documentation', () => {
  const [, ...lines] = blocks('text')[0]?.trimEnd().split('\n') ?? [];
  assert.deepEqual(
    faultsOf(() => parseAnyConfig(parseJson(WRONG))),
    lines,
  );
});
