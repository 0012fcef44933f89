import { App } from 'aws-cdk-lib';
import { readStageSettings } from './settings.ts';
import { BrokerStack } from './stacks/broker-stack.ts';

const app = new App();
const settings = readStageSettings((name) => app.node.tryGetContext(name));
new BrokerStack(app, `dynabus-${settings.stage}`, settings);
