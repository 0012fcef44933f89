import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namedTests } from './names.ts';

const idsOf = (source: string) => namedTests(source).map(({ ids }) => ids.join(' '));

/** A sign that begins an id, in pieces: in one it would count for this very file. */
const N = '#';

const CASES: readonly (readonly [what: string, source: string, ids: readonly string[]])[] = [
  ['single quotes', `test('${N}41 ${N}A2 it expires', async (t) => {});`, ['41 A2']],
  ['double quotes', `test("${N}41 it doesn't live on", () => {});`, ['41']],
  ['an escaped quote', `test('${N}41 it doesn\\'t', f); test('${N}42 next', f);`, ['41', '42']],
  ['a template', `test(\`${N}24 ${N}B9 \${named} ends\`, f);`, ['24 B9']],
  ['a name on a line of its own', `test(\n  '${N}7 renewed',\n  f,\n);`, ['7']],
  [
    'a row of a table',
    `const ROWS = [['${N}114 label', x], { what: '${N}31 a send' }];`,
    ['114', '31'],
  ],
  ['a text inside a template', `run(\`a \${pick('${N}5 inner', \`\${x}\`)} b\`);`, ['5']],
  ['a comment', `// test('${N}1 no');\n/* test('${N}2 no') */ test('${N}3 yes', f);`, ['3']],
  ['a comment with a quote in it', `// it's\ntest('${N}3 yes', f); // don't`, ['3']],
  ['a regular expression with quotes', `/['"\`]/.test(x); test('${N}3 yes', f);`, ['3']],
  ['a division', `const a = b / c; test('${N}3 yes', f); const d = e / f;`, ['3']],
  [
    'a test that is not run',
    `test.skip('${N}1 a', f); test.todo('${N}2 b'); test.only('${N}3 c', f);`,
    ['3'],
  ],
  ['an id that is not in front', `test('the rule ${N}5 holds', f);`, []],
  ['what only looks like an id', `paint('${N}fff white'); entity('&${N}65;'); id('${N}5');`, []],
];

for (const [what, source, ids] of CASES) {
  test(`${what}: the ids of tests are found`, () => {
    assert.deepEqual(idsOf(source), ids);
  });
}
