import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import type { Management } from '../../../shared/broker/management/management.ts';
import { hookedClient } from '../../support/hooked-client.ts';
import { type Declaring, startDeclaring } from './declaring.ts';
import { queue, retained, rule, type TemplateResource } from './stack.ts';

/** Events that CloudFormation sends when it has not heard of a creation, and those that Lambda repeats or delays. */

type Event = CloudFormationCustomResourceEvent;

const ADOPT = { Adopt: 'true' };
/** A resource whose creation fails. */
const BROKEN = queue('broken', { forwardTo: 'nowhere' });
/** The id that CloudFormation itself gives a creation that has not answered. */
const UNKNOWN = { PhysicalResourceId: 'shop-Orders-1QX6YZ' };
/** More than the requests of any event. */
const MOMENTS_MAX = 40;

/** An event of the stack 'shop'. */
function event(
  RequestType: Event['RequestType'],
  LogicalResourceId: string,
  { type, properties }: TemplateResource,
  more: object = {},
): Event {
  return {
    RequestType,
    LogicalResourceId,
    RequestId: randomUUID(),
    ServiceToken: '',
    ResponseURL: 'https://answers.example/',
    StackId: 'arn:aws:cloudformation:eu-west-1:111122223333:stack/shop/6d2a',
    ResourceType: type,
    ResourceProperties: { ServiceToken: '', ...properties },
    ...more,
  } as Event;
}

test('an event that Lambda repeats after later ones has no effect', async (t) => {
  const { stack, management, answer } = await startDeclaring(t);
  const events: Parameters<typeof answer>[0][] = [];
  const repeating = stack('shop', (event) => {
    events.push(event);
    return answer(event);
  });
  await repeating.deploy({ A: queue('a') });
  await repeating.deploy({ A: queue('a', { maxDeliveryCount: 2 }) });
  await repeating.delete();
  const repeat = async () => {
    for (const event of events.slice(0, 3)) await answer(event);
  };
  await repeat();
  await assert.rejects(management.get('a'));
  await repeating.deploy({ A: queue('a', { maxDeliveryCount: 7 }) });
  const { id } = await management.get('a');
  await repeat();
  const { id: now, description } = await management.get('a');
  assert.equal(now, id);
  assert.ok(description.kind === 'queue');
  assert.equal(description.maxDeliveryCount, 7);
});

test('a creation that CloudFormation cancels deletes nothing that was retained', async (t) => {
  const { stack, management, answer } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Orders: retained(queue('orders')) });
  const { id } = await management.get('orders');
  await shop.deploy({});
  await answer(event('Delete', 'Orders', queue('orders'), UNKNOWN));
  assert.equal((await management.get('orders')).id, id);
});

test('nor if another resource had it before, and it was deleted by hand', async (t) => {
  const { stack, management, answer, clock } = await startDeclaring(t);
  const shop = stack('shop');
  await shop.deploy({ Former: retained(queue('orders')) });
  await management.delete('orders');
  clock.advance({ hours: 1 });
  await shop.deploy({ Orders: retained(queue('orders')) });
  const { id } = await management.get('orders');
  await shop.deploy({});
  await answer(event('Delete', 'Orders', queue('orders'), UNKNOWN));
  assert.equal((await management.get('orders')).id, id);
});

test('a queue whose creation is cancelled at any moment is found by the next deployment', async (t) => {
  const { creating, cancelling, at } = await startTwo(t);
  for (let moment = 1; moment < MOMENTS_MAX; moment++) {
    const name = `q${moment}`;
    const resource = queue(name);
    const happened = at(moment, () => cancelling.answer(event('Delete', name, resource, UNKNOWN)));
    await creating.answer(event('Create', name, resource));
    if (!happened()) return;
    const { id } = await creating.management.get(name);
    assert.equal(await cancelling.stack('shop').deploy({ [name]: resource }), undefined);
    assert.equal((await creating.management.get(name)).id, id);
  }
  assert.fail('the creation has no end');
});

