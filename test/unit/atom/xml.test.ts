import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { element } from '../../../lambdas/http/atom/write-xml.ts';
import { parseXml } from '../../../lambdas/http/atom/xml.ts';
import { forbiddenInXml } from '../../../lambdas/http/format/xml-text.ts';
import { BrokerError } from '../../../shared/domain/broker-error.ts';
import { BUDGETS } from '../../../shared/domain/budgets/budgets.ts';

const parse = (xml: string) => parseXml(new TextEncoder().encode(xml));

test('names are identified by namespace, whatever the prefix', () => {
  const plain = parse('<e xmlns="urn:x" xmlns:i="urn:i" i:type="t"><c/></e>');
  const prefixed = parse('<p:e xmlns:p="urn:x" xmlns:q="urn:i" q:type="t"><p:c/></p:e>');
  assert.deepEqual(prefixed, plain);
  assert.deepEqual(plain, {
    namespace: 'urn:x',
    name: 'e',
    attributes: [{ namespace: 'urn:i', name: 'type', value: 't' }],
    children: [{ namespace: 'urn:x', name: 'c', attributes: [], children: [], text: '' }],
    text: '',
  });
});

test('an inner element may redeclare a prefix, and undeclare the default namespace', () => {
  const { children } = parse(
    '<a:x xmlns:a="1"><a:y xmlns:a="2"/><z xmlns="3"><w xmlns=""/></z></a:x>',
  );
  assert.deepEqual(
    children.map(({ namespace, children: [inner] }) => [namespace, inner?.namespace]),
    [
      ['2', undefined],
      ['3', ''],
    ],
  );
});

test('values are kept unchanged: no conversion to numbers, no trimming', () => {
  for (const text of ['007', ' 1 ', 'true', '1e3', '0x10', '\n\t']) {
    assert.equal(parse(`<a>${text}</a>`).text, text);
  }
});

test('references, CDATA and comments make up the text', () => {
  const { text } = parse('<a>x&amp;&lt;&#65;&#x1F600;<!-- no --><![CDATA[&amp;<b>]]>&quot;y</a>');
  assert.equal(text, 'x&<A😀&amp;<b>"y');
});

test('a declaration, processing instructions and a byte order mark are ignored', () => {
  assert.equal(parse('\ufeff<?xml version="1.0"?><!-- c --><?pi x?><a>1</a>\n').text, '1');
});

test('any text that XML can represent is unchanged after writing and reading', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (text, value) => {
      fc.pre(forbiddenInXml(text + value) === undefined);
      const { text: content, attributes } = parse(element('a', text, { b: value }).xml);
      assert.equal(content, text);
      assert.equal(attributes[0]?.value, value);
    }),
  );
});

test('characters that XML cannot represent become the replacement character', () => {
  assert.equal(element('a', 'x\u0000\u001f\uffff\ud800y').xml, '<a>x\ufffd\ufffd\ufffd\ufffdy</a>');
  assert.equal(element('a', `<'&">\r`).xml, `<a>&lt;'&amp;"&gt;&#xD;</a>`);
  assert.equal(element('a', [], { b: `<'&">\r` }).xml, `<a b="&lt;'&amp;&quot;&gt;&#xD;"/>`);
});

test('elements are counted before they are parsed, tags in text are not', () => {
  const parse = (text: string) => parseXml(Buffer.from(text));
  assert.throws(() => parse(`<r>${'<a>'.repeat(5000)}`), /more than 5000 elements/);
  for (const [begin, end] of [
    ['<![CDATA[', ']]>'],
    ['<!-- ', ' -->'],
  ] as const) {
    const tags = `${begin}${'<a>'.repeat(5000)}${end}`;
    assert.equal(parse(`<r>${tags}<b/></r>`).children.length, 1);
    assert.throws(() => parse(`<r>${tags}${'<a>'.repeat(5000)}`), /more than 5000 elements/);
  }
  assert.equal(parse(`<r>${'<a></a>'.repeat(4999)}</r>`).children.length, 4999);
});

const REFUSED: Readonly<Record<string, string>> = {
  'no body': '',
  'no element': 'just text',
  'two roots': '<a/><b/>',
  'text behind the root': '<a></a>x',
  'an open tag': '<a><b></a>',
  'a cut tag': '<a><b',
  'a document type': '<!DOCTYPE a><a/>',
  'an entity bomb':
    '<!DOCTYPE a [<!ENTITY l "lol"><!ENTITY m "&l;&l;&l;&l;&l;&l;&l;&l;&l;&l;">]><a>&m;&m;</a>',
  'an outside entity': '<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>',
  'an unknown entity': '<a>&nbsp;</a>',
  'a bare ampersand': '<a>a & b</a>',
  'an unknown entity in an attribute': '<a b="&x;"/>',
  'a control character': '<a>\u0001</a>',
  'a reference to a control character': '<a>&#x1;</a>',
  'a reference to half a surrogate pair': '<a>&#xD800;</a>',
  'a reference beyond Unicode': '<a>&#x110000;</a>',
  'an undeclared prefix': '<p:a/>',
  'an undeclared prefix of an attribute': '<a p:b="1"/>',
  'an attribute given twice': '<a b="1" b="2"/>',
  'an attribute without quotes': '<a b=1/>',
  'the name __proto__': '<__proto__/>',
  'too deep nesting': `${'<a>'.repeat(40)}${'</a>'.repeat(40)}`,
  'very deep nesting': '<a>'.repeat(40_000),
  'too many bytes': `<a>${'x'.repeat(BUDGETS.xml.bytes)}</a>`,
};

for (const [what, xml] of Object.entries(REFUSED)) {
  test(`${what} is refused quickly`, () => {
    const startedAt = performance.now();
    assert.throws(() => parse(xml), isRefusal);
    assert.ok(performance.now() - startedAt < 1000);
  });
}

test('bytes that are not UTF-8 are refused', () => {
  assert.throws(() => parseXml(Uint8Array.of(0x3c, 0x61, 0xff, 0x2f, 0x3e)), isRefusal);
  assert.throws(() => parseXml(new Uint8Array(Buffer.from('<a/>', 'utf16le'))), isRefusal);
});

function isRefusal(error: unknown): boolean {
  assert.ok(error instanceof BrokerError);
  assert.equal(error.code, 'ArgumentError');
  assert.ok(error.message.length < 400, error.message);
  return true;
}
