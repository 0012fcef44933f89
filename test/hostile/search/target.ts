import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { GATEWAY_VARIABLES } from '../../../gateway/variables.ts';
import { type ForwardedPort, forwardPort } from '../../interop/gateway/forwarded-port.ts';
import type { TaskProgram } from '../../interop/gateway/gateway-task.ts';

/** What node gives a task of 512 MB for its heap: 60 % of it. */
export const HEAP_MEGABYTES = 307;
const START_MS_MAX = 60_000;
/** A process that answers nothing for so long will not serve anybody any more. */
const ANSWER_MS_MAX = 60_000;
const LOG_CHARACTERS_KEPT = 4000;
const PROBE = fileURLToPath(new URL('probe.mjs', import.meta.url));

/** What a process holds, in bytes. */
export interface Memory {
  readonly heapUsed: number;
  /** What of it is code that V8 has compiled; told after a collection. */
  readonly code: number;
  readonly external: number;
  readonly rss: number;
  /** The most that was resident since this was asked for last. */
  readonly residentMax: number;
}

/** A standstill of the event loop, ms; part of it may be the collection of garbage. */
export interface Stall {
  readonly stallMs: number;
  readonly collectionMs: number;
}

/** A gateway under attack: the bundle that is deployed, in a process with the heap of a small task. */
export interface Target {
  readonly port: number;
  /** Where the load balancer reaches it, for those who stand for one themselves. */
  readonly taskPort: number;
  /** Resolves with the reason once the process has ended, or answers no more. */
  readonly ended: Promise<string>;
  /** The reason, where it has ended. */
  readonly end: string | undefined;
  /** Stalls, and lines of the log about faults of ours, since they were taken last. */
  takeStalls(): readonly Stall[];
  takeFaults(): readonly string[];
  /** What it holds; with `collect` after a collection of garbage. Rejects where it has ended. */
  memory(collect: boolean): Promise<Memory>;
  stop(): Promise<void>;
}

/** All attackers come from one address, with one rule: what is left is what a process can take. */
const MANY = '1000000/1000000';
const UNLIMITED = {
  [GATEWAY_VARIABLES.openConnections]: '1000000',
  [GATEWAY_VARIABLES.newConnections]: MANY,
  [GATEWAY_VARIABLES.requestsOfAddress]: MANY,
  [GATEWAY_VARIABLES.operationsOfRule]: MANY,
  [GATEWAY_VARIABLES.requests]: MANY,
};

/**
 * The image has musl, whose allocator has one heap and gives large pieces back to the system. That of glibc
 * does so when it is told; else memory that is free again would count as resident.
 */
const ALLOCATOR = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '131072' };

/** Starts a gateway; resolves once it serves. */
export async function startTarget({ file, environment }: TaskProgram): Promise<Target> {
  const child = spawn(
    process.execPath,
    [`--max-old-space-size=${HEAP_MEGABYTES}`, '--expose-gc', '--import', PROBE, file],
    {
      env: { ...environment, ...UNLIMITED, ...ALLOCATOR },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    },
  );
  return await new WatchedTarget(child).started();
}

class WatchedTarget implements Target {
  readonly ended: Promise<string>;
  end: string | undefined;
  taskPort = 0;
  readonly #child: ChildProcess;
  #stalls: Stall[] = [];
  #faults: string[] = [];
  #told = '';
  #fatal: string | undefined;
  /** Those who wait for an answer, in the order in which they asked. */
  readonly #asking: ((memory: Memory) => void)[] = [];
  #start: (port: number) => void = () => {};
  #isStopping = false;
  #way: ForwardedPort | undefined;

  constructor(child: ChildProcess) {
    this.#child = child;
    this.ended = once(child, 'close').then(([code, signal]) => {
      this.end ??= `exit ${code ?? signal}: ${this.#fatal ?? lastLines(this.#told)}`;
      return this.end;
    });
    child.on('message', (message: Stall | Memory) => {
      if ('stallMs' in message) this.#stalls.push(message);
      else this.#asking.shift()?.(message);
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    let rest = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#take(line);
    });
  }

  /** Clients reach it as they do behind the load balancer. */
  get port(): number {
    return this.#way?.port ?? 0;
  }

  async started(): Promise<Target> {
    const port = new Promise<number>((resolve) => {
      this.#start = resolve;
    });
    const late = laterThan(START_MS_MAX);
    const first = await Promise.race([port, this.ended, late.passed]);
    late.cancel();
    if (typeof first !== 'number') {
      this.#child.kill('SIGKILL');
      throw new Error(`The gateway did not start: ${first}`);
    }
    this.taskPort = first;
    this.#way = await forwardPort(first);
    return this;
  }

  takeStalls(): readonly Stall[] {
    return this.#stalls.splice(0);
  }

  takeFaults(): readonly string[] {
    return this.#faults.splice(0);
  }

  async memory(collect: boolean): Promise<Memory> {
    const answer = new Promise<Memory>((resolve) => {
      this.#asking.push(resolve);
    });
    if (this.#child.connected) this.#child.send({ collect });
    const late = laterThan(ANSWER_MS_MAX);
    const first = await Promise.race([answer, this.ended, late.passed]);
    late.cancel();
    if (typeof first === 'object') return first;
    this.end ??= `it answered nothing for ${ANSWER_MS_MAX / 1000} s`;
    this.#child.kill('SIGKILL');
    throw new Error(this.end);
  }

  async stop(): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#child.kill('SIGKILL');
    this.#way?.stop();
    await this.ended;
  }

  #hear(text: string): void {
    this.#fatal ??= /FATAL ERROR: [^\n]*/.exec(text)?.[0];
    this.#told = (this.#told + text).slice(-LOG_CHARACTERS_KEPT);
  }

  /** A line of the log. */
  #take(line: string): void {
    try {
      const entry = JSON.parse(line) as Readonly<Record<string, unknown>>;
      if (entry['message'] === 'Started') this.#start(Number(entry['port']));
      else if (entry['level'] === 'error') this.#faults.push(String(entry['fault']).slice(0, 600));
    } catch {
      this.#hear(`${line}\n`);
    }
  }
}

function laterThan(ms: number): { readonly passed: Promise<string>; readonly cancel: () => void } {
  let cancel = () => {};
  const passed = new Promise<string>((resolve) => {
    const timer = setTimeout(() => resolve('late'), ms);
    cancel = () => clearTimeout(timer);
  });
  return { passed, cancel };
}

function lastLines(text: string): string {
  return text.trim().split('\n').slice(-3).join(' | ').slice(0, 600);
}