test('a key whose creation is cancelled after it began is not left', async (t) => {
  const { creating, cancelling, at } = await startTwo(t);
  const { management, declarations } = cancelling;
  for (let moment = 1; moment < MOMENTS_MAX; moment++) {
    const name = `k${moment}`;
    await management.create(name, { kind: 'queue' });
    const resource = rule(name, 'k', 'Manage');
    let hasBegun = false;
    const happened = at(moment, async () => {
      hasBegun = (await declarations.read(`${name}/$authorizationrules/k`)) !== undefined;
      await cancelling.answer(event('Delete', name, resource, UNKNOWN));
    });
    await creating.answer(event('Create', name, resource));
    if (!happened()) return;
    if (!hasBegun) continue;
    assert.deepEqual(await keysOf(management, name), [], `moment ${moment}`);
    assert.equal(creating.parameters.values.has(`/${name}/k`), false, `moment ${moment}`);
  }
  assert.fail('the creation has no end');
});

test('a deployment that fails long after it took a queue over gives it back', async (t) => {
  const { stack, management, answer, clock } = await startDeclaring(t);
  await stack('shop').deploy({ A: queue('orders') });
  const { id } = await management.get('orders');
  const B = queue('orders', {}, ADOPT);
  await answer(event('Create', 'B', B));
  // The deployment failed, was not rolled back, and the next one changed it before somebody rolled both back.
  clock.advance({ hours: 25 });
  const more = { PhysicalResourceId: 'orders', OldResourceProperties: B.properties };
  const changed = queue('orders', { maxDeliveryCount: 2 }, ADOPT);
  await answer(event('Update', 'B', changed, more));
  await answer(event('Delete', 'B', changed, { PhysicalResourceId: 'orders' }));
  assert.equal((await management.get('orders')).id, id);
});

test('a repeated creation that fails deletes nothing of what the first one made', async (t) => {
  let left = 0;
  const client = hookedClient(() => {
    if (left > 0 && --left === 0) throw new Error('The network failed.');
  });
  t.after(() => client.destroy());
  const { answer, management, parameters } = await startDeclaring(t, { client });
  await management.create('orders', { kind: 'queue' });
  for (let moment = 1; moment < MOMENTS_MAX; moment++) {
    const creations = [
      event('Create', `Q${moment}`, queue(`q${moment}`)),
      event('Create', `K${moment}`, rule('orders', 'k', 'Send')),
    ];
    for (const creation of creations) {
      left = 0;
      assert.equal((await answer(creation)).Status, 'SUCCESS');
      left = moment;
      await answer(creation);
    }
    if (left > 0) return;
    await management.get(`q${moment}`);
    assert.deepEqual([...parameters.values.keys()], ['/orders/k']);
    await answer(event('Delete', `K${moment}`, rule('orders', 'k'), UNKNOWN));
  }
  assert.fail('the creation has no end');
});

test('a creation that failed and comes again makes nothing', async (t) => {
  const { management, answer } = await startDeclaring(t);
  const creation = event('Create', 'Orders', queue('orders', { forwardTo: 'later' }));
  assert.equal((await answer(creation)).Status, 'FAILED');
  await management.create('later', { kind: 'queue' });
  assert.equal((await answer(creation)).Status, 'FAILED');
  await assert.rejects(management.get('orders'), { code: 'MessagingEntityNotFound' });
});

test('a creation that was refused and comes again when the name is free makes nothing', async (t) => {
  const { stack, clock, management, answer } = await startDeclaring(t);
  const other = stack('other');
  await other.deploy({ Theirs: queue('theirs') });
  await management.create('by-hand', { kind: 'queue' });
  clock.advance({ hours: 1 });
  for (const name of ['theirs', 'by-hand']) {
    const creation = event('Create', 'Mine', queue(name));
    const refusals = [await answer(creation), await answer(creation)];
    assert.match(refusals[0]?.Reason ?? '', /belongs to Theirs|There is a queue 'by-hand' already/);
    assert.deepEqual(refusals[1], refusals[0]);
    await management.delete(name);
    assert.equal((await answer(creation)).Status, 'FAILED');
    await assert.rejects(management.get(name), { code: 'MessagingEntityNotFound' });
  }
  assert.equal(await other.deploy({ Theirs: queue('theirs', { maxDeliveryCount: 2 }) }), undefined);
  const later = event('Create', 'Mine', queue('by-hand'));
  assert.equal((await answer(later)).Status, 'SUCCESS');
});

