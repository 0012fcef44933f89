import type { Action } from '../scenario/scenario.ts';
import { manageOperations } from './manage.ts';
import type { Operations } from './operations.ts';
import { receiveOperations } from './receive.ts';
import { sendOperations } from './send.ts';
import { sessionOperations } from './sessions.ts';
import { settleOperations } from './settle.ts';
import { transactOperations } from './transact.ts';

/** The operation for each kind of action. */
export const OPERATIONS: Operations<Action['kind']> = {
  ...sendOperations,
  ...receiveOperations,
  ...settleOperations,
  ...sessionOperations,
  ...transactOperations,
  ...manageOperations,
};
