import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ParameterNotFound, SSMClient, SSMServiceException } from '@aws-sdk/client-ssm';
import {
  type Parameters,
  ParametersBusy,
  SsmParameters,
} from '../../../lambdas/declare/parameters.ts';
import { repeat } from '../../../lambdas/declare/repeat.ts';
import { realScheduler } from '../../../shared/app/real-scheduler.ts';
import type { RuleOfEntity } from '../../../shared/config/key-parameter.ts';
import { serviceBusy } from '../../../shared/domain/broker-error.ts';
import type { Scheduler } from '../../../shared/domain/scheduler.ts';
import { FakeParameters, startDeclaring } from './declaring.ts';
import { queue, rule } from './stack.ts';

const RULE = { entity: 'orders', keyName: 'sender' };

/** Systems Manager that refuses the first requests. */
function refusing(t: { after(work: () => void): void }, errors: readonly Error[]) {
  const client = new SSMClient({ region: 'eu-west-1', maxAttempts: 1 });
  t.after(() => client.destroy());
  const left = [...errors];
  const commands: string[] = [];
  client.middlewareStack.add(
    (_next, { commandName = '' }) =>
      async () => {
        const error = left.shift();
        if (error !== undefined) throw error;
        commands.push(commandName);
        return { output: { $metadata: {} }, response: {} };
      },
    { step: 'initialize' },
  );
  return { commands, parameters: new SsmParameters(client, '/dynabus/shop/Bus') };
}

/** Parameters that are kept elsewhere. */
class Beside extends FakeParameters {
  readonly #parameters: Parameters;

  constructor(parameters: Parameters) {
    super();
    this.#parameters = parameters;
  }

  override put(...put: [RuleOfEntity, string]): Promise<void> {
    return this.#parameters.put(...put);
  }

  override remove(of: RuleOfEntity): Promise<void> {
    return this.#parameters.remove(of);
  }
}

const refusal = (name: string, $fault: 'client' | 'server' = 'client') =>
  new SSMServiceException({ name, $fault, message: 'Rate exceeded', $metadata: {} });

test('a rule is made and deleted though Systems Manager refuses the first tries', async (t) => {
  const { commands, parameters } = refusing(t, [
    ...Array(5).fill(refusal('ThrottlingException')),
    refusal('InternalServerError', 'server'),
  ]);
  const { stack } = await startDeclaring(t, { parameters: new Beside(parameters) });
  const shop = stack('shop');
  const Orders = queue('orders');
  assert.equal(await shop.deploy({ Orders, Key: rule('orders', 'sender', 'Send') }), undefined);
  assert.deepEqual(commands, ['PutParameterCommand']);
  assert.equal(await shop.deploy({ Orders }), undefined);
  assert.deepEqual(commands, ['PutParameterCommand', 'DeleteParameterCommand']);
});

test('the reason says that Systems Manager was busy all the time, and to deploy again', async (t) => {
  // All tries of the deployment fail; its rollback succeeds.
  const { parameters } = refusing(t, Array(24).fill(refusal('ThrottlingException')));
  const { stack } = await startDeclaring(t, { parameters: new Beside(parameters) });
  await stack('shop').deploy({ Orders: queue('orders') });
  const reason = await stack('keys').deploy({ Key: rule('orders', 'sender', 'Send') });
  assert.match(reason ?? '', /Systems Manager.* Deploy again in a moment\.$/);
});

/** Milliseconds of pauses between all tries of work that always fails, if chance is neither good nor bad. */
async function pausesOf(refuse: () => Error, depth = 1): Promise<number> {
  let all = 0;
  const scheduler: Scheduler = {
    ...realScheduler,
    after: (ms, work) => {
      all += ms;
      realScheduler.soon(work);
      return { cancel: () => {} };
    },
  };
  const random = { bytes: (count: number) => new Uint8Array(count).fill(128) };
  let work: () => Promise<never> = () => Promise.reject(refuse());
  for (let i = 0; i < depth; i++) {
    const inner = work;
    work = () => repeat({ scheduler, random }, inner);
  }
  await assert.rejects(work(), refuse());
  return all;
}

test('parameters are tried for longer than entities, and within the time of the function', async () => {
  const ofEntities = await pausesOf(() => serviceBusy('busy'));
  assert.ok(ofEntities < 10_000, `${ofEntities} ms`);
  const busy = () => new ParametersBusy(refusal('ThrottlingException'));
  const ofParameters = await pausesOf(busy);
  assert.ok(ofParameters > 60_000 && ofParameters < 90_000, `${ofParameters} ms`);
  assert.equal(await pausesOf(busy, 2), ofParameters, 'a repetition within another one');
});

test('other refusals of Systems Manager are not repeated', async (t) => {
  const { parameters } = refusing(t, [refusal('AccessDeniedException')]);
  await assert.rejects(parameters.put(RULE, 'text'), { name: 'AccessDeniedException' });
  const none = new ParameterNotFound({ message: 'none', $metadata: {} });
  await refusing(t, [none]).parameters.remove(RULE);
});
