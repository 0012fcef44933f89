import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeleteTableCommand } from '@aws-sdk/client-dynamodb';
import { ENGINE_KINDS } from '../../../../../local/engine/engine-recipes.ts';
import { ensureTables } from '../../../../../local/tables.ts';
import { directNetwork, simulatedClients } from '../../client.ts';
import { SimulatedDatabase } from '../../database.ts';
import { areAlike, EDGE_DEVIATIONS } from '../deviations.ts';
import { engineEndpoint, onceClient, whyMissing } from '../engines.ts';
import { type Outcome, outcomeOf } from '../outcomes.ts';
import { type Client, sendTo } from '../pair.ts';
import { type Edge, TableName } from './edge.ts';
import { EDGES } from './edges.ts';

/** Tests both sides of each limit of the service: by its documentation, and against the local engines. */

for (const edge of EDGES) {
  test(`the simulation has the limits of the service: ${edge.name}`, async () => {
    const { error } = await outcomeAt(edge, simulated());
    assert.equal(error, edge.error);
  });
}

for (const kind of ENGINE_KINDS) {
  const title = `the simulation has the limits of ${kind}, except for the listed deviations`;
  test(title, { skip: whyMissing(kind) ?? false }, async (t) => {
    const client = onceClient(t, await engineEndpoint(t, kind));
    const different: string[] = [];
    for (const edge of EDGES) {
      await ensureTables(client, { entities: TableName, messages: TableName });
      try {
        const here = await outcomeAt(edge, simulated());
        if (!areAlike(here, await outcomeAt(edge, client))) different.push(edge.name);
      } finally {
        await client.send(new DeleteTableCommand({ TableName }));
      }
    }
    assert.deepEqual(different.toSorted(), Object.keys(EDGE_DEVIATIONS[kind]).toSorted());
  });
}

function simulated(): Client {
  const database = new SimulatedDatabase({
    now: () => 1_790_000_000_000,
    random: () => 0,
    throttles: false,
  });
  return simulatedClients(database, directNetwork, { maxAttempts: 1 }).client;
}

async function outcomeAt({ before, request }: Edge, client: Client): Promise<Outcome> {
  for (const earlier of before) await sendTo(client, earlier);
  return await outcomeOf(sendTo(client, request));
}
