import assert from 'node:assert/strict';
import { App, Stack, type StackProps } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { BrokerProps } from '../../cdk/broker-props.ts';
import { Broker } from '../../cdk/constructs/broker.ts';
import { SettingsError } from '../../cdk/setting-faults.ts';
import { readStageSettings } from '../../cdk/settings.ts';
import { BrokerStack } from '../../cdk/stacks/broker-stack.ts';

/** The least that a stage says of its gateway for AMQP. */
export const AMQP = {
  certificateArn: 'arn:aws:acm:eu-central-1:111122223333:certificate/1234',
  domainName: 'bus.example.com',
} as const;

/** By their settings: a template takes as long to make as hundreds of looks at it. */
const templates = new Map<string, Template>();

/**
 * The template of a stage with these settings. Code is not bundled: bundle.test.ts looks at that. The rules of
 * CloudFormation are not checked, which takes seconds and only warns: `npm run synth` does both.
 */
export function synthesize(stage: Readonly<Record<string, unknown>> = {}): Template {
  const key = JSON.stringify(stage);
  const known = templates.get(key);
  if (known !== undefined) return known;
  const template = Template.fromStack(new BrokerStack(app(), 'Broker', settingsOf(stage)));
  templates.set(key, template);
  return template;
}

function app(): App {
  return new App({
    context: { 'aws:cdk:bundling-stacks': [] },
    builtinCloudFormationValidation: false,
  });
}

/** A stack with a broker in it, as other people write it. Code is not bundled, and rules are not checked, as above. */
export function brokerOf(props: BrokerProps = {}, stackProps: StackProps = {}): Broker {
  return new Broker(stackOf(stackProps), 'Bus', props);
}

/** An empty stack of another app. */
export function stackOf(props: StackProps = {}): Stack {
  return new Stack(app(), 'Shop', props);
}

export function settingsOf(stage: Readonly<Record<string, unknown>>) {
  return readStageSettings({ stage: 'test', stages: { test: stage } });
}

/** What wrong settings are answered, all sentences together. */
export function answerTo(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    assert.ok(error instanceof SettingsError, String(error));
    return error.message;
  }
  assert.fail('the settings were taken');
}

/** The properties of every resource of one type by their logical ids; the caller knows their shape. */
export function propertiesById<Properties>(
  template: Template,
  type: string,
): Map<string, Properties> {
  return new Map(
    Object.entries(template.findResources(type)).map(([id, resource]) => [
      id,
      resource['Properties'] as Properties,
    ]),
  );
}
