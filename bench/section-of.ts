import { StartupError } from '../local/startup-error.ts';
import { AMQP_TITLE, printAmqp } from './amqp/report.ts';
import { type AmqpTimes, measureAmqp } from './amqp/section.ts';
import {
  COMPETING_MESSAGES,
  COMPETING_PROCESSES,
  type CompetingOptions,
  measureCompeting,
} from './competing/competing.ts';
import { COMPETING_TITLE, printCompeting } from './competing/report.ts';
import { measureConnect } from './connect/measure.ts';
import { CONNECT_TITLE, printConnect } from './connect/report.ts';
import { measureDeclarations } from './declare/measure.ts';
import { DECLARE_TITLE, printDeclarations } from './declare/report.ts';
import { measureExplorer } from './explorer/measure.ts';
import { EXPLORER_TITLE, printExplorer } from './explorer/report.ts';
import { measureInstall } from './install/measure.ts';
import { INSTALL_TITLE, printInstall } from './install/report.ts';
import { measureManagement } from './management/measure.ts';
import { MANAGEMENT_TITLE, printManagement } from './management/report.ts';
import type { BenchOptions } from './options.ts';
import { measurePush } from './push/measure.ts';
import { PUSH_TITLE, printPush } from './push/report.ts';
import type { ServerOptions } from './server-process.ts';

const QUICK_COMPETING = { messages: 200, processes: [1, 2] } as const;

/** A section of RESULTS.md that an option asks for: its title, and how it is measured. */
export function sectionOf(
  options: BenchOptions,
  times: AmqpTimes,
  server: ServerOptions,
): readonly [title: string, measure: () => Promise<string>] | undefined {
  const { quick, engine } = options;
  if (options.management) {
    return [MANAGEMENT_TITLE, async () => printManagement(await measureManagement(engine, quick))];
  }
  if (options.declare) {
    return [DECLARE_TITLE, async () => printDeclarations(await measureDeclarations(engine, quick))];
  }
  if (options.push) return [PUSH_TITLE, async () => printPush(await measurePush(engine, quick))];
  if (options.connect) {
    return [CONNECT_TITLE, async () => printConnect(await measureConnect(engine, quick))];
  }
  if (options.explorer) {
    return [EXPLORER_TITLE, async () => printExplorer(await measureExplorer(server, quick))];
  }
  if (options.install) return [INSTALL_TITLE, async () => printInstall(await measureInstall())];
  if (options.competing) {
    const competing = competingOptions(options);
    return [COMPETING_TITLE, async () => printCompeting(await measureCompeting(competing))];
  }
  if (options.amqp) {
    return [AMQP_TITLE, async () => printAmqp(await measureAmqp(times, server, quick))];
  }
  return undefined;
}

/** How competing processes are measured. Throws StartupError for a wrong number of messages. */
export function competingOptions({ engine, quick, messages }: BenchOptions): CompetingOptions {
  const usual = { messages: COMPETING_MESSAGES, processes: COMPETING_PROCESSES };
  const choice = { engine, ...(quick ? QUICK_COMPETING : usual) };
  if (messages === undefined) return choice;
  const count = Number(messages);
  if (Number.isInteger(count) && count > 0) return { ...choice, messages: count };
  throw new StartupError('--messages takes a whole number above 0.');
}
