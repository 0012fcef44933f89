import assert from 'node:assert/strict';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
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
  const app = new App({
    context: { 'aws:cdk:bundling-stacks': [] },
    builtinCloudFormationValidation: false,
  });
  const template = Template.fromStack(new BrokerStack(app, 'Broker', settingsOf(stage)));
  templates.set(key, template);
  return template;
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
