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
