import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { EventOrigin } from '../../lambdas/push/event/record.ts';
import { eventTargets, type RawReply } from '../../lambdas/push/targets/print-and-call.ts';
import { isLoopback } from '../../server/loopback.ts';
import { BUDGETS } from '../../shared/domain/budgets/budgets.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { counted } from '../../shared/domain/fault-words.ts';
import type { Scheduler, Timer } from '../../shared/domain/scheduler.ts';
import { SECOND_MS } from '../../shared/domain/units.ts';
import type { Targets } from '../../shared/push/ports.ts';

/** Characters of a refusal's body that are told. */
const SHOWN_LENGTH = 200;
/** Bytes of a refusal's body that are read: a character takes 4 at most. */
const REFUSAL_BYTES_MAX = 4 * SHOWN_LENGTH;

/** What calls of HTTP addresses need. */
export interface HttpTargetOptions {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly origin: EventOrigin;
}

/** Targets that are HTTP addresses of this machine. */
export interface HttpTargets extends Targets {
  /** Drops the calls that are under way. They have no replies: the locks on their messages end. */
  close(): void;
}

/** Targets that are HTTP addresses of this machine: each gets the event of a function by POST, and answers as one. */
export function httpTargets({ scheduler, clock, origin }: HttpTargetOptions): HttpTargets {
  const calls = new Map<Call, Timer>();
  const targets = eventTargets({ origin, clock }, ({ consumer: { target, timeoutMs } }, event) => {
    const url = URL.canParse(target) ? new URL(target) : undefined;
    if (url?.protocol !== 'http:' || !isLoopback(url.hostname)) {
      return Promise.resolve(
        unavailable('forbidden', `${target} is no http:// address of this machine.`),
      );
    }
    return new Promise((resolve) => {
      const call = new Call(url, event, (reply) => {
        timer.cancel();
        calls.delete(call);
        resolve(reply);
      });
      const timer = scheduler.after(timeoutMs, () => call.timeOut(timeoutMs));
      calls.set(call, timer);
    });
  });
  return {
    ...targets,
    close: () => {
      for (const [call, timer] of calls) {
        timer.cancel();
        call.drop();
      }
      calls.clear();
    },
  };
}

/** Whatever a name such as `app.localhost` means elsewhere, here it is this machine. */
const thisMachine: LookupFunction = (_name, { all }, report) => {
  if (all) report(null, THIS_MACHINE);
  else report(null, '127.0.0.1', 4);
};
const THIS_MACHINE = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** One POST. It reports once, and reads no more than it needs. */
class Call {
  readonly #request: ClientRequest;
  #report: (reply: RawReply) => void;
  #isConnected = false;

  constructor(url: URL, event: string, report: (reply: RawReply) => void) {
    this.#report = report;
    const body = Buffer.from(event);
    // A connection of its own: one that is kept may be closed at the moment it is used.
    this.#request = request(url, {
      method: 'POST',
      agent: false,
      lookup: thisMachine,
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        'user-agent': 'dynabus',
      },
    });
    this.#request.on('socket', (socket) => {
      socket.once('connect', () => {
        this.#isConnected = true;
      });
    });
    this.#request.on('response', (response) => this.#read(response));
    // The target changes the protocol, which nothing asked for.
    this.#request.on('upgrade', () => this.#end(failed('The target upgrades the connection.')));
    this.#request.on('error', (error) => this.#end(this.#fault(error)));
    this.#request.on('close', () => this.#end(failed('The target closed the connection.')));
    this.#request.end(body);
  }

  timeOut(ms: number): void {
    this.#end(failed(`The target did not answer within ${counted(ms / SECOND_MS, 'second')}.`));
  }

  /** Cuts the connection, and reports nothing. */
  drop(): void {
    this.#report = () => {};
    this.#request.destroy();
  }

  #read(response: IncomingMessage): void {
    const { statusCode: status = 0 } = response;
    if (status === 429 || status === 503) {
      this.#end(unavailable('throttled', `The target answered with ${status}.`));
      return;
    }
    const isDone = status >= 200 && status < 300;
    const most = isDone ? BUDGETS.push.answerBytes : REFUSAL_BYTES_MAX;
    const pieces: Buffer[] = [];
    let bytes = 0;
    const finish = () => this.#end(replyOf(status, Buffer.concat(pieces)));
    response.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      // The reader of the answer refuses it for its length.
      if (bytes > most) finish();
    });
    response.on('end', finish);
    response.on('error', (error) => this.#end(this.#fault(error)));
  }

  #fault(error: Error): RawReply {
    // An error that stands for those of several addresses has no message.
    const text = [...('code' in error ? [error.code] : []), error.message].join(' ').trim();
    return this.#isConnected
      ? failed(`The connection to the target broke: ${text}`)
      : unavailable('missing', `The target cannot be reached: ${text}`);
  }

  #end(reply: RawReply): void {
    this.#report(reply);
    this.#request.destroy();
  }
}

function replyOf(status: number, bytes: Buffer): RawReply {
  if (status >= 200 && status < 300) return { kind: 'answer', bytes };
  const redirected = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  const body = bytes.toString().slice(0, SHOWN_LENGTH);
  return failed(`The target answered with ${status}${redirected}${body && `: ${body}`}`);
}

const failed = (error: string): RawReply => ({ kind: 'failed', error });

const unavailable = (why: 'throttled' | 'missing' | 'forbidden', error: string): RawReply => ({
  kind: 'unavailable',
  why,
  error,
});
