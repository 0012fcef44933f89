import { App } from 'aws-cdk-lib';
import { ShopStack } from './shop-stack.js';

new ShopStack(new App(), 'Shop');
