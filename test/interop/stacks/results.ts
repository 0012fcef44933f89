/** What is read of programs of checks that have ended. */

/** What a program of checks says in its last line. */
export interface Tally {
  readonly what: string;
  readonly ran: number;
  readonly failed: number;
  readonly skipped: number;
}

/** What became of a stack; `bad` says why there is no tally that counts. */
export type Result = Tally | { readonly notTried: string } | { readonly bad: string };

/** How a program has ended. */
export interface Ended {
  /** Its exit code, or the signal that ended it. */
  readonly end: number | string | 'not there' | 'hung';
  /** Or the last part of it. */
  readonly output: string;
}

/** A program that runs longer has hung. For a slow machine; the longest takes some minutes. */
export const MINUTES_MAX = { build: 15, checks: 30 } as const;
/** How a script says that what it tries is not there. */
const NOT_INSTALLED = 77;
/**
 * What `dotnet build` says where it is the machine that lacks something: a package, or a version of it, that no source
 * has; a source that cannot be reached; an SDK that knows the target framework.
 */
const LACKING = /error ((?:NU1(?:10[12]|301)|NETSDK1045): .*?)(?: \[|\r?$)/m;

/** Returns undefined if there is now a program to run. */
export function resultOfBuild({ end, output }: Ended): Result | undefined {
  if (end === 0) return undefined;
  if (end === 'not there') return { notTried: 'there is no dotnet' };
  const lacking = LACKING.exec(output)?.[1];
  if (lacking !== undefined) return { notTried: lacking };
  return end === 'hung' ? hung(MINUTES_MAX.build) : { bad: `not built: ${ended(end)}` };
}

/**
 * A tally counts only if the program then ended as it said: with code 1 if a check failed, or 0.
 * @param command what runs the program
 */
export function resultOfChecks({ end, output }: Ended, command: string): Result {
  if (end === 'not there') return { notTried: `there is no ${command}` };
  if (end === 'hung') return hung(MINUTES_MAX.checks);
  if (end === NOT_INSTALLED) return { notTried: 'the package is not installed' };
  const last = output.trim().split('\n').at(-1) ?? '';
  const tally = tallyIn(last);
  if (tally === undefined)
    return { bad: `crashed: ${ended(end)}, and its last line is no tally: ${last}` };
  if (tally.ran === 0) return { bad: `crashed: ${ended(end)}, and no check ran` };
  if (end !== (tally.failed === 0 ? 0 : 1))
    return { bad: `crashed: ${ended(end)} after its tally: ${last}` };
  return tally;
}

/** Whether `npm run stacks` may succeed with it. */
export function isGood(result: Result): boolean {
  return !('bad' in result) && ('notTried' in result || result.failed === 0);
}

/** A result as people read it. */
export function said(result: Result): string {
  if ('bad' in result) return result.bad;
  if ('notTried' in result) return `not tried on this machine: ${result.notTried}`;
  const { what, ran, failed, skipped } = result;
  const left = skipped === 0 ? '' : `, ${skipped} left out`;
  return `${ran - failed - skipped} of ${ran} pass${left} (${what})`;
}

function hung(minutes: number): Result {
  return { bad: `hung: no end after ${minutes} minutes` };
}

function ended(end: number | string): string {
  return typeof end === 'number' ? `ended with code ${end}` : `ended by ${end}`;
}

function tallyIn(line: string): Tally | undefined {
  try {
    const { what, ran, failed, skipped } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (typeof what !== 'string' || !isCount(ran) || !isCount(failed) || !isCount(skipped))
      return undefined;
    return failed + skipped > ran ? undefined : { what, ran, failed, skipped };
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
