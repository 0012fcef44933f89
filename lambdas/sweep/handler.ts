import { composeSweep } from '../http/compose-sweep.ts';
import { deployedParts } from '../http/deployed-parts.ts';
import { readNamespace } from '../http/settings.ts';
import { startFunction } from '../http/start-function.ts';

/** Does what has come due; called by the schedule. */
export const handler = startFunction(() =>
  composeSweep({ ...deployedParts(process.env), namespace: readNamespace(process.env) }),
);
