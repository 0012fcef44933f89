import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isJsonObject } from '../../../lambdas/http/format/exact-json.ts';
import {
  addressOf,
  ENTITIES,
  entityOf,
  OPERATIONS,
  REQUESTS,
  requireDescribed,
  schemaOf,
  shownRequests,
  startWithAll,
} from './contract.ts';

/** The requests of the document are accepted, and answered as it says. */

for (const described of OPERATIONS) {
  for (const { name, entity, init } of shownRequests(described)) {
    test(`${described.operationId} accepts the example (${name}), and its response matches the document`, async () => {
      const call = await startWithAll(described);
      const { method, path, answers } = described;
      // The entities of the examples exist already, so the examples update them.
      const ifMatch: Record<string, string> = entity === undefined ? {} : { 'if-match': '*' };
      const headers = { ...(init.headers as Record<string, string>), ...ifMatch };
      for (const query of path.endsWith('/head') ? ['?maxMessages=2', '', ''] : ['']) {
        const address = addressOf(described, entity ?? entityOf(path)).slice(1);
        const response = await call(method, `${address}${query}`, { ...init, headers });
        const text = await response.text();
        assert.ok(response.ok, `${response.status}: ${text}`);
        const [, { content }] = answers.find(([status]) => status === response.status) ?? [0, {}];
        requireDescribed(response.headers.get('content-type'), text, content);
      }
    });
  }
}

const ODD_VALUES = ['', 'x', -1, 0, 1, 1.5, 1e9, true, [], [[]], {}, { x: 1 }];

/** Variants of a value, each with one change, of every kind and at every place. */
function* spoilt(value: unknown, odd: readonly unknown[]): Generator<unknown> {
  yield* odd;
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    yield [...value, value[0]];
    for (const [i, item] of value.entries()) {
      for (const other of spoilt(item, odd)) yield value.with(i, other);
    }
    return;
  }
  yield { ...value, unknown: 1 };
  for (const [key, item] of Object.entries(value)) {
    const { [key]: _, ...others } = value as Record<string, unknown>;
    yield others;
    for (const other of spoilt(item, odd)) yield { ...value, [key]: other };
  }
}

/** What no schema expresses: forms of dates, numbers of 64 bits, base64 and SQL; a name twice, or of nothing. */
const FORMS =
  /"keyName":"k".*"keyName":"k"|"(?:enqueuedBefore|ScheduledEnqueueTimeUtc|\$long|sql|expression|action)":"x?"|"\$long":(?!")|"target":"x"|"forward(?:To|DeadLetteredMessagesTo)":"x"|"Body":"x","BodyEncoding"/;

for (const described of OPERATIONS.filter(({ tags }) => tags.includes('management'))) {
  if (described.method !== 'GET' || described.operationId === 'discover') continue;
  test(`${described.operationId} answers in JSON as the document says`, async () => {
    const call = await startWithAll(described);
    const [, { content }] = described.answers.find(([status]) => status === 200) ?? [0, {}];
    const isOfKinds = described.operationId === 'getEntity';
    const isOfQueue = described.path.includes('/consumers');
    for (const entity of isOfKinds ? Object.values(ENTITIES) : [isOfQueue ? 'orders' : '']) {
      const address = addressOf(described, entity).slice(1);
      const response = await call('GET', address, { headers: { accept: 'application/json' } });
      assert.equal(response.headers.get('content-type'), 'application/json');
      requireDescribed('application/json', await response.text(), content);
    }
  });
}

/** Bodies that no example has. */
const BODIES: Readonly<Record<string, readonly unknown[]>> = {
  queue: [
    {
      kind: 'queue',
      name: 'orders',
      userMetadata: 'x',
      authorizationRules: [
        { keyName: 'k', accessRights: ['Send'], primaryKey: 'K'.repeat(44), claimType: null },
      ],
    },
  ],
  subscription: [
    { kind: 'subscription', topicName: null, defaultRule: { name: 'r', sql: 'x = 1' } },
    { defaultRule: { name: '$default', correlation: { subject: 'a' } } },
  ],
  example: [
    { correlation: { subject: 'created' } },
    { correlation: { properties: { Tier: 'gold' }, to: null } },
    { sql: 'x = 1', correlation: null },
    { sql: { expression: 'x = 1', parameters: { p: 1 } }, action: null },
  ],
};
/** What no schema of a name in a body can say: which name the path has. */
const isOtherName = (json: unknown) =>
  isJsonObject(json) &&
  ['name', 'topicName', 'subscriptionName'].some(
    (member) => ![undefined, null, 'orders'].includes(json[member] as string),
  );

for (const described of OPERATIONS) {
  const [type, media] = Object.entries(described.requestBody?.content ?? {}).at(-1) ?? [];
  if (media === undefined || type === undefined || !/json$/.test(type)) continue;
  test(`${described.operationId} accepts exactly the bodies that match its schema`, async () => {
    const call = await startWithAll(described);
    for (const [name, { value }] of Object.entries(media.examples)) {
      // The path tells the kind of an entity, which no schema of a body can.
      const fits = schemaOf(REQUESTS[name] ?? media.schema);
      const entity = ENTITIES[name] ?? entityOf(described.path);
      const address = addressOf(described, entity).slice(1);
      const isManagement = described.tags.includes('management');
      const own = isManagement ? BODIES[name] : undefined;
      // In management null counts as absent.
      const odd = isManagement ? [...ODD_VALUES, null] : ODD_VALUES;
      for (const json of [value, ...(own ?? [])].flatMap((one) => [one, ...spoilt(one, odd)])) {
        const body = JSON.stringify(json);
        if (FORMS.test(body) || isOtherName(json)) continue;
        const headers = { 'content-type': type };
        const response = await call(described.method, address, { body, headers });
        assert.equal(response.status !== 400, fits(json), `${body}: ${await response.text()}`);
      }
    }
  });
}
