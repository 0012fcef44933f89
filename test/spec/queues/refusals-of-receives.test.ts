import type { RequestOptions } from '../../support/api-client.ts';
import { type Row, testRefusals } from '../management/refusal.ts';

const UNKNOWN = '7da9cfd5-40d5-4bb1-8d64-ec5a52e1c547';
const LOCK_LOST =
  /^The lock supplied is invalid\. Either the lock expired, or the message has already been removed from the queue\. For more information please see https:\/\/aka\.ms\/ServiceBusExceptions \.$/;

const bad = { status: 400, code: 'ArgumentError' } as const;
const missing = { status: 410, code: 'MessagingEntityNotFound' } as const;
const lost = { status: 404, code: 'MessageLockLost', sentence: LOCK_LOST } as const;
const noRoute = { status: 404, code: 'RouteNotFound' } as const;
const noMethod = { status: 405, code: 'MethodNotAllowed' } as const;

const head = (query: string) => ({ method: 'POST', path: `q/messages/head?${query}` });
const withBody = (json: unknown): RequestOptions => ({
  body: typeof json === 'string' ? json : JSON.stringify(json),
});

const many = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item);

const RECEIVES: readonly Row[] = [
  ...['-1', 'soon', '1.5', '', '1e1', ' 1'].map((timeout) => ({
    ...bad,
    ...head(`timeout=${encodeURIComponent(timeout)}`),
    what: `the timeout '${timeout}'`,
    sentence: /^The timeout '.*' is not a number of whole seconds from 0\.$/,
  })),
  ...['0', '-1', '1001', 'all', '', '1.5'].map((count) => ({
    ...bad,
    ...head(`timeout=0&maxMessages=${count}`),
    what: `the maxMessages '${count}'`,
    sentence: /^The maxMessages '.*' is not a whole number from 1 to 1000\.$/,
  })),
  ...['POST', 'DELETE'].map((method) => ({
    ...bad,
    what: `${method} with settlements that are not JSON`,
    method,
    path: 'q/messages/head?timeout=0',
    options: withBody('{"settlements":'),
    sentence: /^The body is not valid JSON\.$/,
  })),
];

const settlement = (more: object) => ({ settlements: [{ lockToken: UNKNOWN, ...more }] });

const SETTLEMENTS: readonly Row[] = [
  ...(
    [
      ['$settle', '{', /^The body is not valid JSON\.$/],
      ['$settle', {}, /^settlements must be an array\.$/],
      ['$settle', { settlements: [] }, /^settlements is too small or short; the least is 1\.$/],
      ['$settle', settlement({ outcome: 'reject' }), /must be complete, abandon, defer or dead/],
      ['$settle', settlement({ outcome: 'abandon', delay: 5 }), /may not have 'delay'\.$/],
      [
        '$settle',
        settlement({ outcome: 'abandon', delaySeconds: -1 }),
        /delaySeconds is too small/,
      ],
      [
        '$settle',
        { settlements: many(1001, settlement({ outcome: 'complete' }).settlements[0]) },
        /limit is 1000\.$/,
      ],
      ['$renew', '[', /^The body is not valid JSON\.$/],
      ['$renew', { lockTokens: [] }, /^lockTokens is too small or short/],
      ['$renew', { lockTokens: [7] }, /^lockTokens\[0\] must be a string\.$/],
      ['$renew', { lockTokens: many(1001, UNKNOWN) }, /limit is 1000\.$/],
    ] as const
  ).map(([verb, json, sentence]) => ({
    ...bad,
    what: `${verb} of ${JSON.stringify(json).slice(0, 70)}`,
    method: 'POST',
    path: `q/messages/${verb}`,
    options: withBody(json),
    sentence,
  })),
  ...['DELETE', 'PUT', 'POST'].flatMap((method): readonly Row[] => [
    {
      ...bad,
      what: `${method} with a lock token that is not a GUID`,
      method,
      path: 'q/messages/2/not-a-guid',
      sentence: /^The lock token 'not-a-guid' is not a GUID\.$/,
    },
    { ...lost, what: `${method} with a wrong lock token`, method, path: `q/messages/2/${UNKNOWN}` },
    {
      ...lost,
      what: `${method} with a lock token that is wrong in its last digit`,
      method,
      path: ({ held: { broker } }) =>
        `q/messages/2/${broker.LockToken.replace(/.$/, (digit) => (digit === '0' ? '1' : '0'))}`,
    },
    {
      ...lost,
      what: `${method} with the lock token of another queue`,
      method,
      path: ({ stranger: { broker } }) => `q/messages/2/${broker.LockToken}`,
    },
  ]),
];

const ADDRESSES: readonly Row[] = [
  ...(
    [
      ['POST', 'missing/messages'],
      ['POST', 'missing/messages/head?timeout=0'],
      ['DELETE', 'missing/messages/head?timeout=0'],
      ['DELETE', `missing/messages/1/${UNKNOWN}`],
      ['POST', 'q/subscriptions/s/messages/head?timeout=0'],
      ['POST', 'missing/$deadletterqueue/messages/head?timeout=0'],
    ] as const
  ).map(([method, path]) => ({
    ...missing,
    what: `${method} ${path}`,
    method,
    path,
    sentence: /^The messaging entity '(missing|q\/Subscriptions\/s)' could not be found\.$/i,
  })),
  ...['q@home', '-q', `${'x'.repeat(261)}`].map((name) => ({
    ...bad,
    what: `a send to '${name.slice(0, 20)}'`,
    method: 'POST',
    path: `${name}/messages`,
    options: { body: 'x' },
    sentence: /^The name '.*' is /,
  })),
  {
    ...bad,
    what: 'a path that is not UTF-8',
    method: 'POST',
    path: '%ff/messages',
    sentence: /^The path is not percent-encoded UTF-8\.$/,
  },
  ...['q', 'q/message'].map((path) => ({
    ...noMethod,
    what: `POST ${path}`,
    method: 'POST',
    path,
    sentence: /^The method POST is not supported here; supported: GET, PUT, DELETE\.$/,
  })),
  ...['q/messages/head/now/please', 'q/messages/1'].map((path) => ({
    ...noRoute,
    what: `POST ${path}`,
    method: 'POST',
    path,
    sentence: /^No operation of the service has this address\.$/,
  })),
  {
    ...noMethod,
    what: 'PATCH q/messages',
    method: 'PATCH',
    path: 'q/messages',
    sentence: /^The method PATCH is not supported here; supported: (?:[A-Z]+, )*POST\b.*\.$/,
  },
  {
    ...noMethod,
    what: 'PATCH q/messages/head',
    method: 'PATCH',
    path: 'q/messages/head',
    sentence: /^The method PATCH is not supported here; supported: (?=.*POST)(?=.*DELETE).*\.$/,
  },
];

testRefusals([...RECEIVES, ...SETTLEMENTS, ...ADDRESSES]);
