import { randomBytes } from 'node:crypto';
import type { RequestOptions } from '../../support/api-client.ts';
import { BATCH_TYPE } from '../../support/test-broker.ts';
import { type Row, testRefusals } from '../management/refusal.ts';

const KB = 1024;

const bad = { status: 400, code: 'ArgumentError' } as const;
const invalid = { status: 400, code: 'InvalidOperation' } as const;
const tooLarge = { status: 403, code: 'MessageSizeExceeded' } as const;
const send = { method: 'POST', path: 'q/messages' } as const;

const withProperties = (properties: unknown): RequestOptions => ({
  headers: {
    BrokerProperties: typeof properties === 'string' ? properties : JSON.stringify(properties),
  },
  body: 'x',
});

const withBatch = (batch: unknown): RequestOptions => ({
  headers: { 'Content-Type': BATCH_TYPE },
  body: typeof batch === 'string' || batch instanceof Uint8Array ? batch : JSON.stringify(batch),
});

const LONG_IDS: readonly Row[] = [
  'MessageId',
  'SessionId',
  'PartitionKey',
  'ViaPartitionKey',
  'ReplyToSessionId',
].map((key) => ({
  ...send,
  ...bad,
  what: `a ${key} of 129 characters`,
  options: withProperties({ [key]: 'x'.repeat(129) }),
  sentence: new RegExp(`^${key} is 129 characters long; the limit is 128\\.$`),
}));

const BROKER_PROPERTIES: readonly Row[] = (
  [
    ['{"Label":', /^The BrokerProperties header is not valid JSON\.$/],
    ["{'Label':'x'}", /^The BrokerProperties header is not valid JSON\.$/],
    ['[]', /^BrokerProperties must be a JSON object\.$/],
    ['"Label"', /^BrokerProperties must be a JSON object\.$/],
    [{ MessageId: 7 }, /^MessageId must be a text\.$/],
    [{ Label: { a: 1 } }, /^Label must be a text\.$/],
    ['{"Label":"\\ud800"}', /^Label holds half of a surrogate pair/],
    [{ TimeToLive: 0 }, /^The time to live must be greater than zero\.$/],
    [{ TimeToLive: -1 }, /^The time to live must be greater than zero\.$/],
    [{ TimeToLive: '10' }, /^TimeToLive must be a number of seconds\.$/],
    [{ TimeToLiveTimeSpan: 'soon' }, /^TimeToLiveTimeSpan must be a text like 0\.00:00:40\.$/],
    [{ TimeToLiveTimeSpan: '0.00:00:00' }, /^The time to live must be greater than zero\.$/],
    [{ ScheduledEnqueueTimeUtc: 'tomorrow' }, /^ScheduledEnqueueTimeUtc must be a date like /],
    [{ ScheduledEnqueueTimeUtc: 1 }, /^ScheduledEnqueueTimeUtc must be a date like /],
    [{ ForcePersistence: 'yes' }, /^ForcePersistence must be a boolean\.$/],
  ] as const
).map(([properties, sentence]) => ({
  ...send,
  ...bad,
  what: `BrokerProperties ${typeof properties === 'string' ? properties : JSON.stringify(properties)}`,
  options: withProperties(properties),
  sentence,
}));

const many = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

