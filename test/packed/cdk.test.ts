import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { bundle, bundleGateway } from '../../cdk/constructs/bundle.ts';
import { FUNCTION_NAMES } from '../../cdk/functions.ts';
import { loadMs } from '../cdk/load-bundle.ts';
import { isMore } from '../runner/more.ts';
import { Project } from './project.ts';

/** Apps of users, which have the package and CDK, and nothing else of ours. */

const { peerDependencies, devDependencies } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../../package.json', import.meta.url)), 'utf8'),
) as Readonly<Record<'peerDependencies' | 'devDependencies', Readonly<Record<string, string>>>>;

/** The least version of CDK that the package takes, and that of this repository. */
const VERSIONS = [peerDependencies['aws-cdk-lib'], devDependencies['aws-cdk-lib']].map((range) =>
  String(range).replace('^', ''),
);
const TYPESCRIPT = 'typescript@5.9.3';

const AMQP = {
  certificateArn: 'arn:aws:acm:eu-central-1:111122223333:certificate/1234',
  domainName: 'bus.example.com',
};
/** Stacks by the name of their output folder: the properties of the broker. */
const STACKS = {
  standard: { tier: 'Standard', push: true },
  iam: { access: 'iam', accessLogs: true },
  url: { access: 'iam', endpoint: 'functionUrl' },
  amqp: { amqp: { ...AMQP, hostedZoneId: 'Z0123456789ABC', limits: {} }, keepData: false },
};
type StackName = keyof typeof STACKS;

const BODY = `
for (const [outdir, props] of Object.entries(${JSON.stringify(STACKS)})) {
  const app = new App({ outdir: format + '-' + outdir });
  const stack = new Stack(app, 'MyStack');
  new Broker(stack, 'Bus', props);
  app.synth();
}
`;
const APPS = {
  module: {
    file: 'app.mjs',
    text: `import { App, Stack } from 'aws-cdk-lib';\nimport { Broker } from 'dynabus/cdk';\nconst format = 'module';${BODY}`,
  },
  common: {
    file: 'app.cjs',
    text: `const { App, Stack } = require('aws-cdk-lib');\nconst { Broker } = require('dynabus/cdk');\nconst format = 'common';${BODY}`,
  },
} as const;

interface Resource {
  readonly Type: string;
  readonly Properties?: { readonly Code?: { readonly S3Key: string } };
}

