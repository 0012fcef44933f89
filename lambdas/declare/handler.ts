import { SSMClient } from '@aws-sdk/client-ssm';
import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import { ALL_FUNCTIONS } from '../../shared/app/allowed-targets.ts';
import { composeDeclarations } from '../../shared/app/compose-declarations.ts';
import { deployedSettings } from '../../shared/app/deployed-settings.ts';
import { realScheduler } from '../../shared/app/real-scheduler.ts';
import { readNamespace, readParameterPrefix, readTier } from '../../shared/app/settings.ts';
import { startFunction } from '../http/start-function.ts';
import { answerEvent } from './cloud-formation.ts';
import { SsmParameters } from './parameters.ts';
import { sendAnswer } from './send-answer.ts';

/**
 * Makes what stacks declare: the entities and authorization rules of custom resources. CloudFormation invokes it for
 * each, and Lambda again with the same event if it does not end.
 */
export const handler = startFunction(() => {
  const settings = deployedSettings(process.env);
  const composed = composeDeclarations({
    ...settings,
    namespace: readNamespace(process.env),
    tier: readTier(process.env),
    push: ALL_FUNCTIONS,
  });
  const dependencies = {
    ...composed,
    clock: settings.clock,
    random: settings.random,
    scheduler: realScheduler,
    parameters: new SsmParameters(new SSMClient(), readParameterPrefix(process.env)),
  };
  return async (event: CloudFormationCustomResourceEvent) => {
    const answer = await answerEvent(dependencies, event);
    await sendAnswer(event.ResponseURL, answer, realScheduler);
    await composed.settled();
  };
});
