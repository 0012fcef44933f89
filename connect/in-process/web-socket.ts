import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import type { Upstream } from '../upstream.ts';
import type { ConnectedWebSocket } from '../web-socket-types.ts';
import { CallsUnderWay } from './calls-under-way.ts';
import { InProcessSocket } from './socket.ts';

/** After so many turns of the event loop in which nothing passed, nothing is on its way. */
const QUIET_TURNS = 5;
/** How long `drain` waits at most, ms. */
const DRAIN_MS_MAX = 10_000;

/** Serves AMQP to clients in this process. Whoever has the class may do everything that `upstream` may do. */
export function webSocketOf(upstream: Upstream): ConnectedWebSocket {
  const calls = new CallsUnderWay();
  const { dependencies } = upstream;
  const server = new AmqpServer({
    ...dependencies,
    broker: calls.of(dependencies.broker),
    rules: calls.of(dependencies.rules),
    trustsClients: true,
  });
  const sockets = new Set<InProcessSocket>();
  return class ServiceBusWebSocket extends InProcessSocket {
    constructor(url: string) {
      super(server, url, () => sockets.delete(this));
      sockets.add(this);
    }

    static async drain(): Promise<void> {
      const deadline = performance.now() + DRAIN_MS_MAX;
      let quietTurns = 0;
      while (quietTurns < QUIET_TURNS) {
        await nextTurn();
        const isBusy = calls.count > 0 || [...sockets].some(({ isPassing }) => isPassing);
        quietTurns = isBusy ? 0 : quietTurns + 1;
        if (performance.now() >= deadline) throw late();
        if (isBusy) await until(calls.ended(), deadline);
      }
      await until(upstream.idle(), deadline);
    }

    static async close(): Promise<void> {
      await server.close();
      await upstream.close();
    }
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Waits for work. `deadline` = monotonic ms. Throws Error at that time. */
async function until(work: Promise<void>, deadline: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const isLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), deadline - performance.now());
  });
  try {
    await Promise.race([work, isLate]);
  } finally {
    clearTimeout(timer);
  }
}

function late(): Error {
  const seconds = DRAIN_MS_MAX / 1000;
  return new Error(`Sends or settlements are still under way after ${seconds} s. Try again.`);
}
