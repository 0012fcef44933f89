import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '../../shared/domain/messages/message.ts';
import type { Properties } from '../../shared/domain/messages/property-value.ts';
import { matchesCorrelation } from '../../shared/filters/correlation.ts';
import type { CorrelationFilter } from '../../shared/filters/rule.ts';
import { decimal } from './rows-values.ts';
import { boolean, dateTime, double, guid, inputOf, int, long, NULL, string } from './support.ts';

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';

const SYSTEM: Partial<Message> = {
  messageId: 'm',
  correlationId: 'c',
  sessionId: 's',
  replyTo: 'r',
  replyToSessionId: 'rs',
  to: 't',
  label: 'red',
  contentType: 'text/plain',
};

const PROPERTIES: Properties = {
  count: int(1),
  big: long(1n),
  rate: double(1.5),
  price: decimal('2.0'),
  flag: boolean(true),
  region: string('eu'),
  id: guid(GUID),
  at: dateTime(5),
  bytes: { type: 'bytes', value: Uint8Array.of(1) },
  nothing: NULL,
};

const input = inputOf(PROPERTIES, SYSTEM);
type Conditions = Partial<CorrelationFilter>;
const only = (name: string, value: Properties[string]): Conditions => ({
  properties: { [name]: value ?? NULL },
});

const ROWS: readonly (readonly [name: string, conditions: Conditions, matches: boolean])[] = [
  ['#114 label equal', { label: 'red' }, true],
  ['#114 label in another case', { label: 'Red' }, false],
  ['message id', { messageId: 'm' }, true],
  ['correlation id', { correlationId: 'c' }, true],
  ['session id', { sessionId: 's' }, true],
  ['reply to', { replyTo: 'r' }, true],
  ['reply to session id', { replyToSessionId: 'rs' }, true],
  ['to', { to: 't' }, true],
  ['content type', { contentType: 'text/plain' }, true],
  ['no wildcards', { contentType: 'text/%' }, false],
  ['all of several', { label: 'red', to: 't', messageId: 'm' }, true],
  ['one of several is wrong', { label: 'red', to: 'x' }, false],
  ['an empty text is a condition', { label: '' }, false],
  ['#115 label and property', { label: 'red', ...only('count', int(1)) }, true],
  ['#115 label right, property wrong', { label: 'red', ...only('count', int(2)) }, false],
  ['#115 label wrong, property right', { label: 'blue', ...only('count', int(1)) }, false],
  ['text', only('region', string('eu')), true],
  ['text in another case', only('region', string('EU')), false],
  ['property name in another case', only('Region', string('eu')), true],
  ['int against long', only('count', long(1n)), true],
  ['long against int', only('big', int(1)), true],
  ['long against byte', only('big', { type: 'byte', value: 1 }), true],
  ['int against double of the same value', only('count', double(1)), true],
  ['double against another', only('rate', double(1.4)), false],
  ['double', only('rate', double(1.5)), true],
  ['decimal against int', only('price', int(2)), true],
  ['number against text', only('count', string('1')), false],
  ['text against number', only('region', int(1)), false],
  ['boolean', only('flag', boolean(true)), true],
  ['boolean against the other', only('flag', boolean(false)), false],
  ['boolean against text', only('flag', string('true')), false],
  ['guid', only('id', guid(GUID)), true],
  ['guid against its text', only('id', string(GUID)), true],
  ['guid against a number', only('id', int(1)), false],
  ['instant', only('at', dateTime(5)), true],
  ['bytes never', only('bytes', { type: 'bytes', value: Uint8Array.of(1) }), false],
  ['missing', only('missing', int(1)), false],
  ['null is like missing', only('nothing', int(1)), false],
  ['null equals nothing', only('nothing', NULL), false],
  ['a condition with the value null', only('count', NULL), false],
];

for (const [name, conditions, expected] of ROWS) {
  test(`correlation: ${name}`, () => {
    const filter: CorrelationFilter = { kind: 'correlation', properties: {}, ...conditions };
    assert.equal(matchesCorrelation(filter, input), expected);
  });
}

test('a condition on a missing system property does not match', () => {
  const filter: CorrelationFilter = { kind: 'correlation', label: 'red', properties: {} };
  assert.equal(matchesCorrelation(filter, inputOf({ label: string('red') })), false);
});