test('a deletion that had no effect and comes again takes nothing of a later creation', async (t) => {
  const { management, answer } = await startDeclaring(t);
  const mine = queue('orders', {}, ADOPT);
  await answer(event('Create', 'Former', mine));
  await answer(event('Create', 'Mine', mine));
  const known = { PhysicalResourceId: 'orders', OldResourceProperties: {} };
  // A rollback gives it back to the former owner, then deletes what the new one had made.
  await answer(event('Update', 'Former', mine, known));
  const deletion = event('Delete', 'Mine', mine, known);
  await answer(deletion);
  const { id } = await management.get('orders');
  await answer(event('Create', 'Mine', mine));
  await answer(event('Delete', 'Former', mine, known));
  assert.equal((await answer(deletion)).Status, 'SUCCESS');
  assert.equal((await management.get('orders')).id, id);
});

test('a rollback from settings that cannot be read succeeds', async (t) => {
  const { stack, management } = await startDeclaring(t);
  const shop = stack('shop');
  const Orders = queue('orders');
  await shop.deploy({ Orders });
  const properties = { ...Orders.properties, Settings: '{' };
  assert.notEqual(await shop.deploy({ Orders: { ...Orders, properties } }), undefined);
  await management.get('orders');
});

test('a key is removed after its new name was rolled back', async (t) => {
  const { stack, management, parameters } = await startDeclaring(t);
  const shop = stack('shop');
  const Orders = retained(queue('orders'));
  await shop.deploy({ Orders, Key: rule('orders', 'k1', 'Manage') });
  const next = { Orders, Key: rule('orders', 'k2', 'Manage'), Broken: BROKEN };
  assert.match((await shop.deploy(next)) ?? '', /nowhere/);
  assert.deepEqual(await keysOf(management, 'orders'), ['k1']);
  assert.equal(await shop.deploy({ Orders }), undefined);
  assert.deepEqual(await keysOf(management, 'orders'), []);
  assert.equal(parameters.values.size, 0);
});

test('a new key of which CloudFormation has not heard goes with the rollback', async (t) => {
  const { stack, management, parameters, answer } = await startDeclaring(t);
  const shop = stack('shop', async (one) => {
    const answered = await answer(one);
    if (one.RequestType !== 'Update') return answered;
    if (answered.PhysicalResourceId === one.PhysicalResourceId) return answered;
    return { ...answered, Status: 'FAILED', PhysicalResourceId: one.PhysicalResourceId };
  });
  const Orders = queue('orders');
  await shop.deploy({ Orders, Key: rule('orders', 'k1', 'Send') });
  assert.notEqual(await shop.deploy({ Orders, Key: rule('orders', 'k2', 'Manage') }), undefined);
  assert.deepEqual(await keysOf(management, 'orders'), ['k1']);
  assert.deepEqual([...parameters.values.keys()], ['/orders/k1']);
});

/** Two processes of a namespace, of which the other one acts just before a request of the first. */
async function startTwo(t: Parameters<typeof startDeclaring>[0]): Promise<{
  readonly creating: Declaring;
  readonly cancelling: Declaring;
  /** Runs `work` before the request of this number from now on. Returns whether that has happened. */
  readonly at: (moment: number, work: () => Promise<unknown>) => () => boolean;
}> {
  let left = 0;
  let act: (() => Promise<unknown>) | undefined;
  const client = hookedClient(async () => {
    if (--left === 0) await act?.();
  });
  t.after(() => client.destroy());
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const cancelling = await startDeclaring(t, { namespace });
  const { parameters } = cancelling;
  const creating = await startDeclaring(t, { namespace, client, parameters });
  const at = (moment: number, work: () => Promise<unknown>) => {
    left = moment;
    let hasHappened = false;
    act = async () => {
      hasHappened = true;
      await work();
    };
    return () => hasHappened;
  };
  return { creating, cancelling, at };
}

async function keysOf(management: Management, name: string): Promise<readonly string[]> {
  const { description } = await management.get(name);
  assert.ok(description.kind !== 'subscription');
  return description.authorizationRules.map(({ keyName }) => keyName);
}
