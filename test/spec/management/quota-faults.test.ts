import { test } from 'node:test';
import { databaseFault, hookedClient, throttled } from '../../support/hooked-client.ts';
import { startBroker } from '../../support/start-broker.ts';
import { expectStatus } from '../../support/test-broker.ts';

for (const [how, fault] of Object.entries({ throttled, 'without an answer': databaseFault })) {
  test(`a queue is created although the write of the number for its quota is ${how}`, async (t) => {
    const client = hookedClient(({ command, collection }) => {
      if (command === 'UpdateItemCommand' && collection?.endsWith('/counts')) throw fault();
    });
    t.after(() => client.destroy());
    const broker = await startBroker(t, { client });
    expectStatus(await broker.createQueue('q'), 201);
  });
}
