import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RemoteEntities } from '../../../connect/https/entities.ts';
import { argumentError } from '../../../shared/domain/broker-error.ts';
import { parseEntityPath } from '../../../shared/domain/entities/entity-path.ts';
import { ManualScheduler } from '../../support/manual-scheduler.ts';

/** What a process learns of entities over HTTP. */

/** The entities of a service that finds the name wrong that it is asked for. */
function entitiesOf(nameIn: (path: string) => string): RemoteEntities {
  const caller = {
    call: async ({ path }: { readonly path: string }) => {
      throw argumentError(`The name '${nameIn(path)}' is not valid.`);
    },
  };
  return new RemoteEntities(caller, new ManualScheduler());
}

test('a deployment that is too old to describe entities is told as that', async () => {
  const entities = entitiesOf((path) => path);
  const refusal = { code: 'NotSupported', message: /deploy at least this version/ };
  await assert.rejects(entities.find('q'), refusal);
  await assert.rejects(entities.destination(parseEntityPath('q')), refusal);
});

test('a wrong name is told as that', async () => {
  const entities = entitiesOf(() => 'q');
  await assert.rejects(entities.find('q'), { code: 'ArgumentError', message: /'q' is not valid/ });
});

/** The entity `q` of a service, and the time by which this process knows it. */
function changing() {
  const scheduler = new ManualScheduler();
  const told: { status?: string } = {};
  const caller = {
    call: async ({ path }: { readonly path: string }) => {
      const facts = { kind: 'queue', requiresSession: false, maxMessageSizeInKilobytes: 256 };
      const text = JSON.stringify(path.endsWith('$receiver') ? { ...facts, ...told } : facts);
      return { text } as never;
    },
  };
  const entities = new RemoteEntities(caller as never, scheduler);
  /** What an attach of a receiver is told. */
  const statusAt = async (path: string) => {
    const at = parseEntityPath(path);
    await entities.require(at, ['Listen']);
    return (await entities.find(at.key))?.description.status;
  };
  return { entities, scheduler, told, statusAt };
}

test('a receiver learns that its queue is disabled, also if somebody has sent to it since', async () => {
  const { entities, scheduler, told, statusAt } = changing();
  told.status = 'Disabled';
  assert.equal(await statusAt('q'), 'ReceiveDisabled');
  await scheduler.pass(1000);
  await entities.destination(parseEntityPath('q'));
  assert.equal(await statusAt('q'), 'ReceiveDisabled');
});

test('a receiver that was refused learns at its next attach that the queue is enabled again', async () => {
  const { told, statusAt } = changing();
  told.status = 'Disabled';
  assert.equal(await statusAt('q/$deadletterqueue'), 'ReceiveDisabled');
  delete told.status;
  assert.equal(await statusAt('q/$deadletterqueue'), 'Active');
});
