import { ENDPOINTS, TIERS } from '../shared/app/variables.ts';
import { ACCESS_KINDS } from '../shared/auth/access-kinds.ts';
import { DOMAIN_NAME } from './amqp-settings.ts';
import { check } from './broker-settings.ts';
import { flag, oneOf, reference, section } from './setting-values.ts';

const ATTRIBUTES = section({
  namespace: reference(/^[\w-]+$/, 'the name of the namespace'),
  tier: oneOf(TIERS),
  access: oneOf(ACCESS_KINDS),
  endpointType: oneOf(ENDPOINTS),
  url: reference(
    /^https:\/\/[^/]+$/,
    'an address without a slash at its end, such as https://a1b2c3.execute-api.eu-west-1.amazonaws.com',
  ),
  invokeArn: reference(
    /^arn:[\w-]+:(?:execute-api:[\w-]+:\d{12}:\w+\/[\w$-]+|lambda:[\w-]+:\d{12}:function:[\w-]+)$/,
    'the invokeArn of a Broker, such as arn:aws:execute-api:eu-west-1:111122223333:a1b2c3/$default',
  ),
  keepData: flag(),
  parameterPrefix: reference(
    /^(?:\/[\w.-]+)+$/,
    'the parameterPrefix of a Broker, without a slash at its end, such as /dynabus/Shop/Bus',
  ),
  entityServiceToken: reference(
    /^arn:[\w-]+:lambda:[\w-]+:\d{12}:function:[\w-]+$/,
    'the entityServiceToken of a Broker, such as arn:aws:lambda:eu-west-1:111122223333:function:declare',
  ),
  pushRoleArn: reference(
    /^arn:[\w-]+:iam::\d{12}:role\/.+$/,
    'the pushRoleArn of a Broker, such as arn:aws:iam::111122223333:role/Shop-BusPushRole',
  ).optional(),
  amqpDomainName: reference(
    DOMAIN_NAME,
    'the lower-case name of the AMQP gateway, such as bus.example.com',
  ).optional(),
  rootKeySecretArn: reference(
    /^arn:[\w-]+:secretsmanager:[\w-]+:\d{12}:secret:.+-\w{6}$/,
    'the whole ARN of a secret, such as arn:aws:secretsmanager:eu-west-1:111122223333:secret:RootKey-a1b2c3',
  ).optional(),
});

/**
 * Checks what describes a broker of another app. Throws SettingsError with a sentence for each fault, which begins with
 * `path`, that of the construct.
 */
export function requireAttributes(attributes: object, path: string): void {
  check(
    ATTRIBUTES,
    { ...attributes },
    {
      prefix: `${path}: `,
      owner: 'fromBrokerAttributes',
      ofOwner: '',
    },
  );
}
