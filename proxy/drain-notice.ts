import { setTimeout as pause } from 'node:timers/promises';
import { isHealthCheck } from '../server/http/health-check.ts';
import type { WebApp } from '../server/server.ts';

/**
 * The notice that a process is to stop: for some time its health checks fail, so that it is sent no new clients, and
 * present ones are still served.
 */
export class DrainNotice {
  readonly #noticeMs: number;
  #isGiven = false;

  constructor(noticeMs: number) {
    this.#noticeMs = noticeMs;
  }

  /** Gives the notice. Resolves when its time is over. */
  async give(): Promise<void> {
    this.#isGiven = true;
    await pause(this.#noticeMs);
  }

  /** Wraps an app so that its health checks fail from the notice on. */
  watch(app: WebApp): WebApp {
    return {
      fetch: (request, bindings) =>
        this.#isGiven && isHealthCheck(request)
          ? Response.json({ status: 'draining' }, { status: 503 })
          : app.fetch(request, bindings),
    };
  }
}
