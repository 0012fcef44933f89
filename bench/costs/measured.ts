import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Operation, OperationCost } from '../counted-units.ts';

const FILE = fileURLToPath(new URL('measured.json', import.meta.url));

/** One operation: its units and requests for each message, and the processor time of one call, ms. */
export interface MeasuredOperation extends OperationCost {
  readonly cpuMs: number;
}

/** What messages of one size cost that are sent, received and settled in batches of one size. */
export interface MeasuredMessages {
  readonly body: string;
  readonly batch: number;
  readonly operations: Readonly<Record<Operation, MeasuredOperation>>;
}

/** What one receive takes in a function that gets nothing. */
export interface MeasuredReceive {
  readonly read: number;
  readonly write: number;
  /** Processor time, ms. */
  readonly cpuMs: number;
}

/** What one receive takes that waits for so long and gets nothing. */
export interface MeasuredWait {
  readonly waitMs: number;
  /** Of a client that asks again at once, and of one that makes the pause that the answer asks for. */
  readonly looping: MeasuredReceive;
  readonly obedient: MeasuredReceive;
}

/** What the sweep costs in a namespace of so many idle queues: units of one run of each kind. */
export interface MeasuredIdle {
  readonly entities: number;
  /** In most minutes. */
  readonly usual: SweepUnits;
  /** What the walk adds that runs once an hour, and the one that runs once a day. */
  readonly hourly: SweepUnits;
  readonly daily: SweepUnits;
}

export interface SweepUnits {
  readonly read: number;
  readonly write: number;
}

/** What `npm run bench -- --costs` has measured. All dollars are computed from it. */
export interface Measured {
  readonly node: string;
  readonly engine: string;
  readonly processor: string;
  readonly messages: readonly MeasuredMessages[];
  /** Single messages to a topic; receive and settle are those of one subscription. */
  readonly topic: MeasuredMessages & { readonly subscriptions: number };
  readonly waits: readonly MeasuredWait[];
  /** A receive that does not wait, ten seconds after the one before. */
  readonly poll: MeasuredReceive;
  readonly idle: readonly MeasuredIdle[];
}

/** The measurements of the last run. */
export function readMeasured(): Measured {
  return JSON.parse(readFileSync(FILE, 'utf8')) as Measured;
}

/** Keeps the measurements of a run, with as many digits as mean something. */
export function keepMeasured(measured: Measured): void {
  const digits = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toFixed(DIGITS)) : value;
  writeFileSync(FILE, `${JSON.stringify(measured, digits, 2)}\n`);
}

const DIGITS = 4;
