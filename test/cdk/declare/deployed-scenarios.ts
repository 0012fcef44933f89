import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMore } from '../../runner/more.ts';
import { type DeployedCode, DeployedFunction } from './deployed.ts';
import { AFTER, BEFORE, SHOWN_AFTER, SHOWN_BEFORE, shown } from './shown.ts';
import { FakeStack, queue, topic } from './stack.ts';

/** In each round, each event is killed at another one of its requests, of which there are at most so many. */
const REQUESTS = isMore() ? 20 : 8;

/** Registers the tests of a function as it is deployed. `where` = a word for their titles. */
export function registerDeployed(
  where: string,
  codeOf: () => DeployedCode,
  rounds = isMore() ? REQUESTS : 1,
): void {
  test(`${where}: stacks create, update, replace, roll back and delete what they declare`, async (t) => {
    const deployed = await DeployedFunction.start(t, codeOf());
    const { management } = deployed.namespace;
    const shop = deployed.stack('shop');
    assert.equal(await shop.deploy(BEFORE), undefined);
    assert.deepEqual(await shown(management), SHOWN_BEFORE);
    const text = parameterAt(deployed, '/orders/sender');
    assert.match(text, /;EntityPath=orders;/);

    // The lock duration is changed before the change of a setting that is fixed at creation fails.
    const { id } = await management.get('orders');
    const failing = {
      ...BEFORE,
      Orders: queue('orders', { lockDuration: 'PT50S' }),
      Events: topic('events', { requiresDuplicateDetection: true }),
    };
    const { Events: _, ...others } = failing;
    const reason = await shop.deploy({ ...others, Events: failing.Events });
    assert.match(reason ?? '', /RequiresDuplicateDetection/i);
    assert.deepEqual(await shown(management), SHOWN_BEFORE);
    const { id: now, description } = await management.get('orders');
    assert.equal(now, id);
    assert.ok(description.kind === 'queue');
    assert.equal(description.lockMs, 30_000);
    assert.equal(parameterAt(deployed, '/orders/sender'), text);

    assert.equal(await shop.deploy(AFTER), undefined);
    assert.deepEqual(await shown(management), SHOWN_AFTER);
    assert.equal(deployed.parameters.size, 1);
    assert.match(parameterAt(deployed, '/orders-2/sender'), /;EntityPath=orders-2;/);

    await shop.delete();
    assert.deepEqual(await shown(management), []);
    assert.equal(deployed.parameters.size, 0);
  });

  test(`${where}: an event that comes twice, also at once, has one effect and one answer`, async (t) => {
    const deployed = await DeployedFunction.start(t, codeOf());
    const { management } = deployed.namespace;
    const shop = new FakeStack('shop', async (event) => {
      const [first, atOnce] = await Promise.all([deployed.answer(event), deployed.answer(event)]);
      const later = await deployed.answer(event);
      assert.deepEqual(atOnce, first);
      assert.deepEqual(later, first);
      return first;
    });
    assert.equal(await shop.deploy(BEFORE), undefined);
    assert.deepEqual(await shown(management), SHOWN_BEFORE);
    assert.equal(await shop.deploy(AFTER), undefined);
    assert.deepEqual(await shown(management), SHOWN_AFTER);
    await shop.delete();
    assert.deepEqual(await shown(management), []);
    assert.equal(deployed.parameters.size, 0);
  });

  test(`${where}: a process that is killed at any request leaves what the same event completes`, async (t) => {
    const deployed = await DeployedFunction.start(t, codeOf());
    const { management } = deployed.namespace;
    for (let round = 0; round < rounds; round++) {
      for (const when of ['before it', 'after it'] as const) {
        let events = 0;
        const shop = new FakeStack('shop', async (event) => {
          events++;
          deployed.killAt(1 + ((events + round) % REQUESTS), when);
          return await deployed.answer(event);
        });
        assert.equal(await shop.deploy(BEFORE), undefined);
        assert.deepEqual(await shown(management), SHOWN_BEFORE);
        assert.equal(await shop.deploy(AFTER), undefined);
        assert.deepEqual(await shown(management), SHOWN_AFTER);
        await shop.delete();
        assert.deepEqual(await shown(management), []);
        assert.equal(deployed.parameters.size, 0);
      }
    }
    t.diagnostic(`${deployed.kills} processes were killed`);
    assert.ok(deployed.kills >= 5 * rounds, `${deployed.kills} kills`);
  });

  test(`${where}: an answer that is not taken is sent again, in the end by another try of Lambda`, async (t) => {
    const deployed = await DeployedFunction.start(t, codeOf());
    const { management } = deployed.namespace;
    for (const [name, refusals] of [
      ['once', 1],
      ['often', 5],
    ] as const) {
      deployed.addresses.refuse(refusals);
      const stack = deployed.stack(name);
      assert.equal(await stack.deploy({ Queue: queue(name) }), undefined);
      assert.deepEqual(await shown(management), [name]);
      await stack.delete();
    }
  });
}

function parameterAt({ parameters }: DeployedFunction, end: string): string {
  const [found] = [...parameters].filter(([name]) => name.endsWith(end));
  return found?.[1] ?? '';
}
