import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { inParallel } from '../../shared/domain/turns/in-parallel.ts';
import { DocumentTable } from '../../shared/storage/dynamodb/document-table.ts';
import { DueWorkIndex } from '../../shared/storage/maintenance/due-work-index.ts';
import { engineClient, TABLES, tableOptions } from './start-broker.ts';
import type { TestBroker } from './test-broker.ts';

const WIDTH = 20;

/** Adds entries for a queue to the sweep's due-work index, one due every 10 seconds, as many messages do. */
export async function leaveDueWork(
  { namespace, clock }: TestBroker,
  queue: { readonly id: string; readonly name: string },
  count: number,
): Promise<void> {
  const client = engineClient();
  const options = tableOptions();
  const table = new DocumentTable(DynamoDBDocumentClient.from(client), TABLES.entities, options);
  const dueWork = new DueWorkIndex(table, namespace, { clock, random: options.random });
  const log = {
    entityId: queue.id,
    headerEntityId: queue.id,
    entityKey: queue.name,
    partition: 0,
    subQueue: 'main',
    generation: 0,
  } as const;
  const instants = Array.from({ length: count }, (_, i) => clock.now() + i * 10_000);
  await inParallel(instants, WIDTH, (instant) => dueWork.add(log, instant));
  client.destroy();
}
