import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { resultOf } from '../../../shared/domain/result-of.ts';
import { blockSortKey } from '../../../shared/storage/schema/message-keys.ts';
import { ask, message, Q, startProcess } from '../../support/composed-process.ts';
import { engineClient } from '../../support/start-broker.ts';

/** Receives of which another process is always faster. */

const WRITES_MAX = 1000;

/** As many as a lone receiver makes until it gives up. */
const WRITES_EACH_MAX = 60;

/** A process that loses each race, up to `WRITES_MAX` of them: another one takes the message and sends a new one. */
async function startLoser(t: TestContext) {
  const client = engineClient();
  t.after(() => client.destroy());
  const keys = new Set(Array.from({ length: 1000 }, (_, i) => blockSortKey('live', BigInt(i))));
  let writes = 0;
  let beFaster = async () => async () => {};
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (args) => {
        const { Key } = args.input as { Key?: Record<string, { readonly S?: string }> };
        const isBlock = keys.has(Key?.['sk']?.S ?? '');
        if (commandName !== 'UpdateItemCommand' || !isBlock) return await next(args);
        if (++writes > WRITES_MAX) return await next(args);
        const after = await beFaster();
        try {
          return await next(args);
        } finally {
          await after();
        }
      },
    { step: 'initialize', name: 'faster', priority: 'high' },
  );
  const { broker, management, clock, namespace } = await startProcess(t, { client });
  const other = (await startProcess(t, { clock, namespace })).broker;
  await management.create('q', { kind: 'queue' });
  await other.send(Q, [message('a')]);
  beFaster = async () => {
    const [got] = await other.receive(Q, ask({ maxMessages: 1 }));
    return async () => {
      await other.send(Q, [message('a')]);
      if (got === undefined || !('lockToken' in got)) return;
      await other.settle(Q, [{ lockToken: got.lockToken, action: { kind: 'complete' } }]);
    };
  };
  return { broker, writes: () => writes };
}

for (const receivers of [1, 2, 5]) {
  test(`${receivers} receivers that lose each race hear that the service is busy, after a few writes`, async (t) => {
    const { broker, writes } = await startLoser(t);
    const results = await Promise.all(
      Array.from({ length: receivers }, () => resultOf(broker.receive(Q, ask()))),
    );
    const heard = results.filter((result) => 'error' in result).length;
    t.diagnostic(`${writes()} writes`);
    assert.ok(writes() <= receivers * WRITES_EACH_MAX, `${writes()} writes`);
    assert.equal(heard, receivers);
  });
}
