import { App, Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { IRole } from 'aws-cdk-lib/aws-iam';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import type { BrokerProps } from '../../../cdk/broker-props.ts';
import { Broker } from '../../../cdk/constructs/broker.ts';
import type { BrokerAttributes } from '../../../cdk/constructs/broker-ref.ts';

/** A stack `Shop` with a broker `Bus`. Code is not bundled, and the rules of CloudFormation are not checked. */
export function shop(props: BrokerProps = {}) {
  const app = new App({
    context: { 'aws:cdk:bundling-stacks': [] },
    builtinCloudFormationValidation: false,
  });
  const stack = new Stack(app, 'Shop');
  const bus = new Broker(stack, 'Bus', props);
  return { app, stack, bus, template: () => Template.fromStack(stack) };
}

/** A broker of another app. */
export const ATTRIBUTES = {
  namespace: 'other',
  tier: 'Standard',
  access: 'sas',
  endpointType: 'apiGateway',
  url: 'https://bus.example.com',
  invokeArn: 'arn:aws:execute-api:eu-central-1:111122223333:a1b2c3d4e5/$default',
  keepData: true,
  parameterPrefix: '/dynabus/Other/Bus',
  entityServiceToken: 'arn:aws:lambda:eu-central-1:111122223333:function:declare',
} as const satisfies BrokerAttributes;

/** A function of the user. */
export function functionIn(stack: Stack, id: string, role?: IRole): LambdaFunction {
  return new LambdaFunction(stack, id, {
    runtime: Runtime.NODEJS_24_X,
    handler: 'index.handler',
    code: Code.fromInline('exports.handler = async () => {};'),
    ...(role !== undefined && { role }),
  });
}

/** A custom resource of a template. */
export interface EntityResource {
  readonly Type: string;
  readonly DependsOn?: readonly string[];
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  readonly Properties: {
    readonly ServiceToken: unknown;
    readonly Name?: string;
    readonly Settings?: string;
    readonly Adopt?: string;
    readonly Entity?: string;
    readonly KeyName?: string;
    readonly Rights?: readonly string[];
    readonly Endpoint?: unknown;
    readonly Parameter?: unknown;
    readonly ConsumerName?: string;
    readonly Target?: unknown;
  };
}

/** The custom resources of a template by the names of their entities, rules and consumers. */
export function entityResources(template: Template): ReadonlyMap<string, EntityResource> {
  const resources = Object.values(template.toJSON()['Resources'] as Record<string, EntityResource>);
  const ours = resources.filter(({ Type }) => Type.startsWith('Custom::Dynabus'));
  return new Map(ours.map((one) => [nameOf(one), one]));
}

function nameOf({ Properties: { Name, Entity, KeyName, ConsumerName } }: EntityResource): string {
  return Name ?? `${Entity} ${KeyName ?? ConsumerName}`;
}

/** The settings of a declared entity. */
export function settingsOf(template: Template, name: string): unknown {
  const text = entityResources(template).get(name)?.Properties.Settings;
  return text === undefined ? undefined : JSON.parse(text);
}
