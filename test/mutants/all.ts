import { BROKER } from './list/broker.ts';
import { CLAIMS } from './list/claims.ts';
import { DOMAIN } from './list/domain.ts';
import { GROUP_COMMIT } from './list/group-commit.ts';
import { ONCE } from './list/once.ts';
import { OUTCOMES } from './list/outcomes.ts';
import { SCAN_HINTS } from './list/scan-hints.ts';
import { SCHEDULING } from './list/scheduling.ts';
import { SESSIONS } from './list/sessions.ts';
import { SETTLING } from './list/settling.ts';
import { SWEEP } from './list/sweep.ts';
import { TOPICS_AND_ENTITIES } from './list/topics-and-entities.ts';
import type { Mutant } from './mutant.ts';

/** All bugs that are planted, in the order in which they are reported. */
export const MUTANTS: readonly Mutant[] = [
  ...DOMAIN,
  ...BROKER,
  ...CLAIMS,
  ...GROUP_COMMIT,
  ...SCAN_HINTS,
  ...SETTLING,
  ...SCHEDULING,
  ...OUTCOMES,
  ...ONCE,
  ...SESSIONS,
  ...TOPICS_AND_ENTITIES,
  ...SWEEP,
];
