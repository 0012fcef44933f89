import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTarget } from '../../../shared/domain/consumers/target.ts';

const FUNCTION = 'arn:aws:lambda:eu-west-1:123456789012:function:work-er_1';

test('a target is a Lambda function, one of its versions or aliases, in any partition of AWS', () => {
  const parts = {
    kind: 'lambda',
    partition: 'aws',
    region: 'eu-west-1',
    account: '123456789012',
    name: 'work-er_1',
  };
  assert.deepEqual(parseTarget(FUNCTION), { ...parts, arn: FUNCTION });
  for (const qualifier of ['7', 'live', '$LATEST', '$LATEST.PUBLISHED', 'a-b_C']) {
    const arn = `${FUNCTION}:${qualifier}`;
    assert.deepEqual(parseTarget(arn), { ...parts, arn, qualifier });
  }
  for (const [partition, region] of [
    ['aws-cn', 'cn-north-1'],
    ['aws-us-gov', 'us-gov-west-1'],
    ['aws-iso-b', 'us-isob-east-1'],
  ]) {
    const arn = `arn:${partition}:lambda:${region}:123456789012:function:f`;
    assert.deepEqual(parseTarget(arn), { ...parts, arn, partition, region, name: 'f' });
  }
});

test('a text that is no ARN of a Lambda function is refused', () => {
  for (const text of [
    '',
    'worker',
    'arn:aws:lambda:eu-west-1:123456789012:layer:x',
    'arn:aws:sqs:eu-west-1:123456789012:function:x',
    'arn:azure:lambda:eu-west-1:123456789012:function:x',
    'arn:aws:lambda:eu-west-1:12345678901:function:x',
    'arn:aws:lambda::123456789012:function:x',
    `${FUNCTION}:`,
    `${FUNCTION}:a:b`,
    `${FUNCTION}:$latest`,
    ` ${FUNCTION}`,
    `${FUNCTION}\n`,
    `arn:aws:lambda:eu-west-1:123456789012:function:${'x'.repeat(65)}`,
  ]) {
    assert.throws(
      () => parseTarget(text),
      { code: 'ArgumentError', message: /is not valid/ },
      text,
    );
  }
  assert.throws(() => parseTarget(`${FUNCTION}${'x'.repeat(600)}`), /the limit is 512/);
});

test('a target is an address of this machine, without anything that is not sent', () => {
  for (const url of [
    'http://127.0.0.1:3000/orders',
    'http://localhost:3000',
    'http://[::1]:3000/a/b?x=1&y=%20',
    'HTTP://LocalHost/',
  ]) {
    assert.deepEqual(parseTarget(url), { kind: 'local', url });
  }
  const refused: readonly [string, RegExp][] = [
    ['https://localhost:3000', /must begin with 'http:\/\/'/],
    ['ftp://localhost', /must begin with 'http:\/\/'/],
    ['http://example.com/', /one of this machine/],
    ['http://127.0.0.1.example.com/', /one of this machine/],
    ['http://localhost.example.com/', /one of this machine/],
    ['http://127.1/', /one of this machine/],
    ['http://2130706433/', /one of this machine/],
    ['http://0.0.0.0:3000/', /one of this machine/],
    ['http://169.254.169.254/latest/meta-data', /one of this machine/],
    ['http://[::ffff:127.0.0.1]/', /one of this machine/],
    ['http:///localhost', /one of this machine/],
    ['http://me:secret@localhost/', /user name, a password/],
    ['http://localhost@example.com/', /user name, a password/],
    ['http://localhost/#part', /fragment/],
    ['http://localhost/#', /fragment/],
    ['http://localhost:99999/', /not a valid URL/],
    ['http://localhost\\@example.com/', /'@'/],
    ['http://localhost\\example', /one of this machine/],
    ['http://localhost/a b', /space or a backslash/],
    ['http://localhost/a\\b', /space or a backslash/],
  ];
  for (const [url, message] of refused) {
    assert.throws(() => parseTarget(url), { code: 'ArgumentError', message }, url);
  }
});

test('the refusal of an address does not repeat its password', () => {
  assert.throws(
    () => parseTarget('http://me:secret@localhost/'),
    ({ message }: Error) => !message.includes('secret'),
  );
});
