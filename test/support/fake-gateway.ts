import type { TestContext } from 'node:test';
import { AmqpServer } from '../../amqp/service/amqp-server.ts';
import type { AmqpDependencies } from '../../amqp/service/dependencies.ts';
import { startServer } from '../../local/server.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import type { Broker } from '../../shared/broker/broker.ts';
import type { FakeBroker } from './fake-broker.ts';
import { httpDependencies, startApp } from './http-fixture.ts';
import { RawAmqp } from './raw-amqp.ts';
import { RawSession } from './raw-session.ts';

type Changes = Partial<Omit<AmqpDependencies, 'broker'>> & {
  /** Replacements of calls of the fake broker. */
  readonly calls?: Partial<Broker>;
};

/** A gateway over a fake broker, on a port: for tests that count the calls of dependencies. */
export async function startFakeGateway(t: TestContext, { calls = {}, ...changes }: Changes = {}) {
  const fake = httpDependencies();
  const broker: FakeBroker = Object.assign(fake.broker, calls);
  const faults: unknown[] = [];
  const unexpected = () => Promise.reject(new Error('This test does not expect calls of rules.'));
  const dependencies: AmqpDependencies = {
    ...fake,
    rules: { add: unexpected, remove: unexpected, list: unexpected, find: unexpected } as never,
    scheduler: realScheduler,
    reportFault: (fault) => faults.push(fault),
    tokenClock: changes.clock ?? fake.clock,
    ...changes,
    broker,
  };
  const gateway = new AmqpServer(dependencies);
  const { memory } = dependencies;
  const { app } = startApp();
  const server = await startServer({ app, memory, amqp: gateway, host: '127.0.0.1', port: 0 });
  const sessions: RawSession[] = [];
  t.after(async () => {
    for (const { raw } of sessions) raw.destroy();
    await server.close();
  });
  const connect = () => {
    const session = new RawSession(RawAmqp.authenticated(server.port, 'root', 'root-primary'));
    sessions.push(session);
    return session;
  };
  return { dependencies, broker, gateway, faults, connect };
}
