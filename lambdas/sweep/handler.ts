import { composeSweep } from '../http/compose-sweep.ts';
import { lambdaParts } from '../http/lambda.ts';
import { readNamespace } from '../http/settings.ts';

/** Does what has come due; called by the schedule. */
export const handler = composeSweep({
  ...lambdaParts(process.env),
  namespace: readNamespace(process.env),
  soleProcess: false,
});
