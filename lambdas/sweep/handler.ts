import { composeSweep } from '../../shared/app/compose-sweep.ts';
import { deployedParts } from '../../shared/app/deployed-parts.ts';
import { readNamespace } from '../../shared/app/settings.ts';
import { startFunction } from '../http/start-function.ts';

/** Does what has come due; called by the schedule. */
export const handler = startFunction(() =>
  composeSweep({ ...deployedParts(process.env), namespace: readNamespace(process.env) }),
);
