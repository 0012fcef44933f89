import * as z from 'zod';
import { BUDGETS } from '../shared/domain/budgets/budgets.ts';
import { rate, reference, section, text, whole } from './setting-values.ts';

/** The task sizes of Fargate: for each number of CPU units, the memory range in MB and its step. */
const SIZES = {
  256: { least: 512, most: 2048, step: 512 },
  512: { least: 1024, most: 4096, step: 1024 },
  1024: { least: 2048, most: 8192, step: 1024 },
  2048: { least: 4096, most: 16_384, step: 1024 },
} as const;

const { address, rule } = BUDGETS;

/** A lower-case name of a host; its last label may be an encoded one of another script. */
export const DOMAIN_NAME =
  /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+(?:[a-z]{2,}|xn--[a-z0-9-]*[a-z0-9])$/;

/** Limits of one task for the clients behind one address, and for those that use one rule. */
const limits = section({
  /** Default: twice `connectionsPerTask`, and at least the usual limit. */
  openConnectionsPerAddress: whole(1).optional(),
  newConnectionsPerAddress: rate(address.newConnections),
  requestsPerAddress: rate(address.requests),
  operationsPerRule: rate(rule.operations),
});

/**
 * The settings of the AMQP gateway. A stage has a gateway only if it has these settings, because a gateway costs money
 * while it is idle.
 */
export const amqpSettings = section({
  /** Clients require TLS and a name that the certificate covers. */
  certificateArn: reference(
    /^arn:[\w-]+:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
    'the ARN of a certificate in ACM, such as arn:aws:acm:eu-west-1:111122223333:certificate/1a2b',
  ),
  domainName: reference(
    DOMAIN_NAME,
    'the lower-case name that the certificate is for, such as bus.example.com',
  ),
  /** The hosted zone in which the deployment creates the DNS record; absent = you create it. */
  hostedZoneId: reference(
    /^Z[A-Z0-9]+$/,
    'the id of a hosted zone in Route 53, such as Z0123456789ABC',
  ).optional(),
  /** An existing network; absent = the deployment creates one without cost. */
  vpcId: text(/^vpc-[0-9a-f]+$/, 'the id of a VPC, such as vpc-0a1b2c3d').optional(),
  minTasks: whole(1, 100).default(1),
  maxTasks: whole(1, 100).default(4),
  /** Scaling adds tasks above this average number of connections. */
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

/** The gateway settings of a stage, checked and complete. */
export type AmqpSettings = z.infer<typeof amqpSettings>;