if (isMore()) {
  const built = mkdtempSync(join(tmpdir(), 'dynabus-built-'));
  after(() => rmSync(built, { recursive: true }));
  for (const name of FUNCTION_NAMES) bundle(name, join(built, name));
  bundleGateway(join(built, 'gateway'));
  const builtCode = (name: string) => readFileSync(join(built, name, 'index.js'), 'utf8');

  for (const version of VERSIONS) {
    const cdk = `aws-cdk-lib@${version}`;
    const project = Project.with(`cdk-${version}`, [cdk, 'constructs', TYPESCRIPT]);
    const resourcesOf = (folder: string): readonly Resource[] => {
      const file = join(project.folder, folder, 'MyStack.template.json');
      return Object.values(JSON.parse(readFileSync(file, 'utf8')).Resources);
    };
    /** The folders of the functions' code. */
    const codeOf = (folder: string): readonly string[] =>
      resourcesOf(folder).flatMap(({ Properties }) => {
        const key = Properties?.Code?.S3Key;
        if (key === undefined) return [];
        return [join(project.folder, folder, `asset.${key.replace(/\.zip$/, '')}`)];
      });

    for (const [format, { file, text }] of Object.entries(APPS)) {
      test(`an app with CDK ${version} in ${file} deploys a broker whose code is in the package`, () => {
        project.write(file, text);
        const { exitCode, output, errors } = project.run(['node', file]);
        assert.equal(exitCode, 0, output + errors);
        for (const name of Object.keys(STACKS) as StackName[]) {
          const folder = `${format}-${name}`;
          const tables = resourcesOf(folder).filter(({ Type }) => Type === 'AWS::DynamoDB::Table');
          assert.equal(tables.length, 2);
          for (const code of codeOf(folder)) {
            assert.deepEqual(readdirSync(code), ['index.js']);
            assert.ok(loadMs(join(code, 'index.js'), 1) > 0);
          }
        }
        assert.equal(codeOf(`${format}-standard`).length, FUNCTION_NAMES.length);
      });
    }

    test(`with CDK ${version}, the functions and the gateway are those that this repository deploys`, () => {
      const deployed = codeOf('module-standard').map((code) =>
        readFileSync(join(code, 'index.js'), 'utf8'),
      );
      assert.deepEqual(new Set(deployed), new Set(FUNCTION_NAMES.map(builtCode)));
      const folder = join(project.folder, 'module-amqp');
      const image = readdirSync(folder).find((name) =>
        existsSync(join(folder, name, 'Dockerfile')),
      );
      assert.deepEqual(readdirSync(join(folder, String(image))).sort(), ['Dockerfile', 'index.js']);
      const process = readFileSync(join(folder, String(image), 'index.js'), 'utf8');
      assert.equal(process, builtCode('gateway'));
    });

    test(`with CDK ${version}, a wrong property ends the app with a sentence`, () => {
      project.write(
        'wrong.mjs',
        APPS.module.text.replace(
          'new Broker(stack',
          "new Broker(stack, 'Wrong', { keepDate: 1 }); (stack",
        ),
      );
      const { exitCode, errors } = project.run(['node', 'wrong.mjs']);
      assert.equal(exitCode, 1);
      assert.match(
        errors,
        /MyStack\/Wrong: keepDate is not a setting of a Broker, .+: write keepData/,
      );
    });

    test(`with CDK ${version}, the modules of the package set no global require`, () => {
      project.write(
        'globals.mjs',
        `import 'aws-cdk-lib';
        const names = () => Object.getOwnPropertyNames(globalThis);
        const before = new Set(names());
        for (const name of ['dynabus', 'dynabus/testing', 'dynabus/cdk']) await import(name);
        console.log(JSON.stringify(names().filter((name) => !before.has(name))));`,
      );
      const { exitCode, output, errors } = project.run(['node', 'globals.mjs']);
      assert.equal(exitCode, 0, errors);
      // All copies of zod share these.
      const ofZod = ['__zod_globalConfig', '__zod_globalRegistry'];
      assert.deepEqual(JSON.parse(output), ofZod);
    });

    test(`an app with CDK ${version} installs no bundler`, () => {
      const modules = readdirSync(join(project.folder, 'node_modules'));
      assert.ok(modules.includes('dynabus'));
      assert.ok(!modules.some((name) => /esbuild/.test(name)), modules.join());
    });

    test(`the types fit CDK ${version}, and name nothing that the app lacks`, () => {
      const program = `
        import { App, Duration, Stack } from 'aws-cdk-lib';
        import type { IGrantable } from 'aws-cdk-lib/aws-iam';
        import {
          AuthorizationRule, Broker, type BrokerAttributes, type BrokerProps, type IBroker, type IQueue, type ITopic,
          Queue, type QueueProps, Rule, Subscription, Topic,
        } from 'dynabus/cdk';
        const props: BrokerProps = { tier: 'Basic', throttle: { rate: 10 }, logRetentionDays: 7 };
        const stack = new Stack(new App(), 'MyStack');
        export const bus: IBroker = new Broker(stack, 'Bus', props);
        export const grant = (role: IGrantable) => bus.grantManage(role).success;
        export const other = (attributes: BrokerAttributes): IBroker =>
          Broker.fromBrokerAttributes(stack, 'Other', attributes);
        const queueProps: QueueProps = { lockDuration: Duration.seconds(30), adoptFrom: 'Old' };
        export const orders: IQueue = new Queue(bus, 'orders', queueProps);
        export const events: ITopic = new Topic(bus, 'events', { topicName: 'shop/events' });
        const audit = new Subscription(events, 'audit', { forwardTo: Queue.fromName(bus, 'a') });
        new Rule(audit, 'large', { sql: { expression: 'a > @b', parameters: { b: 1 } } });
        new Rule(audit, 'urgent', { correlation: { subject: 'urgent', properties: { b: true } } });
        export const parameter: string = new AuthorizationRule(orders, 'partner', { rights: ['Send'] }).parameterName;
        // @ts-expect-error A subscription takes no messages.
        audit.grantSend;
        // @ts-expect-error Messages are forwarded to queues and topics only.
        new Queue(bus, 'wrong', { forwardTo: audit });
        // @ts-expect-error There is no such setting.
        new Broker(stack, 'Wrong', { keepDate: true });
      `;
      project.write('module.mts', program);
      project.write('common.cts', program);
      // CDK needs a type that Node's types would bring.
      const strict = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'esnext'];
      const compilations = [
        // A check of all declarations takes long.
        [...['--module', 'nodenext'], 'module.mts', 'common.cts'],
        [
          ...['--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck'],
          'module.mts',
        ],
        [
          ...['--module', 'commonjs', '--moduleResolution', 'node10', '--skipLibCheck'],
          'common.cts',
        ],
      ];
      for (const options of compilations) {
        const { exitCode, output } = project.run(['tsc', ...strict, ...options]);
        assert.equal(exitCode, 0, `${options.join(' ')}: ${output}`);
      }
    });
  }
}