const BATCHES: readonly Row[] = (
  [
    ['that is not JSON', '[{"Body":"x"}', /^The batch is not valid JSON\.$/],
    ['that is not UTF-8', Uint8Array.of(0x5b, 0xff, 0x5d), /^The batch is not valid UTF-8\.$/],
    ['that is not an array', { Body: 'x' }, /^The batch must be a JSON array of messages\.$/],
    ['without a message', [], /^The batch holds no message\.$/],
    ['of 4,501', many(4501, { Body: '' }), /^The batch holds 4501 messages; the limit is 4500\.$/],
    ['with a string', [{ Body: 'x' }, 'y'], /^Message 1 of the batch: It must be a JSON object\.$/],
    ['without a Body', [{}], /^Message 0 of the batch: Body is required and must be a text\.$/],
    [
      'with a Body that is a number',
      [{ Body: 7 }],
      /^Message 0 of the batch: Body is required and must be a text/,
    ],
    [
      'with a Body in hex',
      [{ Body: '00', BodyEncoding: 'hex' }],
      /^Message 0 of the batch: BodyEncoding may only be 'base64'\.$/,
    ],
    [
      'with a Body in bad base64',
      [{ Body: 'a', BodyEncoding: 'base64' }],
      /^Message 0 of the batch: Body is not valid base64\.$/,
    ],
    [
      'with a list among the properties',
      [{ Body: 'x' }, { Body: 'x', UserProperties: { a: [1] } }],
      /^Message 1 of the batch: The property 'a' is a list/,
    ],
    [
      'with an object among the properties',
      [{ Body: 'x', UserProperties: { a: { b: 1 } } }],
      /^Message 0 of the batch: The property 'a' is an object/,
    ],
    [
      'with a number of more than 64 bits',
      '[{"Body":"x","UserProperties":{"a":99999999999999999999}}]',
      /^Message 0 of the batch: The property 'a' is a number that fits no 64 bits\.$/,
    ],
    [
      'with a property of more than 32 KB',
      [{ Body: 'x', UserProperties: { a: 'x'.repeat(32 * KB + 1) } }],
      /^Message 0 of the batch: The property 'a' is 32769 bytes long; the limit is 32768\.$/,
    ],
    [
      'with properties of more than 64 KB',
      [{ Body: 'x', UserProperties: { a: 'x'.repeat(32 * KB), b: 'x'.repeat(32 * KB) } }],
      /^Message 0 of the batch: The properties of the message are 65538 bytes long; the limit is 65536/,
    ],
  ] as const
).map(([what, batch, sentence]) => ({
  ...send,
  ...bad,
  what: `a batch ${what}`,
  options: withBatch(batch),
  sentence,
}));

const SENDS: readonly Row[] = [
  {
    ...send,
    ...invalid,
    what: 'a PartitionKey that differs from the SessionId',
    options: withProperties({ SessionId: 'a', PartitionKey: 'b' }),
    sentence: /^The PartitionKey 'b' differs from the SessionId 'a'/,
  },
  {
    ...send,
    ...tooLarge,
    what: '#158 a message of 256 KB and one byte',
    options: () => ({ body: randomBytes(256 * KB + 1) }),
    sentence: /^The message is 262145 bytes long, which is more than the 262144 bytes/,
  },
  {
    ...send,
    ...tooLarge,
    what: '#158 a message whose properties make it too large',
    options: () => ({ ...withProperties({ Label: 'x' }), body: randomBytes(256 * KB) }),
    sentence: /^The message is 262145 bytes long/,
  },
  {
    ...send,
    ...tooLarge,
    what: '#158 a batch with one message that is too large',
    options: withBatch([{ Body: 'x' }, { Body: 'x'.repeat(256 * KB + 1) }]),
    sentence: /^The message is 262145 bytes long/,
  },
  ...['$deadletterqueue', '$DeadLetterQueue', '$transfer/$deadletterqueue'].map((name) => ({
    ...invalid,
    what: `#31 #C3 a send to q/${name}`,
    method: 'POST',
    path: `q/${name}/messages`,
    options: { body: 'x' },
    sentence: /^Messages cannot be sent to a dead-letter queue; only dead-lettering fills it\.$/,
  })),
  {
    ...invalid,
    what: 'a send to a subscription',
    method: 'POST',
    path: 't/Subscriptions/s/messages',
    options: { body: 'x' },
    sentence: /^Cannot create a message sender for a subscription\.$/,
  },
];

testRefusals([...BROKER_PROPERTIES, ...LONG_IDS, ...BATCHES, ...SENDS]);
