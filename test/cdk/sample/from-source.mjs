import { register } from 'node:module';

/** Lets the samples find `dynabus/cdk` in the sources: `node --import tsx --import from-source.mjs app.js`. */

const cdk = new URL('../../../cdk/index.ts', import.meta.url).href;
const hooks = `export const resolve = (specifier, context, next) =>
  specifier === 'dynabus/cdk' ? next(${JSON.stringify(cdk)}, context) : next(specifier, context);`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
