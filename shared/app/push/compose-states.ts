import { DocumentTable, documentClientOf } from '../../storage/dynamodb/document-table.ts';
import type { NamespaceSettings } from '../namespace-settings.ts';
import { realScheduler } from '../real-scheduler.ts';
import type { StateStores } from './stored-wakes.ts';

/** Composes what reads the states of consumers, and nothing else. */
export function composeStates({
  client,
  tables,
  namespace,
  clock,
  random,
}: Pick<NamespaceSettings, 'client' | 'tables' | 'namespace' | 'clock' | 'random'>): StateStores {
  const options = {
    scheduler: realScheduler,
    random,
    meter: undefined,
    transactionItems: undefined,
  };
  const documents = new DocumentTable(documentClientOf(client), tables.entities, options);
  return { documents, namespace, clock };
}
