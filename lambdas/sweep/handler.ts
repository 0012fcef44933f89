import { composeSweep } from '../../shared/app/compose-sweep.ts';
import { deployedSettings } from '../../shared/app/deployed-settings.ts';
import { readNamespace } from '../../shared/app/settings.ts';
import { startFunction } from '../http/start-function.ts';

/** Runs the sweep; an EventBridge rule invokes it on a schedule. */
export const handler = startFunction(() =>
  composeSweep({ ...deployedSettings(process.env), namespace: readNamespace(process.env) }),
);
