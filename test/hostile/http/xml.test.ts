import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseXml } from '../../../lambdas/http/atom/xml.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';
import { allocatedBytes } from '../../support/allocated-bytes.ts';
import { entry, startAtom } from '../../support/atom-client.ts';

const LIMITS = BUDGETS.xml;
const PARSES = 8;

const times = (count: number, unit: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => unit(i)).join('');

const declarations = (count: number): string => times(count, (i) => ` xmlns:p${i}="u"`);

const parse = (xml: string) => parseXml(new TextEncoder().encode(xml));

test('row 10: thousands of declared namespaces over thousands of elements are refused', async () => {
  const { call } = startAtom();
  const body = `<r${declarations(4000)}>${times(4900, () => '<a/>')}</r>`;
  assert.ok(body.length < LIMITS.bytes);
  const { status, text } = await call('PUT', '/q', { body });
  assert.equal(status, 400);
  assert.match(text, /more than 32 declarations of namespaces in force at once/);
});

test('row 10: too many namespace declarations over nested elements are refused too', () => {
  const nested = `${times(20, (i) => `<a xmlns:p${i}="u" xmlns:q${i}="v">`)}${'</a>'.repeat(20)}`;
  refused(nested, /more than 32 declarations/);
});

test('row 10: too many elements or attributes are refused, and the error names the limit', () => {
  refused(`<r>${'<a/>'.repeat(LIMITS.elements)}</r>`, /more than 5000 elements/);
  const attributes = times(LIMITS.attributes / 5 + 1, () => '<a b="" c="" d="" e="" f=""/>');
  refused(`<r>${attributes}</r>`, /more than 10000 attributes/);
});

test('row 10: elements that are nested too deep, closed or not, are refused, and the error names the limit', () => {
  const deep = LIMITS.depth + 10;
  refused(`${'<a>'.repeat(deep)}${'</a>'.repeat(deep)}`, /nested more than 32 deep/);
  refused('<a>'.repeat(deep), /ends before all of its elements are closed/);
});

test('row 10: the cost of an element does not grow with the number of declared namespaces', async () => {
  const document = (count: number) => `<r${declarations(count)}>${'<a/>'.repeat(4000)}</r>`;
  const [none, all] = [document(0), document(LIMITS.declarations)];
  // The first run also compiles code, which is not a cost of the document.
  parse(all);
  const without = await allocatedBytes(() => parse(none));
  const within = await allocatedBytes(() => parse(all));
  assert.ok(within < 1.25 * without, `${within} bytes, ${without} without declarations`);
});

/** Everything that may be repeated in a document; each is well-formed. */
const REPEATED: Readonly<Record<string, (count: number) => string>> = {
  elements: (count) => `<r>${'<a></a>'.repeat(count)}</r>`,
  'elements of many names': (count) => `<r>${times(count, (i) => `<a${i}/>`)}</r>`,
  'elements with a prefix': (count) => `<r xmlns:p="u">${'<p:a/>'.repeat(count)}</r>`,
  'elements with a declaration': (count) => `<r>${'<a xmlns="u"/>'.repeat(count)}</r>`,
  attributes: (count) => `<r${times(count, (i) => ` a${i}="1"`)}/>`,
  'pieces of text': (count) => `<r>${'text<a/>'.repeat(count)}</r>`,
  'sections of CDATA': (count) => `<r>${'<![CDATA[text]]>'.repeat(count)}</r>`,
  comments: (count) => `<r>${'text<!-- x -->'.repeat(count)}</r>`,
  'processing instructions': (count) => `<r>${'<?p a="1" ?>'.repeat(count)}</r>`,
  references: (count) => `<r b="${'&lt;'.repeat(count)}">${'&#65;'.repeat(count)}</r>`,
  'line ends': (count) => `<r>${'\r\n\t'.repeat(count)}</r>`,
  'spaces in tags': (count) => `<r${' \t'.repeat(count)}a="1"></r${' '.repeat(count)}>`,
};

/** A document allocates less than what can be measured exactly, so it is parsed several times. */
function bytesToParse(document: string): Promise<number> {
  return allocatedBytes(() => {
    for (let i = 0; i < PARSES; i++) parse(document);
  });
}

for (const [what, document] of Object.entries(REPEATED)) {
  test(`row 10: twice as many ${what} cost twice as much`, async () => {
    const [once, twice] = [document(2000), document(4000)];
    parse(twice);
    const half = await bytesToParse(once);
    const whole = await bytesToParse(twice);
    assert.ok(whole < 2.6 * half, `${whole} bytes for twice the input that costs ${half}`);
  });
}

test('row 10: a filter with as many parameters as 128 KB can hold is read', async () => {
  const { call } = startAtom();
  const pair = '<KeyValueOfstringanyType><Key>@</Key><Value>1</Value></KeyValueOfstringanyType>';
  const count = Math.floor((LIMITS.bytes - 1000) / pair.length);
  const { text } = await call('PUT', '/t/Subscriptions/s/Rules/r', {
    body: entry(
      'RuleDescription',
      `<Filter i:type="SqlFilter"><SqlExpression>a=@1</SqlExpression><Parameters>${pair.repeat(count)}</Parameters></Filter>`,
    ),
  });
  // The elements were read: the error is in their content.
  assert.match(text, /is in Parameters twice/);
});

function refused(xml: string, sentence: RegExp): void {
  assert.ok(xml.length < LIMITS.bytes);
  assert.throws(
    () => parse(xml),
    (error) => error instanceof BrokerError && sentence.test(error.message),
  );
}
