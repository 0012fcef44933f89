import type { World } from '../world.ts';
import { claimWorlds } from './claims.ts';
import { entityWorlds } from './entities.ts';
import { groupWorlds } from './groups.ts';
import { hintWorlds } from './hints.ts';
import { lockWorlds } from './locks.ts';
import { lostAnswerWorlds } from './lost-answers.ts';
import { moveWorlds } from './moves.ts';
import { releasedSessionWorlds } from './released-sessions.ts';
import { sendWorlds } from './sends.ts';
import { sessionWorlds } from './sessions.ts';
import { transactionWorlds } from './transactions.ts';

/** All small worlds. */
export const catalogue: readonly World[] = [
  ...claimWorlds,
  ...groupWorlds,
  ...lockWorlds,
  ...moveWorlds,
  ...entityWorlds,
  ...sessionWorlds,
  ...releasedSessionWorlds,
  ...sendWorlds,
  ...transactionWorlds,
  ...lostAnswerWorlds,
  ...hintWorlds,
];
