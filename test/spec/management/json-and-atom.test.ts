import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { isMore } from '../../runner/more.ts';
import {
  type BothForms,
  entryOf,
  formsOf,
  ruleForms,
  SETTING_FORMS,
  SINGLE_FORMS,
  settingsOf,
} from '../../support/description-arbitraries.ts';
import { type Json, putJson, readJson } from '../../support/json-management.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus, type TestBroker } from '../../support/test-broker.ts';
import { createTopic } from '../../support/topic-entities.ts';

/** What is created in JSON or in ATOM is the same, read in either form. `FUZZ_SEED` repeats a run. */

/** Each makes two entities, of which a namespace may have 100 with partitions. */
const RUNS = isMore() ? 80 : 20;
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const ATOM_TYPE = 'application/atom+xml';

type Kind = keyof typeof SETTING_FORMS;
const DESCRIPTIONS = {
  queue: 'QueueDescription',
  topic: 'TopicDescription',
  subscription: 'SubscriptionDescription',
} as const;

let created = 0;

/** Two paths of a kind that nothing has yet. */
function newPaths(kind: Kind): readonly [string, string] {
  created++;
  const name = (form: string) =>
    kind === 'subscription' ? `t/Subscriptions/${form}${created}` : `${form}${created}`;
  return [name('json'), name('atom')];
}

/** Creates the description in both forms, and requires that both are the same, also after JSON is sent back. */
async function requireSame(broker: TestBroker, kind: Kind, forms: BothForms): Promise<void> {
  const [json, atom] = newPaths(kind);
  const members = forms.json === '' ? '' : `,${forms.json}`;
  expectStatus(await putJson(broker, json, `{"kind":"${kind}"${members}}`), 201);
  const headers = { 'Content-Type': ATOM_TYPE };
  const body = entryOf(DESCRIPTIONS[kind], forms.xml);
  expectStatus(await broker.request('PUT', atom, { headers, body }), 201);
  await requireSameAnswers(broker, json, atom);
  await sendBack(broker, json);
  await requireSameAnswers(broker, json, atom);
}

/** Creates the rule in both forms, and requires the same of it. */
async function requireSameRule(broker: TestBroker, forms: BothForms): Promise<void> {
  created++;
  const [json, atom] = ['json', 'atom'].map((form) => `t/Subscriptions/s/Rules/${form}${created}`);
  assert.ok(json !== undefined && atom !== undefined);
  expectStatus(await putJson(broker, json, `{${forms.json}}`), 201);
  const headers = { 'Content-Type': ATOM_TYPE };
  const body = entryOf('RuleDescription', forms.xml);
  expectStatus(await broker.request('PUT', atom, { headers, body }), 201);
  await requireSameAnswers(broker, json, atom);
  await sendBack(broker, json);
  await requireSameAnswers(broker, json, atom);
  for (const path of [json, atom]) expectStatus(await broker.request('DELETE', path), 200);
}

async function requireSameAnswers(broker: TestBroker, json: string, atom: string): Promise<void> {
  assert.deepEqual(await shownInAtom(broker, json), await shownInAtom(broker, atom));
  assert.deepEqual(await shownInJson(broker, json), await shownInJson(broker, atom));
}

/** Sends back what was read, on the condition that nothing changed; nothing changes but the time. */
async function sendBack(broker: TestBroker, path: string): Promise<void> {
  const { text, headers } = await readJson(broker, path);
  const tag = headers.get('etag') ?? '';
  const answer = await putJson(broker, path, text, { 'If-Match': tag });
  expectStatus(answer, 200);
  const untimed = (whole: string) => whole.replace(/"modifiedAt":"[^"]*"/, '');
  assert.equal(untimed((await readJson(broker, path)).text), untimed(text));
}

/** What differs between two entities or rules of the same description. */
const own = (path: string) => path.replace(/^.*\//, '');

async function shownInAtom(broker: TestBroker, path: string): Promise<string> {
  const { text } = await broker.request('GET', path);
  const content = /<content[^>]*>(.*)<\/content>/s.exec(text)?.[1];
  assert.ok(content !== undefined, text);
  return content.replace(/<(\w*(?:edTime|edAt))>[^<]*/g, '<$1>').replaceAll(own(path), 'OWN');
}

async function shownInJson(broker: TestBroker, path: string): Promise<Json> {
  const { text } = await readJson(broker, path);
  const {
    createdAt: _,
    modifiedAt: __,
    ...rest
  } = JSON.parse(text.replaceAll(own(path), 'OWN')) as Json;
  return rest;
}

for (const kind of ['queue', 'topic', 'subscription'] as const) {
  test(`random settings of a ${kind} are the same in JSON and in ATOM`, async (t) => {
    const broker = await startBroker(t);
    expectStatus(await broker.createQueue('other'), 201);
    await createTopic(broker);
    await fc.assert(
      fc.asyncProperty(settingsOf(kind), (forms) => requireSame(broker, kind, forms)),
      { numRuns: RUNS, seed: SEED },
    );
  });

  test(`each setting of a ${kind} is the same in JSON and in ATOM`, async (t) => {
    const broker = await startBroker(t);
    expectStatus(await broker.createQueue('other'), 201);
    await createTopic(broker);
    const all = Object.entries({ ...SETTING_FORMS[kind], ...SINGLE_FORMS[kind] });
    for (const [name, values] of all) {
      for (const value of fc.sample(values, { numRuns: 3, seed: SEED })) {
        await requireSame(broker, kind, formsOf({ [name]: value }));
      }
    }
  });
}

test('random rules are the same in JSON and in ATOM', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  expectStatus(await putJson(broker, 't/Subscriptions/s', {}), 201);
  await fc.assert(
    fc.asyncProperty(ruleForms, (forms) => requireSameRule(broker, forms)),
    { numRuns: 2 * RUNS, seed: SEED },
  );
});

test('the first rule of a subscription is the same in JSON and in ATOM', async (t) => {
  const broker = await startBroker(t);
  await createTopic(broker);
  for (const [i, { json, xml }] of fc.sample(ruleForms, { numRuns: RUNS, seed: SEED }).entries()) {
    const [name, nameXml] = i % 2 === 0 ? ['first', '<Name>first</Name>'] : ['$Default', ''];
    const [one, other] = newPaths('subscription');
    const own = [i % 2 === 0 ? '"name":"first"' : '', json].filter(Boolean).join(',');
    expectStatus(await putJson(broker, one, `{"defaultRule":{${own}}}`), 201);
    const inner = `<DefaultRuleDescription>${xml}${nameXml}</DefaultRuleDescription>`;
    const headers = { 'Content-Type': ATOM_TYPE };
    const body = entryOf('SubscriptionDescription', inner);
    expectStatus(await broker.request('PUT', other, { headers, body }), 201);
    await requireSameAnswers(broker, `${one}/Rules/${name}`, `${other}/Rules/${name}`);
  }
});

test('a queue that forwards to itself is shown with its address, and can be sent back', async (t) => {
  const broker = await startBroker(t);
  expectStatus(await putJson(broker, 'Me', { kind: 'queue' }), 201);
  const forwarding = { kind: 'queue', forwardTo: 'sb://anything/me' };
  expectStatus(await putJson(broker, 'me', forwarding, { 'If-Match': '*' }), 200);
  const { forwardTo } = (await readJson(broker, 'me')).json<Json>();
  assert.match(String(forwardTo), /^sb:\/\/[^/]+\/me$/i);
  await sendBack(broker, 'me');
});
