import { z } from 'zod';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { rate, section, text, whole } from './setting-values.ts';

/** The sizes that Fargate offers: for each number of CPU units from how many to how many MB, in steps. */
const SIZES = {
  256: { least: 512, most: 2048, step: 512 },
  512: { least: 1024, most: 4096, step: 1024 },
  1024: { least: 2048, most: 8192, step: 1024 },
  2048: { least: 4096, most: 16_384, step: 1024 },
} as const;

const { address, rule } = BUDGETS;

/** What one task takes of the clients behind one address, and of those that use one rule. */
const limits = section({
  /** Without it as many as two tasks should have, and not less than the usual. */
  openConnectionsPerAddress: whole(1).optional(),
  newConnectionsPerAddress: rate(address.newConnections),
  requestsPerAddress: rate(address.requests),
  operationsPerRule: rate(rule.operations),
});

/**
 * The gateway for AMQP: there is one where a stage has these settings. It costs while it is idle, so no
 * stage has them by default.
 */
export const amqpSettings = section({
  /** Clients insist on TLS, and on a name that the certificate is for. */
  certificateArn: text(
    /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
    'the ARN of a certificate in ACM, such as arn:aws:acm:eu-west-1:111122223333:certificate/1a2b',
  ),
  domainName: text(
    /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$/,
    'the lower-case name that the certificate is for, such as bus.example.com',
  ),
  /** Where the name is made to lead to the gateway; without it that is left to you. */
  hostedZoneId: text(
    /^Z[A-Z0-9]+$/,
    'the id of a hosted zone in Route 53, such as Z0123456789ABC',
  ).optional(),
  /** A network that is there; without it one is made that costs nothing. */
  vpcId: text(/^vpc-[0-9a-f]+$/, 'the id of a VPC, such as vpc-0a1b2c3d').optional(),
  minTasks: whole(1, 100).default(1),
  maxTasks: whole(1, 100).default(4),
  /** Beyond so many connections each, tasks are added. */
  connectionsPerTask: whole(10, 50_000).default(1000),
  cpu: z.literal([256, 512, 1024, 2048], '256, 512, 1024 or 2048').default(256),
  memoryMb: z.int('a whole number, of a size that Fargate has for amqp.cpu').default(512),
  limits: limits.prefault({}),
}).superRefine(({ minTasks, maxTasks, cpu, memoryMb }, context) => {
  if (minTasks > maxTasks) {
    context.addIssue({
      code: 'custom',
      path: ['maxTasks'],
      input: maxTasks,
      message: `at least amqp.minTasks, which is ${minTasks}`,
    });
  }
  const { least, most, step } = SIZES[cpu];
  if (memoryMb < least || memoryMb > most || memoryMb % step !== 0) {
    context.addIssue({
      code: 'custom',
      path: ['memoryMb'],
      input: memoryMb,
      message: `from ${least} to ${most} in steps of ${step}, since amqp.cpu is ${cpu} and Fargate has no other sizes for it`,
    });
  }
});

/** What a stage says of its gateway, checked and complete. */
export type AmqpSettings = z.infer<typeof amqpSettings>;
