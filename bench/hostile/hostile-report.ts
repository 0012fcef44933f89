import { rounded, table } from '../markdown.ts';
import { type HostilePhase, RATE, type UnderAttack } from './under-attack.ts';

/** Title of the section. */
export const HOSTILE_TITLE = '## Under attack';
/** The largest allowed p99 under attack, as a multiple of the p99 without attacks. */
const SLOWER_MAX = 5;
const TITLES = [
  ...['the honest client', 'messages a second', 'p50, ms', 'p99, ms', 'worst, ms', 'failures'],
  ...['heap at most, MB', 'resident at most, MB'],
];

/** Whether the honest client had its rate and latency while every kind of attack went on. */
export function isServed({ quiet, attacked, end, kinds, cases }: UnderAttack): boolean {
  const isFast = attacked.p99 <= SLOWER_MAX * quiet.p99;
  const isComplete = Object.keys(cases).length === kinds;
  return end === undefined && Math.round(attacked.perSecond) >= RATE && isFast && isComplete;
}

/** The section as Markdown. */
export function printUnderAttack(result: UnderAttack): string {
  const { quiet, attacked, end, connections, kinds, cases, sentBytes } = result;
  const count = Object.values(cases).reduce((sum, one) => sum + one, 0);
  const slower = attacked.p99 / quiet.p99;
  return `${HOSTILE_TITLE}

One gateway as it is deployed, with the heap of a task of 512 MB (307 MB). An honest client sends ${RATE} messages of
200 bytes a second over AMQP, receives and completes them; a message takes from the instant at which it was to be sent
until it is completed. First it is alone, then ${kinds} kinds of attack go on at once over up to ${connections} connections: large decoded
forms, made-up tokens with large bodies, open transactions, bombs of XML and JSON and so on (\`test/hostile/search\`).
Gateway, engine, client and attackers share this machine's cores; the attackers have a lower priority.

${table(TITLES, [line('alone', quiet), line('under attack', attacked)])}

${Number.isFinite(slower) ? `Under attack the slowest in a hundred took ${slower.toFixed(1)} times as long as alone` : 'Under attack the slowest in a hundred never came'}; ${SLOWER_MAX} times are allowed. Attackers carried
out ${count} cases of ${Object.keys(cases).length} kinds and sent ${Math.round(sentBytes / 1e6)} MB. ${end === undefined ? 'The process lived through all of it.' : `**The process ended: ${end}**`}
`;
}

function line(what: string, phase: HostilePhase) {
  const { perSecond, p50, p99, worst, failures, heapMax, residentMax } = phase;
  const ms = [p50, p99, worst].map((value) => (Number.isFinite(value) ? rounded(value) : 'never'));
  const megabytes = [heapMax, residentMax].map((bytes) => Math.round(bytes / 2 ** 20));
  return [what, rounded(perSecond), ...ms, failures, ...megabytes];
}
