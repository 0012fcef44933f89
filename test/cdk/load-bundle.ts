import { execFileSync } from 'node:child_process';
import { VARIABLES } from '../../shared/app/variables.ts';

/** As deployment would set it: a function without its settings does not start. */
const ENVIRONMENT = {
  ...process.env,
  ...Object.fromEntries(Object.values(VARIABLES).map((name) => [name, '1'])),
  [VARIABLES.access]: 'sas',
  [VARIABLES.tier]: 'Standard',
  [VARIABLES.endpoint]: 'apiGateway',
  AWS_REGION: 'eu-central-1',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
};

/**
 * The time a new process takes to load the bundle of a function, ms; the best of a few, the rest is the machine. Throws
 * if it does not start.
 */
export function loadMs(file: string, loads: number): number {
  const script = `
    const before = performance.now();
    const { handler } = require(${JSON.stringify(file)});
    if (typeof handler !== 'function') throw new Error('no handler');
    process.stdout.write(String(performance.now() - before));`;
  const times = Array.from({ length: loads }, () =>
    Number(
      execFileSync(process.execPath, ['--eval', script], { encoding: 'utf8', env: ENVIRONMENT }),
    ),
  );
  return Math.min(...times);
}
